"""What an object keeps, and a file trains on that is only handed the object: one that imports both has made it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

INNER = """
import torch
import torch.nn.functional as F

class Inner:
    def __init__(self, net, steps):
        self.net, self.steps = net, steps
        self.reset()

    def reset(self):
        self.objective, self.trace = 0.0, []

    def adapt(self, batches):
        self.reset()
        for x, y in batches:
            loss = F.cross_entropy(self.net(x), y)
            slopes = torch.autograd.grad(loss, list(self.net.parameters()), create_graph=True)
            print(len(slopes))
            self.objective = self.objective + loss
            self.trace.append(loss)
"""

OUTER = """
import torch

class Outer:
    def __init__(self, inner, net):
        self.inner, self.objective = inner, 0
        self.optimizer = torch.optim.Adam(net.parameters())

    def improve(self, batches):
        self.optimizer.zero_grad()
        self.inner.adapt(batches)
        {taken}
        self.optimizer.step()
        self.inner.reset()
"""

MAIN = """
from inner import Inner
from outer import Outer
from torch import nn

def main(tasks):
    net = nn.Linear(4, 2)
    outer = Outer(Inner(net, 3), net)
    for batches in tasks:
        outer.improve(batches)
"""


@pytest.mark.parametrize(
    ("taken", "is_told"),
    [
        ("(self.inner.objective + sum(self.inner.trace)).backward()", False),
        ("total = self.inner.objective\n        (total + 0.1 * self.inner.trace[-1]).backward()", False),
        ("self.net(self.inner.steps).sum().backward()", True),
        ("(self.objective + torch.ones(1, requires_grad=True)).backward()", True),
    ],
)
def test_who_is_handed_the_object_trains_on_what_it_keeps(tmp_path: Path, taken: str, is_told: bool) -> None:
    files = {"inner.py": INNER, "outer.py": OUTER.format(taken=taken), "main.py": MAIN}
    assert any("inner.py: TLK10" in one for one in Project(tmp_path, files).found()) is is_told
