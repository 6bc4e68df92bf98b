"""Networks that run for what hooks take out of them, where the hooks stand in another file than the training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import Project

TAP = """
    {before}

    class Tap:
        def __init__(self, net, names):
            self.net, self.names, self.found = net, names, {{}}
            for name in names:
                {hooked}

        {method}

        def __call__(self, x):
            self.found.clear()
            {run}
            return {given}
"""

CLOSURE = "def keep(self, name):\n            def hook(module, args, out):\n                {}\n            return hook"
KEEPING = CLOSURE.format("self.found[name] = out")

PLAIN = {
    "before": "",
    "hooked": "net[name].register_forward_hook(self.keep(name))",
    "method": KEEPING,
    "run": "self.net(x)",
    "given": "dict(self.found)",
}


OBJECTIVE = """
    import torch
    from torch import nn
    from torchvision.models import vgg16
    from tap import Tap

    class Objective:
        def __init__(self, goal):
            self.tap = Tap(vgg16().features.eval(), ["3", "8"])
            with torch.no_grad():
                self.goal = self.tap(goal)

        def __call__(self, x):
            found = self.tap(x)
            return sum(nn.functional.mse_loss(found[name], self.goal[name]) for name in found)
"""


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ({}, False),
        ({"given": "self.found"}, False),
        ({"run": "_ = self.net(x)"}, False),
        ({"hooked": "net[name].register_forward_hook(lambda m, args, out: self.found.update({name: out}))"}, False),
        ({"method": "def keep(self, m, args, out):\n            self.found[len(self.found)] = out",
          "hooked": "net[name].register_forward_hook(self.keep)"}, False),
        ({"before": "from keeping import keeper", "hooked": "net[name].register_forward_hook(keeper(name))"}, False),
        ({"before": "from keeping import Keeper", "hooked": "self.found[name] = Keeper(net[name])"}, False),
        ({"method": CLOSURE.format("print(name, out.shape)")}, True),
        ({"method": CLOSURE.format("self.found[name] = out.detach()")}, True),
        ({"hooked": "print(name)"}, True),
    ],
)  # fmt: skip
def test_what_an_object_elsewhere_gives_that_its_hooks_have_taken(
    tmp_path: Path, changed: dict[str, str], is_told: bool
) -> None:
    files = {"tap.py": TAP.format(**{**PLAIN, **changed}), "objective.py": OBJECTIVE}
    assert ("objective.py: TLK201 note" in Project(tmp_path, files).found()) is is_told


TAPS = """
    FOUND = {}

    def keep(name):
        def hook(module, args, out):
            FOUND[name] = out
        return hook

    def tap(net, *names):
        for name in names:
            net[name].register_forward_hook(keep(name))

    def show(net, *names):
        for name in names:
            net[name].register_forward_hook(lambda module, args, out: print(out.shape))

    class Tapped:
        def __init__(self, net, name):
            self.net, self.name, self.found = net, name, {}

        def keep(self, module, args, out):
            self.found[len(self.found)] = out

        def __enter__(self):
            self.handle = self.net[self.name].register_forward_hook(self.keep)
            return self

        def __exit__(self, *error):
            self.handle.remove()
            self.found.clear()
"""

TRAIN = """
    import torch
    from torch import nn
    from torchvision.models import vgg16
    from taps import FOUND, Tapped, show, tap

    def {name}(loader):
        net = nn.Conv2d(3, 3, 3)
        critic = vgg16().features.eval().requires_grad_(False)
        {before}
        optimizer = torch.optim.Adam(net.parameters())
        for x, y in loader:
            {run}
            {trained}
"""

STEP = "optimizer.zero_grad(); loss.backward(); optimizer.step()"


@pytest.mark.parametrize(
    ("before", "run", "trained", "is_told"),
    [
        ("tap(critic, 3)", "critic(net(x)); loss = FOUND[3].mean()", STEP, False),
        ("pass", "with Tapped(critic, 3) as tapped: critic(net(x)); loss = tapped.found[0].mean()", STEP, False),
        ("show(critic, 3)", "critic(net(x)); loss = net(x).mean()", STEP, True),
        ("pass", "critic(net(x)); loss = net(x).mean()", STEP, True),
        ("tap(critic, 3)", "critic(net(x)); print(FOUND[3].mean().item())", "pass", True),
    ],
)
def test_a_forward_for_the_hooks_of_another_file(
    tmp_path: Path, before: str, run: str, trained: str, is_told: bool
) -> None:
    train = TRAIN.format(name="train", before=before, run=run, trained=trained)
    found = Project(tmp_path, {"taps.py": TAPS, "train.py": train}).found()
    assert any("train.py: TLK201" in one for one in found) is is_told
    assert not any("TLK106" in one for one in found)


def test_what_hooks_take_of_named_parts_goes_to_callers_that_are_not_seen(tmp_path: Path) -> None:
    hooked = "dict(net.named_children())[name].register_forward_hook(self.keep(name))"
    for given, told in (("self.found", []), ("len(self.found)", ["tap.py: TLK201 warning"])):
        project = Project(tmp_path, {"tap.py": TAP.format(**{**PLAIN, "hooked": hooked, "given": given})})
        assert [one for one in project.found() if "TLK201" in one] == told
