"""Evaluations that need gradients: a solver of another file, or code that is not seen, differentiates in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

GRADIENTS = """
    import torch

    def gradient(energy, x):
        return {computed}
"""

PROJECTION = """
    import torch
    from torch import nn
    from gradients import gradient

    class Projection(nn.Module):
        def __init__(self, energy, steps=3):
            super().__init__()
            self.energy, self.steps = energy, steps
            self.gain = nn.Parameter(torch.ones(1))

        def forward(self, x):
            for _ in range(self.steps):
                x = x - self.gain * gradient(self.energy(x), x)
            return x
"""

SHOW = """
    from torch import nn
    from projection import Projection

    def show(net: nn.Linear, energy: nn.Linear, points):
        project = Projection(energy)
        net.eval()
        x = net(points)
        found = [x.detach().numpy()]
        for _ in range(5):
            x = project(x)
            found.append(x.detach().numpy())
        return found
"""


@pytest.mark.parametrize(
    ("computed", "is_told"),
    [
        ("torch.autograd.grad(energy.sum(), [x], create_graph=True)[0]", False),
        ("energy * x", True),
    ],
)
def test_a_forward_that_differentiates_by_a_function_of_a_third_file(
    tmp_path: Path, computed: str, is_told: bool
) -> None:
    files = {"gradients.py": GRADIENTS.format(computed=computed), "projection.py": PROJECTION, "show.py": SHOW}
    assert any("show.py: TLK201" in one for one in Project(tmp_path, files).found()) is is_told


TRAINED = """
    import torch
    from torch import nn
    from projection import Projection

    def fit(loader, points):
        net, energy = nn.Linear(3, 3), nn.Linear(3, 1)
        project = Projection(energy)
        optimizer = torch.optim.SGD(energy.parameters(), 0.1)
        for x, y in loader:
            loss = (energy(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        start = net(points)
        rows = {**{"x": points}, **{"y": start}}
        PROJECTED
        print(start.detach())
"""


@pytest.mark.parametrize(("projected", "is_told"), [("project(start)", False), ("project(rows)", False), ("", True)])
def test_what_goes_on_to_such_a_forward_is_not_computed_in_vain(tmp_path: Path, projected: str, is_told: bool) -> None:
    gradients = GRADIENTS.format(computed="torch.autograd.grad(energy.sum(), [x], create_graph=True)[0]")
    fit = TRAINED.replace("PROJECTED", projected)
    files = {"gradients.py": gradients, "projection.py": PROJECTION, "fit.py": fit}
    assert any("fit.py: TLK20" in one for one in Project(tmp_path, files).found()) is is_told


ADAPTING = """
    import torch
    from torch import nn
    from meta import adapted

    class Learner:
        def __init__(self, net: nn.Linear, optimizer):
            self.net, self.optimizer = net, optimizer

        def adapt(self, support):
            loss = self.net(support).pow(2).mean()
            return {given}

        def outer(self, batch):
            support, query = batch
            weights = self.adapt(support)
            loss = self.net(query).pow(2).mean()
            return loss, {{"loss": loss.item(), "weights": len(weights)}}

        def train(self, loader):
            self.net.train()
            for batch in loader:
                self.optimizer.zero_grad()
                loss, _ = self.outer(batch)
                loss.backward()
                self.optimizer.step()

        def evaluate(self, loader):
            self.net.eval()
            for batch in loader:
                _, found = self.outer(batch)
                yield found
"""


@pytest.mark.parametrize(
    ("given", "is_told"),
    [("adapted(self.net, loss)", False), ("adapted(self.net.parameters(), loss)", False), ("[loss.item()]", True)],
)
def test_code_that_is_given_a_network_and_a_loss_of_it_may_differentiate(
    tmp_path: Path, given: str, is_told: bool
) -> None:
    found = Project(tmp_path, {"learner.py": ADAPTING.format(given=given)}).found()
    assert any("TLK201" in one for one in found) is is_told


STEPS = """
    import torch
    from torch import nn

    class Wrapped(nn.Module):
        def __init__(self, options):
            super().__init__()
            self.net = {net}

        def training_step(self, batch):
            return self.net(batch).mean()

        def validation_step(self, batch):
            {guard}
                out = self.net(batch)
            return {returned}

    class Trainer:
        def fit(self, module, loader, held_out):
            optimizer = torch.optim.SGD(module.parameters(), 0.1)
            for batch in loader:
                optimizer.zero_grad()
                module.training_step(batch).backward()
                optimizer.step()
            self.validate(module, held_out)

        def validate(self, module, held_out):
            module.eval()
            rows = [module.validation_step(batch) for batch in held_out]
            return module.finish(rows)

    if __name__ == "__main__":
        Trainer().fit(Wrapped(1), load(), load())
"""


@pytest.mark.parametrize(
    ("net", "guard", "returned", "told"),
    [
        ("nn.Linear(3, 4)", "if True:", '{"mean": out.mean().item(), "of": batch["name"]}', True),
        ("nn.Linear(3, 4)", "if True:", "(out.mean().item(), len(batch))", True),
        ("nn.Linear(3, 4)", "with torch.no_grad():", '{"mean": out.mean().item()}', False),
        ("build(options)", "if True:", '{"mean": out.mean().item()}', True),
        ("build(options)", "with torch.no_grad():", '{"mean": out.mean().item()}', False),
    ],
)
def test_a_step_of_a_module_that_gives_numbers_in_a_container(
    tmp_path: Path, net: str, guard: str, returned: str, told: bool
) -> None:
    files = {"fit.py": STEPS.format(net=net, guard=guard, returned=returned)}
    assert any("TLK201" in one for one in Project(tmp_path, files).found()) is told


DEPTHS = """
    import torch
    from torch import nn

    class Well(nn.Module):
        def __init__(self):
            super().__init__()
            self.depth = nn.Linear(3, 1)

        def forward(self, places):
            return self.depth(places).sum()

    def depths(well: Well, rows):
        well.eval()
        for row in rows:
            places = row.requires_grad_(True)
            yield places, well(places)
"""


@pytest.mark.parametrize(
    ("pull", "is_told"),
    [
        ("for place, depth in depths(well, rows):\n        yield torch.autograd.grad(depth, place)[0]", False),
        ("yield from (torch.autograd.grad(depth, place)[0] for place, depth in depths(well, rows))", False),
        ("for place, depth in depths(well, rows):\n        yield depth.item()", True),
    ],
)
def test_what_a_generator_gives_is_differentiated_where_it_is_gone_through(
    tmp_path: Path, pull: str, is_told: bool
) -> None:
    pulls = f"import torch\nfrom depths import depths\n\ndef pulls(well, rows):\n    {pull}\n"
    project = Project(tmp_path, {"depths.py": DEPTHS, "pulls.py": pulls})
    assert any("TLK201" in one for one in project.found("depths.py", "pulls.py")) == is_told
