"""Figures that a loop makes for one item after the other, and saves there: each is done with in its own turn.

No step and no epoch is needed for that: a loop over runs, layers or classes leaves one open for each of them as well.
pyplot itself warns where more are open than :data:`MOST_OPEN`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.gathering import items_behind, iterated
from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.facts.values.homes import allocations_of, stored_at
from torchlint.facts.values.literals import literal
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

MOST_OPEN = 20
"""So many figures are open before pyplot warns, where nothing else is set (``figure.max_open_warning``)."""

WHOLE = frozenset(["items", "keys", "values"])
"""Methods of a dictionary that give as many items as it has."""


def saved_in_turn(facts: Facts, call: Value) -> tuple[Loop, Value] | None:
    """The loop in each turn of which a CALL makes a figure that is saved before the next; None without, or for few.

    With the call of that loop's own function: this one, or one of the function in which it makes and saves a figure.
    """
    saves = [other for other in facts.steps.calls_in(call.function) if _saves(other, call)]
    if call.loop is not None:
        inside = [other for other in saves if other.loop is not None and call.loop in other.loop.around()]
        loop = _loop_of_many(facts, call) if inside else None
        return (loop, call) if loop is not None else None
    callers = sorted(facts.solution.callers.get(call.function, ()), key=lambda one: one.index) if saves else []
    loops = ((_loop_of_many(facts, caller), caller) for caller in callers if caller.op is Op.CALL)
    return next(((loop, caller) for loop, caller in loops if loop is not None), None)


def _loop_of_many(facts: Facts, call: Value) -> Loop | None:
    """The loop around a CALL in which it runs more often than figures may be open."""
    turns = 1
    for loop in call.loop.around() if call.loop is not None else ():
        if facts.steps.walks_modules(loop) or facts.loop_lengths.leaves_early(loop):
            return None
        number = _number_of_turns(facts, loop)
        turns *= MOST_OPEN + 1 if number is None else number
        if turns > MOST_OPEN:
            return loop
    return None


def is_for_chosen(facts: Facts, test: cst.BaseExpression, loop: Loop) -> bool:
    """Whether a condition asks if the item of a loop is among others, ``name in chosen``, of which there may be many.

    Nothing is put to these in the loop: what is remembered there would be asked for as well.
    """
    asked = next((value for value in facts.graph.of(Op.COMPARISON) if value.syntax is test), None)
    if asked is None or not isinstance(test, cst.Comparison) or len(asked.inputs) != 2:
        return False
    path = dotted(test.comparisons[0].comparator)
    if not isinstance(test.comparisons[0].operator, cst.In) or path is None or not loop.syntax:
        return False
    bindings = facts.skipping.bindings
    if path in bindings.filled(loop.syntax) or path in bindings.assigned(loop.syntax):
        return False
    item, chosen = asked.inputs
    if item.loop is not loop or _is_drawn(facts, chosen):
        return False
    length = _length(facts, chosen)
    return length is None or length > MOST_OPEN


def _is_drawn(facts: Facts, chosen: Value) -> bool:
    """Whether a few are drawn, as far as their number is written: ``random.sample(names, 5)``."""
    calls = (made for made in (chosen, *_values(facts, chosen)) if made.op is Op.CALL)
    numbers = (literal(facts.solution, one) for made in calls for one in made.arguments)
    return any(isinstance(number, int) and number <= MOST_OPEN for number in numbers)


def _saves(other: Value, call: Value) -> bool:
    """Whether another CALL writes a figure to a file after ``call``."""
    return other.callee.name.rpartition(".")[2] == "savefig" and other.index > call.index


def _number_of_turns(facts: Facts, loop: Loop) -> int | None:
    """How many turns a loop has as far as that is written in the file; None where it is not."""
    over = loop.iterable
    if over is None:
        return None
    if over.op is Op.CALL and over.callee.name == "builtins.range":
        return _counted(facts, over)
    lengths = [_length(facts, source) for source in iterated(over)]
    return min((length for length in lengths if length is not None), default=None)


def _counted(facts: Facts, call: Value) -> int | None:
    """``10`` of ``range(10)``, the items of ``names`` of ``range(len(names))``"""
    only = call.arguments[0] if len(call.arguments) == 1 else None
    if only is not None and only.op is Op.CALL and only.callee.name == "builtins.len" and only.arguments:
        return _length(facts, only.arguments[0])
    numbers = [literal(facts.solution, argument) for argument in call.arguments]
    counted = [number for number in numbers if isinstance(number, int)]
    return len(range(*counted)) if counted and len(counted) == len(numbers) and 0 not in counted[2:] else None


def _length(facts: Facts, source: Value) -> int | None:
    """How many items a value has that a loop runs over, where all that it may be is written out."""
    source = items_behind(source)
    if source.op is Op.CALL and source.callee.op is Op.ATTRIBUTE and source.callee.name in WHOLE:
        source = source.callee.inputs[0]
    written: list[cst.CSTNode | None] = [value.syntax for value in _values(facts, source)]
    if isinstance(source.syntax, cst.Param) and source.syntax.default is not None:
        written.append(source.syntax.default)
    lengths = [_written(node) for node in written]
    known = [length for length in lengths if length is not None]
    return max(known) if known and len(known) == len(lengths) else None


def _values(facts: Facts, source: Value) -> list[Value]:
    """What is passed or stored for a value that a loop runs over, or that itself."""
    if source.op is Op.CONTAINER:
        return [source]
    given = facts.solution.arguments_of(source) if source.op is Op.PARAMETER else stored_at(facts.solution, source)
    return [made for one in given for made in (allocations_of(facts.solution, one) or [one])]


def _written(syntax: cst.CSTNode | None) -> int | None:
    """How many items a display has; None for anything else, and for one that begins empty."""
    elements = syntax.elements if isinstance(syntax, cst.List | cst.Tuple | cst.Set | cst.Dict) else ()
    return len(elements) or None
