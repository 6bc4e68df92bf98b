"""Containers that are made at once of all that a generator yields: ``list(train(net, loader))``."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.iteration import FIRST_ITEM_WRAPPERS
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.known import Known

COLLECTING = frozenset(["builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted", "collections.deque"])
"""Functions and classes that keep every item of their first argument."""


def collected_by(solution: Known, call: Value) -> list[Value]:
    """What generators of the file yield all of which a CALL puts into a list; nothing for another call.

    What a generator yields that nobody keeps is gone in its next turn.
    """
    if call.callee.op is not Op.EXTERNAL or call.callee.name not in COLLECTING or not call.arguments:
        return []
    return yielded_by(solution, call.arguments[0])


def yielded_by(solution: Known, iterable: Value) -> list[Value]:
    """What an iterable gives item by item where generators of the file make it, and nothing else does."""
    iterable = unwrapped(iterable)
    functions: list[Function] = solution.functions_of(iterable) if iterable.op is Op.CALL else []
    if not all(function.is_generator and not function.is_foreign for function in functions):
        return []
    return [one for function in functions for one in choices(function.result)]


def yields_what_is_written(solution: Known, iterable: Value) -> bool:
    """Whether a CALL is of generators that yield a few things, each written out: ``yield x``, ``for axis in (2, 3):``.

    Anything in a ``while``, or in a loop over what is not written there, may be yielded as often as there is data.
    """
    yielded = yielded_by(solution, iterable) if iterable.op is Op.CALL else []
    loops = [loop for one in yielded if one.loop is not None for loop in one.loop.around()]
    over = [loop.iterable for loop in loops]
    return bool(yielded) and all(
        one is not None and one.op is Op.CONTAINER and not isinstance(one.syntax, cst.BaseComp) for one in over
    )


def unwrapped(iterable: Value) -> Value:
    """What ``tqdm(...)`` and the like, around an iterable, go over."""
    while iterable.op is Op.CALL and iterable.callee.name in FIRST_ITEM_WRAPPERS and iterable.arguments:
        iterable = iterable.arguments[0]
    return iterable
