"""Methods that are called ``backward`` and keep the graph: the call of one is the backward that runs in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
class Fitting:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def cost(self, rows):
        raise NotImplementedError

    def {name}(self, cost):
        self.optimizer.zero_grad()
        {run}
        self.optimizer.step()

    def differentiate(self, cost):
        cost.backward(retain_graph=True)
"""

LOOP = """
    def epoch(self, loader):
        for rows in loader:
            cost = self.cost(rows)
            {each}
"""

DERIVED = """
class Regression(Fitting):
    def __init__(self):
        net = nn.Linear(3, 3)
        super().__init__(net, torch.optim.Adam(net.parameters()))

    def cost(self, rows):
        x, y = rows
        return (self.net(x) - y).pow(2).mean()
"""

TORCH = "import torch\nfrom torch import nn\n"
USE = "def main(loader):\n    Regression().epoch(loader)\n"
KEPT = "cost.backward(retain_graph=True)"


def files_of(place: str, name: str, run: str, each: str) -> dict[str, str]:
    """The files of a program with its loop in the base class or the subclass, or all of it in one file."""
    base, loop = BASE.format(name=name, run=run), LOOP.format(each=each)
    if place == "one file":
        return {"main.py": TORCH + base + loop + DERIVED + USE}
    if place == "base":
        first, second = base + loop, DERIVED
    else:
        first, second = base, DERIVED + loop
    derived = f"{TORCH}from fitting import Fitting\n{second}"
    return {"fitting.py": first, "regression.py": derived, "main.py": f"from regression import Regression\n{USE}"}


PLACES = ["one file", "base", "subclass"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["backward", "optimize"])
def test_a_method_that_keeps_the_graph_of_its_loss_keeps_it_in_vain(tmp_path: Path, place: str, name: str) -> None:
    found = Project(tmp_path, files_of(place, name, KEPT, f"self.{name}(cost)")).found()
    assert [one.split(": ")[1] for one in found] == ["TLK107 warning"]


@pytest.mark.parametrize("place", ["one file", "base"])
def test_so_does_one_further_down(tmp_path: Path, place: str) -> None:
    found = Project(tmp_path, files_of(place, "backward", "self.differentiate(cost)", "self.backward(cost)")).found()
    assert [one.split(": ")[1] for one in found] == ["TLK107 warning"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("run", "each"),
    [
        (KEPT, "self.backward(cost); self.backward(2 * cost)"),
        (KEPT, "self.backward(cost); cost.mean().backward()"),
        ("cost.backward()", "self.backward(cost)"),
        (f"{KEPT}; (2 * cost).backward()", "self.backward(cost)"),
    ],
)
def test_a_second_backward_over_the_graph_needs_it(tmp_path: Path, place: str, run: str, each: str) -> None:
    assert Project(tmp_path, files_of(place, "backward", run, each)).found() == []
