"""Loops that count their own turns: ``while not done and length < limit: ... length += 1``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.values.graph import Loop, Op, Value

ADDITIONS = ("Add", "AddAssign")


def counts_its_turns(loop: Loop) -> bool:
    """Whether a loop ends at a number of turns that is given: over a range, or by a counter that each turn raises.

    A counter that only some turns raise, or a bound that turns move, says nothing.
    """
    if loop.iterable is not None:
        return loop.iterable.name == "builtins.range"
    if not isinstance(loop.syntax, cst.While):
        return False
    tests = set(_all_of(loop.syntax.test))
    counters = [phi for phi in loop.phis if all(_is_raised(phi, back) for back in phi.inputs[1:])]
    return any(
        user.op is Op.COMPARISON and user.syntax in tests and set(loop.phis).isdisjoint(_others(user, counter))
        for counter in counters
        for user in counter.users
    )


def _all_of(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The conditions that must all hold for another turn."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _all_of(test.left)
        yield from _all_of(test.right)
    else:
        yield test


def _is_raised(counter: Value, back: Value) -> bool:
    """``count += 1``"""
    if back.op is not Op.OPERATION or back.name not in ADDITIONS or counter not in back.inputs:
        return False
    return all(part.op is Op.CONSTANT for part in back.inputs if part is not counter)


def _others(comparison: Value, counter: Value) -> Iterator[Value]:
    """What a counter is compared with, and all that this is computed from."""
    return (part for side in comparison.inputs if side is not counter for part in side.computed_from())
