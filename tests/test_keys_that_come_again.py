"""Dictionaries of tensors that are asked for a key: where one is there already, or made of itself, nothing is added."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest
from projects import Project

AVERAGES = """
import torch

class Averages:
    def __init__(self):
        self.mean = {}

    def follow(self, named):
        for name, weight in named:
            {body}
"""

TRAINING = """
import torch
from torch import nn
from averages import Averages

def train(loader):
    network = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    averages = Averages()
    for x, y in loader:
        loss = nn.functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averages.follow([(str(x), x.clone())])
    return averages
"""

NEW = "if name not in self.mean:\n    self.mean[name] = weight"
THERE = [
    "if name in self.mean:\n    self.mean[name] = weight",
    "if name not in self.mean:\n    continue\nself.mean[name] = weight",
    "if name not in self.mean or not weight.is_floating_point():\n    continue\nself.mean[name] = weight",
    "if name in self.mean and weight.dim():\n    self.mean[name] = weight",
    "if name not in self.mean:\n    raise KeyError(name)\nelse:\n    self.mean[name] = weight",
    "if name not in self.mean:\n    print(name)\nself.mean[name] = self.mean[name].lerp(weight, 0.1)",
]


def found(folder: Path, body: str) -> bool:
    written = AVERAGES.replace("{body}", indent(body, " " * 12).strip())
    lines = Project(folder, {"averages.py": written, "train.py": dedent(TRAINING)}).found()
    return any("TLK404" in line for line in lines)


def test_a_key_that_is_not_there_is_one_more(tmp_path: Path) -> None:
    assert found(tmp_path, NEW)


@pytest.mark.parametrize("body", THERE)
def test_a_key_that_is_there_is_none(tmp_path: Path, body: str) -> None:
    assert not found(tmp_path, body)
