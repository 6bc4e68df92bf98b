"""Loops that go over one batch a few times, and loops of epochs."""

from __future__ import annotations

import pytest
from programs import Program

PROGRAM = """
import torch
from torch import nn
xs = torch.rand(8, 4)
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for turn in range({turns}):
    {before}
    for _ in range({few}):
        {inside}
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def outer_turn(**given: object) -> str:
    """What a turn of the outer loop is."""
    settings = {"turns": 60, "few": 4, "before": "x = torch.rand(4, 4)", "inside": "pass", **given}
    facts = Program(PROGRAM.format(**settings), head="").facts
    outer = next(loop for loop in facts.graph.loops if loop.parent is None)
    return facts.repetitions.turn(outer).name


@pytest.mark.parametrize("given", [{}, {"turns": "len(xs)"}, {"few": "1, 3"}, {"before": "x = xs[turn % 8]"}])
def test_a_batch_that_is_trained_on_a_few_times_is_a_step(given: dict[str, object]) -> None:
    assert outer_turn(**given) == "TRAINS"


@pytest.mark.parametrize(
    "given",
    [
        {"few": 40},
        {"few": "len(xs)"},
        {"turns": 3},
        {"before": "pass", "inside": "x = torch.rand(4, 4)"},
        {"before": "pass", "inside": "x = xs"},
        {"before": "pass", "inside": "x = xs * nn.Parameter(torch.ones(4))"},
        {"before": "w = nn.Parameter(torch.ones(4))", "inside": "x = xs * w"},
        {"before": "x = torch.rand(4, 4); optimizer = torch.optim.SGD(net.parameters(), 0.1)"},
    ],
)
def test_epochs_and_trials_hold_steps(given: dict[str, object]) -> None:
    assert outer_turn(**given) == "HOLDS"


ADAPTING = """
import torch
from torch import nn

xs = torch.rand(8, 4)

def draw(count):
    return torch.rand(count, 4)

def build():
    return nn.Linear(4, 4)

def adapt(net, index, {few}):
    {before}
    for _ in range(steps):
        {inside}
        loss = net(x).pow(2).mean()
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads):
                p.sub_(g)

def run({turns}):
    net = build()
    for index in range(turns):
        {each}
        adapt(net, index)
"""


@pytest.mark.parametrize(
    ("given", "turn"),
    [
        ({}, "TRAINS"),
        ({"before": "x = xs[index:] * torch.ones(4)"}, "TRAINS"),
        ({"few": "steps=500"}, "HOLDS"),
        ({"few": "steps=len(xs)"}, "HOLDS"),
        ({"before": "pass", "inside": "x = draw(4)"}, "HOLDS"),
        ({"before": "x = draw(4); net = build()"}, "HOLDS"),  # each call trains a network of its own
        ({"each": "net = build()"}, "HOLDS"),
        ({"turns": "turns=4"}, "HOLDS"),  # a few tasks, each trained for some epochs
    ],
)
def test_a_function_that_trains_a_few_times_on_what_it_draws_makes_a_step(given: dict[str, str], turn: str) -> None:
    settings = {"few": "steps=4", "before": "x = draw(4)", "inside": "pass", "turns": "turns=600", "each": "pass"}
    facts = Program(ADAPTING.format(**{**settings, **given}), head="").facts
    outer = next(loop for loop in facts.graph.loops if loop.function.name == "run")
    assert facts.repetitions.turn(outer).name == turn


OWN = """
import torch
from torch import nn

class Tuner:
    def __init__(self, net):
        self.net, self.optimizer = net, torch.optim.Adam(net.parameters())
    def tune(self, rows):
        {before}
        for _ in range({few}):
            loss = self.net(rows).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
    def run(self, stream, turns):
        for turn, rows in zip(range({turns}), stream):
            self.tune(rows)

{used}
"""


@pytest.mark.parametrize(
    ("given", "turn"),
    [
        ({}, "TRAINS"),
        ({"used": "Tuner(nn.Linear(4, 4)).run(torch.rand(99, 8, 4), 99)"}, "TRAINS"),
        ({"used": "tuner = Tuner(nn.Linear(4, 4))\nfor epoch in range(99):\n    tuner.run(stream, 900)"}, "TRAINS"),
        ({"used": "for size in sizes:\n    Tuner(nn.Linear(4, size)).run(stream, 99)"}, "HOLDS"),
        ({"few": "400"}, "HOLDS"),
        ({"few": "len(rows)"}, "HOLDS"),
        ({"turns": "3"}, "HOLDS"),
        ({"before": "rows = self.rows"}, "HOLDS"),
        ({"before": "self.optimizer = torch.optim.Adam(self.net.parameters())\n        rows = rows.cuda()"}, "HOLDS"),
        ({"before": "self.net = nn.Linear(4, 4)\n        rows = rows.cuda()"}, "HOLDS"),
    ],
)
def test_a_method_that_trains_what_its_object_was_made_with_makes_a_step(given: dict[str, str], turn: str) -> None:
    settings = {"before": "rows = rows.to('cuda')", "few": "5", "turns": "turns", "used": "", **given}
    facts = Program(OWN.format(**settings), head="").facts
    outer = next(loop for loop in facts.graph.loops if loop.function.name == "run")
    assert facts.repetitions.turn(outer).name == turn


@pytest.mark.parametrize("made", ["Tuner(net).tune(rows)", "tuner = Tuner(net)\n    tuner.tune(rows)"])
def test_a_method_whose_object_each_turn_makes_anew_is_a_trial(made: str) -> None:
    used = f"for net, rows in candidates:\n    {made}"
    settings = {"before": "rows = rows.to('cuda')", "few": "5", "turns": "turns"}
    facts = Program(OWN.format(used=used, **settings), head="").facts
    outer = next(loop for loop in facts.graph.loops if loop.function is facts.graph.module)
    assert facts.repetitions.turn(outer).name == "HOLDS"
