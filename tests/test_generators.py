"""What is kept at once of all that a generator yields from step to step: ``history = list(train(net, loader))``."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

STEPS = """
def steps(net, loader):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield {given}
"""

TERMS = """
def terms(net, loader):
    for x, y in loader:
        yield F.cross_entropy(net(x), y)
"""


@pytest.mark.parametrize(
    ("given", "taken", "count"),
    [
        ("loss", "history = list(steps(model, loader))", 1),
        ("(loss, y)", "history = sorted(steps(model, loader), key=len)", 1),
        ("{'loss': loss}", "history = tuple(steps(model, loader))", 1),
        ("loss", "history = list(enumerate(steps(model, loader)))", 0),  # not seen through
        ("loss.detach()", "history = list(steps(model, loader))", 0),
        ("loss.item()", "history = list(steps(model, loader))", 0),
        ("loss", "history = max(steps(model, loader))", 0),
        ("loss", "for history in steps(model, loader):\n    pass", 0),
    ],
)
def test_a_list_of_all_that_a_generator_yields(given: str, taken: str, count: int) -> None:
    program = Program(TRAINING + STEPS.format(given=given) + taken + "\nprint(len(history))\n")
    assert len(program.leaks()) == count


@pytest.mark.parametrize(
    ("taken", "count"),
    [
        ("sum(list(terms(model, loader))).backward()", 0),
        ("torch.stack(list(terms(model, loader))).mean().backward()", 0),
        ("with torch.no_grad():\n    history = list(terms(model, loader))", 0),
    ],
)
def test_what_is_trained_on_is_wanted(taken: str, count: int) -> None:
    assert len(Program(TRAINING + TERMS + taken).leaks()) == count


@pytest.mark.parametrize("given", ["copy.deepcopy(net)", "(loss, copy.deepcopy(net))", "[copy.deepcopy(net)]"])
def test_a_copy_that_is_handed_to_who_takes_what_is_yielded_is_another_in_each_turn(given: str) -> None:
    program = Program(f"import copy\n{TRAINING}{STEPS.format(given=given)}kept = list(steps(model, loader))\n")
    assert program.facts.constructions == []
