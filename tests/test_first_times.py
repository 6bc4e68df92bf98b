"""What is assigned under a condition that holds once is where an average begins; it does not set that anew."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program
from rule_programs import diagnose

from torchlint.source import Source

AVERAGE = """
class Trend:
    def __init__(self):
        self.level, self.count, self.ready = 0.0, 0, False
        self.seen, self.other = torch.zeros(()), None
    def show(self, value):
        if {asked}:
            self.level = {first}
            {then}
        else:
            self.level = {second}
        {after}
    {method}

trend = Trend()
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    trend.show(loss)
"""


BEGUN, SMOOTHED = "value.detach()", "0.9 * self.level + 0.1 * value"


def averages(
    asked: str, then: str = "pass", after: str = "pass", method: str = "", ways: tuple[str, str] = (BEGUN, SMOOTHED)
) -> list[str]:
    first, second = ways
    filled = AVERAGE.format(asked=asked, then=then, after=after, method=method, first=first, second=second)
    return [found.name for found in Program(TRAINING + filled).facts.accumulations if found.is_state]


@pytest.mark.parametrize(
    ("asked", "then", "after"),
    [
        ("self.count == 0", "pass", "self.count += 1"),
        ("self.count < 1", "pass", "self.count = self.count + 1"),
        ("not self.count", "pass", "self.count += value.shape[0]"),
        ("self.count == 0 and value.dim() == 0", "pass", "self.count += 1"),
        ("not self.ready", "self.ready = True", "pass"),
        ("self.ready is False", "self.ready = True", "pass"),
        ("self.seen.item() == 0", "pass", "self.seen.add_(1)"),
        ("not self.seen", "self.seen.fill_(True)", "pass"),
        ("self.other is None", "self.other = value.item()", "pass"),
        ("self.other is None", "self.other = value.item()", "self.other += 1"),
        ("self.other is None", "self.other, self.more = value.item(), None", "pass"),
    ],
)
def test_an_average_begins_where_a_counter_or_a_switch_says_so(asked: str, then: str, after: str) -> None:
    assert averages(asked, then, after) == ["self.level"]


@pytest.mark.parametrize(
    ("asked", "then", "after", "method"),
    [
        ("self.count == 5", "self.count = 0", "self.count += 1", ""),  # a window
        ("self.count % 10 == 0", "pass", "self.count += 1", ""),
        ("self.count == 0", "pass", "self.count += 1", "def restart(self):\n        self.count = 0"),
        ("not self.ready", "self.ready = True", "pass", "def restart(self):\n        self.ready = False"),
        ("not self.seen", "self.seen.fill_(True)", "pass", "def restart(self):\n        self.seen.zero_()"),
        ("not self.ready", "pass", "self.ready = value.item() < 1", ""),
        ("self.ready", "self.ready = True", "pass", ""),
        ("self.count == 0 or value.item() > 9", "pass", "self.count += 1", ""),
        ("self.other is None", "self.other = value.item()", "pass", "def restart(self):\n        self.other = None"),
        ("self.other is None", "self.other = value.item()", "pass", "def restart(self, at):\n        self.other = at"),
        ("self.other is None", "pass", "pass", ""),
        ("self.other is not None", "self.other = value.item()", "pass", ""),
        ("not self.fresh", "pass", "pass", ""),  # nobody here says how often
    ],
)
def test_what_may_hold_again_sets_the_average_anew(asked: str, then: str, after: str, method: str) -> None:
    assert averages(asked, then, after, method) == []


def test_the_other_way_of_a_condition_may_be_the_one_that_is_taken_once() -> None:
    begins = f"{BEGUN}; self.ready = True"
    assert averages("self.ready", ways=(SMOOTHED, begins)) == ["self.level"]
    assert averages("not self.ready", ways=(SMOOTHED, begins)) == []


LEAKY = """
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.tensor(0.5))
        self.level = None

    def reset(self):
        self.level = None

    def forward(self, current):
        if self.level is None:
            self.level = torch.zeros_like(current)
        level = self.decay * self.level + current
        fired = torch.sigmoid(level)
        self.level = level - fired
        return fired

def stream(net: nn.Module, frames):
    cell = Cell()
    cell.reset()
    for frame in frames:
        print(cell(net(frame)).argmax().item())
"""


def test_all_that_one_statement_adds_to_a_state_is_told_once() -> None:
    (told,) = (one for one in diagnose(Source("x.py", LEAKY)) if one.code == "TLK103")
    assert "itself and `current`" in told.message
    assert "use `current.detach()`" in told.message
