"""Loops each turn of which takes another file, or another row of one: as many as lie on the disk."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts.turns.changing import is_computed_with
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.listing import goes_over_files, goes_over_rows
from torchlint.facts.values.own_data import READING
from torchlint.facts.values.solve import Solution


def goes_over_disk(solution: Solution, steps: Steps, loop: Loop) -> bool:
    """Whether a loop goes over files or rows of one: by itself, by a generator that does, be it one of another file, or
    as it reads a file a turn.

    Args:
        solution: to know what is called.
        steps: knows the calls of a function.
        loop: the loop.
    """
    if any(goes_over_files(one) or goes_over_rows(one) for one in (loop, *_behind(solution, loop))):
        return True
    if any(one in solution.graph.foreign.disk_passes for one in _drawn_from(solution, loop)):
        return True
    if loop.iterable is None or loop.iterable.op is Op.CONTAINER:
        return False
    calls = steps.calls_within(loop)
    return any(_names_a_file(solution, steps, call, loop) for call in calls)


def _behind(solution: Solution, loop: Loop) -> Iterator[Loop]:
    """The loops of the generators that a loop runs over, in which they yield."""
    for function in _drawn_from(solution, loop):
        yield from function.yielding_loops


def _drawn_from(solution: Solution, loop: Loop) -> Iterator[Function]:
    """The functions whose results a loop runs over."""
    made = loop.iterable.computed_from() if loop.iterable is not None else ()
    return (function for part in made if part.op is Op.CALL for function in solution.functions_of(part))


def _names_a_file(solution: Solution, steps: Steps, call: Value, loop: Loop) -> bool:
    """Whether a CALL reads a file whose name the turn brings, or has a function of the file read it."""
    if call.callee.name in READING:
        return bool(call.arguments) and is_computed_with(call.arguments[0], loop)
    for function in solution.functions_of(call):
        bindings = solution.callers.get(function, {}).get(call, {})
        reading = (one for one in steps.calls_in(function) if one.callee.name in READING and one.arguments)
        named = (part for one in reading for part in one.arguments[0].computed_from() if part.op is Op.PARAMETER)
        given = (bindings.get(parameter) for parameter in named)
        if any(one is not None and is_computed_with(one, loop) for one in given):
            return True
    return False
