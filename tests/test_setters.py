"""Properties that are assigned: what their setters do with what they are given, in the same file and in another."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

STATS = """
class Stats:
    def __init__(self):
        self._total, self._count, self.latest = 0.0, 0, None
    @property
    def loss(self):
        return self._total / max(1, self._count)
    @loss.setter
    def loss(self, value):
        self._count += 1
        {setter}
"""

TRAINING = """
import torch
from torch import nn
{imports}
class Trainer:
    def __init__(self, net):
        self.net, self.optimizer = net, torch.optim.SGD(net.parameters(), lr=0.1)
        self.stats = Stats()
    def step(self, x):
        loss = self.net(x).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.stats.loss = loss
def train(loader):
    trainer = Trainer(nn.Linear(3, 3))
    for x in loader:
        trainer.step(x)
    print(float(trainer.stats.loss))
"""


@pytest.mark.parametrize(
    ("setter", "found"),
    [
        ("self._total = self._total + value", ["main.py: TLK101 warning"]),
        ("self._total += float(value)", []),
        ("self._total = 0.9 * self._total + 0.1 * value.item()", []),
        ("self.latest = value.detach()", []),
    ],
)
def test_a_setter_is_called_by_who_assigns(tmp_path: Path, setter: str, found: list[str]) -> None:
    source = TRAINING.format(imports=STATS.format(setter=setter))
    assert Project(tmp_path, {"main.py": source}).found() == found


def test_what_a_setter_of_another_file_is_given_is_not_the_attribute(tmp_path: Path) -> None:
    stats = STATS.format(setter="self._total += float(value)")
    files = {"stats.py": stats, "main.py": TRAINING.format(imports="from stats import Stats")}
    assert Project(tmp_path, files).found() == []


def test_an_attribute_of_the_same_name_of_another_class_is_kept_as_it_is(tmp_path: Path) -> None:
    stats = STATS.format(setter="self._total += float(value)")
    source = TRAINING.format(imports=stats).replace("self.stats.loss = loss", "self.loss = loss")
    assert Project(tmp_path, {"main.py": source}).found() == ["main.py: TLK111 note"]
