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
