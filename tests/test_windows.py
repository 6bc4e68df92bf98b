"""Containers that give up their oldest items once they are full keep the graphs of the others."""

from __future__ import annotations

import textwrap

import pytest
from rule_programs import diagnose

from torchlint.diagnostic import Level
from torchlint.source import Source

LOOP = """
import torch
import torch.nn.functional as F

def train(net, opt, loader):
    recent = []
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
{turn}
    return recent
"""

OBJECT = """
import torch
import torch.nn.functional as F

class Trainer:
    def __init__(self, net, opt, most=99):
        self.net, self.opt, self.most = net, opt, most
        self.recent = []

    def step(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
{turn}

def train(trainer: Trainer, loader):
    for x, y in loader:
        trainer.step(x, y)
"""


def levels(source: str) -> list[Level]:
    """How weighty what TLK102 finds is."""
    return [one.level for one in diagnose(Source("window.py", source)) if one.code == "TLK102"]


def of(program: str, turn: str) -> list[Level]:
    name = "self.recent" if program is OBJECT else "recent"
    return levels(program.format(turn=textwrap.indent(turn.replace("ROWS", name), " " * 8)))


WINDOWS = [
    "ROWS.append(loss)\nif len(ROWS) > 99:\n    ROWS.pop(0)",
    "if len(ROWS) == 99:\n    del ROWS[0]\nROWS.append(loss)",
    "ROWS.append(loss)\nwhile len(ROWS) > 99:\n    ROWS.pop(0)",
    "ROWS.append(loss)\ndel ROWS[:-99]",
    "ROWS.append(loss)\nROWS = ROWS[-99:]",
    "ROWS.append(loss)\nROWS[:] = ROWS[-99:]",
    "ROWS.append(loss)\nif len(ROWS) > 99:\n    ROWS = ROWS[1:]",
]


@pytest.mark.parametrize("turn", WINDOWS)
@pytest.mark.parametrize("program", [LOOP, OBJECT])
def test_a_window_is_bounded_and_keeps_the_graphs_of_what_is_in_it(program: str, turn: str) -> None:
    assert of(program, turn) == [Level.NOTE]


@pytest.mark.parametrize("turn", WINDOWS)
@pytest.mark.parametrize("program", [LOOP, OBJECT])
def test_a_window_of_what_is_detached_keeps_none(program: str, turn: str) -> None:
    assert of(program, turn.replace("append(loss)", "append(loss.detach())")) == []


@pytest.mark.parametrize(
    "turn",
    [
        "ROWS.append(loss)\nif len(ROWS) > 99:\n    ROWS.clear()",
        "ROWS.append(loss)\nif len(ROWS) > 99:\n    del ROWS[:]",
        "ROWS.append(loss)\nwhile len(ROWS) > 99:\n    oldest = ROWS.pop(0)\n    print(float(oldest))",
        "ROWS.append(loss)\nROWS.pop()",
        "ROWS.append(loss)\nwhile len(ROWS) > 0:\n    print(float(ROWS[0]))\n    del ROWS[0]",
    ],
)
def test_what_is_emptied_or_handed_out_is_no_window(turn: str) -> None:
    assert of(OBJECT, turn) == []


def test_a_range_that_is_only_looked_at_bounds_nothing() -> None:
    assert of(LOOP, "ROWS.append(loss)\nlast = ROWS[-99:]\nprint(len(last))") == [Level.WARNING]
