"""States that a network which is not seen gives back, where a backward retains the graph of each step for the next.

What such a network returns has a graph or not. But a program that feeds it back, differentiates what comes beside it in
each turn of a loop, and says ``retain_graph=True`` there for no other backward, says that the graph goes on: without
that the second backward would raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.autograd.carried import Carried, made_by
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.graph import Backward, Loop, Op, Value
from torchlint.facts.values.literals import is_true
from torchlint.facts.values.loss_forms import is_moved

if TYPE_CHECKING:
    from torchlint.facts import Facts


def retained_states(facts: Facts) -> Iterator[Carried]:
    """The states of the variables of a file's loops that such backwards retain, each with where it is made."""
    for loop in facts.graph.loops:
        backward = _only_backward(facts, loop)
        if backward is not None and _says_retain(backward):
            yield from (carried for phi in loop.phis if (carried := _carried(facts, backward, phi)) is not None)


def comes_beside(facts: Facts, state: Value, backward: Backward) -> bool:
    """Whether one call gives a value and something over whose graph a backward runs.

    Args:
        facts: of the file.
        state: what the call gives, or an item of it.
        backward: the backward.
    """
    made = made_by(state)
    if made.op is not Op.CALL or is_moved(made) or surely_graphless(facts.solution.final(state)):
        return False
    return made in facts.flows.ancestry.of(backward.root)


def _only_backward(facts: Facts, loop: Loop) -> Backward | None:
    """The only backward that runs in the function of a loop, where each of its turns runs it."""
    backwards = [one for one in facts.graph.all_backwards() if one.function is loop.function]
    return backwards[0] if len(backwards) == 1 and backwards[0].loop is loop and not backwards[0].inputs else None


def _says_retain(backward: Backward) -> bool:
    call = backward.call
    return call is not None and is_true(call.argument(1, "retain_graph"))


def _carried(facts: Facts, backward: Backward, old: Value) -> Carried | None:
    if len(old.inputs) != 2:
        return None  # a branch of the loop may begin it anew
    new = old.inputs[1]
    made = made_by(new)
    is_unseen = made.op is Op.CALL and facts.flows.is_unknown_call(made) and not facts.solution.functions_of(made)
    if not is_unseen or new is made or made.loop is not backward.loop:
        return None
    is_fed_back = any(old is one or (one.op is Op.CONTAINER and old in one.inputs) for one in made.arguments)
    if not is_fed_back or not comes_beside(facts, new, backward):
        return None
    statement = made.statement or backward.statement
    return Carried(statement, old.name, new, old, retained=True, bounded=False, kind="", is_supposed=True)
