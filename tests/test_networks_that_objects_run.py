"""A network that is handed to the constructor of a class in another file, and run by its methods."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

SAMPLER = """
    import torch

    class Sampler:
        def __init__(self, {given}):
            self.net = {kept}
            self.steps = steps

        {decorator}
        def draw(self, x):
            for _ in range(self.steps):
                x = {run}
            return x

        def label(self, x):
            out = {run}
            return out.argmax(1)
"""

USE = """
    import torch
    from torch import nn
    from sampler import Sampler

    def run(loader):
        net = {net}
        sampler = Sampler(net, 4)
        found = []
        for x, y in loader:
            {use}
        return found
"""


def found(
    folder: Path,
    use: str,
    *,
    net: str = "nn.Linear(3, 3)",
    given: str = "net, steps",
    kept: str = "net",
    run: str = "self.net(x)",
    decorator: str = "",
) -> list[str]:
    """What is found in both files."""
    sampler = SAMPLER.format(given=given, kept=kept, run=run, decorator=decorator)
    return Project(folder, {"sampler.py": sampler, "use.py": USE.format(net=net, use=use)}).found()


@pytest.mark.parametrize(
    "use",
    [
        "found.append(sampler.label(x).tolist())",
        "found += sampler.label(x).tolist()",
        "found.append(sampler.draw(x).detach().cpu())",
        "found.append(sampler.draw(x).detach().cpu().numpy())",
    ],
)
@pytest.mark.parametrize(
    ("kept", "run"),
    [("net", "self.net(x)"), ("net.eval()", "self.net(x)"), ("net", "self.net.forward(x)")],
)
def test_who_drops_the_graph_of_such_a_run_is_told(tmp_path: Path, use: str, kept: str, run: str) -> None:
    told = [one.partition(":")[0] for one in found(tmp_path, use, kept=kept, run=run) if "TLK201" in one]
    assert ("use.py" if kept == "net" else "sampler.py") in told


@pytest.mark.parametrize(
    "options",
    [
        {"use": "sampler.draw(x).sum().backward()"},
        {"use": "found.append(sampler.draw(x).detach())", "decorator": "@torch.no_grad()"},
        {"use": "found.append(sampler.label(x))", "net": "nn.ReLU()"},
        {"use": "found.append(sampler.label(x))", "net": "len"},
        {"use": "found.append(sampler.label(x))", "kept": "len"},
        {"use": "found.append(sampler.label(x))", "given": "other, steps, net=len"},
        {"use": "with torch.no_grad():\n                found.append(sampler.label(x))"},
    ],
)
def test_what_is_trained_guarded_or_no_network_is_not(tmp_path: Path, options: dict[str, str]) -> None:
    assert found(tmp_path, **options) == []


ROLLOUT = """
    import torch
    from torch import nn

    class Agent(nn.Module):
        def __init__(self, memory):
            super().__init__()
            self.value, self.memory = nn.Linear(3, 1), memory
            self.optimizer = torch.optim.Adam(self.parameters())

        def act(self, x):
            {call}

        def learn(self):
            self.memory.loss().backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    "call",
    ["self.memory.add(x, 0, self.value(x))", "self.memory.push(self.value(x))", "self.memory.put(x, self.value(x))"],
)
def test_what_an_object_of_unknown_class_is_given_may_be_trained_on(tmp_path: Path, call: str) -> None:
    assert Project(tmp_path, {"agent.py": ROLLOUT.format(call=call)}).found() == []


CRITERION = """
    from torch import nn

    class Criterion(nn.Module):
        def forward(self, out, wanted):
            parts = {"near": (out["near"] - wanted).abs().mean(), "far": (out["far"] - wanted).pow(2).mean()}
            return sum(parts.values()), {returned}
"""

SUMS = """
    from collections import defaultdict
    import torch
    from torch import nn
    from criterion import Criterion

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.near, self.far = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return {"near": self.near(x), "far": self.far(x)}

    def run(loader):
        net, criterion, sums = Heads(), Criterion(), defaultdict(float)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            total, parts = criterion(net(x), y)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            for name, value in parts.items():
                sums[name] += value
        return sums
"""


@pytest.mark.parametrize(
    ("returned", "leaks"),
    [
        ("parts", True),
        ("{k: v.item() for k, v in parts.items()}", False),
        ("{k: v.detach() for k, v in parts.items()}", False),
    ],
)
def test_what_is_in_a_dict_that_another_file_computes_of_a_dict_has_its_graph(
    tmp_path: Path, returned: str, leaks: bool
) -> None:
    files = {"criterion.py": CRITERION.replace("{returned}", returned), "run.py": SUMS}
    assert any("TLK101" in one for one in Project(tmp_path, files).found("run.py")) is leaks
