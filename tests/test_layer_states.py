"""States that layers carry from call to call: on purpose, where whoever drives the layer ends them, or for good."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program
from rule_programs import diagnose

from torchlint.source import Source

NEURON = """
class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.share = nn.Parameter(torch.ones(3))
        self.level = 0.0
        self.restart()
    def restart(self):
        self.level = 0.0
    def forward(self, x):
        self.level = self.level * self.share + x
        return torch.tanh(self.level)
"""


def test_a_layer_whose_state_is_ended_from_outside_carries_it_on_purpose() -> None:
    assert Program(NEURON).accumulated() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        self.level = 0.0\n    def forward", "        pass\n    def forward"),
        ("return torch.tanh(self.level)", "return x"),
        ("self.level = 0.0\n        self.restart()", "self.register_buffer('level', torch.zeros(3))"),
    ],
    ids=["never ended", "not given on", "a buffer"],
)
def test_other_states_that_a_layer_updates_are_told(old: str, new: str) -> None:
    assert old in NEURON
    assert Program(NEURON.replace(old, new)).accumulated() == ["self.level"]


def test_a_meter_that_is_no_module_is_told() -> None:
    meter = NEURON.replace("(nn.Module)", "").replace("        super().__init__()\n", "")
    used = "meter = Neuron()\nfor x in loader:\n    meter.forward(x).sum().backward(retain_graph=True)\n"
    assert Program(TRAINING + meter + used).accumulated() == ["self.level"]


def test_where_the_end_of_a_sample_is_seen_it_counts() -> None:
    loop = "neuron = Neuron()\nfor epoch in range(9):\n    neuron.restart()\n    for x in loader:\n        "
    step = "neuron(x).sum().backward(retain_graph=True)\n"
    assert Program(TRAINING + NEURON + loop + step).accumulated() == ["self.level"]
    assert Program(TRAINING + NEURON + loop + "neuron.restart()\n        " + step).accumulated() == []


CENTERS = """
import torch
from torch import nn
from torch.nn import functional as F

class Centers(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.body = nn.Linear(16, width)
        self.centers, self.sums = torch.zeros(classes, width), torch.zeros(classes, width)

    def _add(self, rows, labels):
        told = F.one_hot(labels, len(self.centers)).float()
        self.sums[told.sum(0) > 0] += (told.t() @ rows)[told.sum(0) > 0]

    def move(self):
        with torch.no_grad():
            {moves}

    def forward(self, x, labels):
        rows = self.body(x)
        self._add(rows, labels)
        return -torch.cdist(rows, self.centers)
"""


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        ("self.centers += self.sums\n            self.sums = torch.zeros_like(self.centers)", []),
        ("self.centers += self.sums\n            self.sums = torch.zeros_like(self.sums)", []),
        ("self.sums = torch.zeros_like(self.sums)", ["TLK101"]),  # once in an epoch, if it is called
        ("self.centers += self.sums", ["TLK101"]),
    ],
)
def test_sums_that_a_method_uses_up_are_emptied_as_often_as_its_driver_says(moves: str, told: list[str]) -> None:
    assert [one.code for one in diagnose(Source("centers.py", CENTERS.format(moves=moves)))] == told


AVERAGE = """
class Average:
    def __init__(self, net):
        self.net = copy.deepcopy(net).requires_grad_(False)
    def pairs(self, net):
        {pairs}
    def update(self, net):
        for mean, new in {given}:
            mean.mul_(0.9).add_(new, alpha=0.1)
average = Average(model)
for x in loader:
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    average.update(model)
"""

BOTH = "zip(self.net.parameters(), net.parameters())"


@pytest.mark.parametrize(
    ("pairs", "given"),
    [
        ("pass", BOTH),
        (f"yield from {BOTH}", "self.pairs(net)"),
        (f"for pair in {BOTH}: yield pair", "self.pairs(net)"),
        (f"for old, new in {BOTH}: yield old, new", "self.pairs(net)"),
    ],
)
def test_an_average_of_parameters_is_told_however_the_pairs_come(pairs: str, given: str) -> None:
    source = "import copy\n" + TRAINING + AVERAGE.format(pairs=pairs, given=given)
    assert Program(source).accumulated() == ["mean"]
