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
