"""Items that a loop takes, and what gives them: an imported function that is asked for batches, or for losses.

What such a function gives has a graph where it is given one. It may run a network of its own, and a loader does not.
"""

from __future__ import annotations

from collections.abc import Callable

from torchlint.facts.values.graph import Op, Value

PARTS = frozenset([Op.ELEMENT, Op.SUBSCRIPT, Op.ATTRIBUTE, Op.NARROWED])
"""What takes a part of a value, or says something more of it."""


def iterated_call(value: Value) -> Value | None:
    """The CALL of an imported function over whose result a loop runs that gives ``value``, or what that is a part of.

    None for what no loop gives, and for what a loop takes from anything else.
    """
    is_item = False
    while value.op in PARTS and value.inputs:
        base = value.inputs[0]
        is_item |= value.op is Op.ELEMENT and value.loop is not None and value.loop.iterable is base
        value = base
    return value if is_item and _is_imported(value) else None


def is_given(call: Value, holds: Callable[[Value], bool]) -> bool:
    """Whether a CALL of an imported function is given something that ``holds``, be it by another such CALL."""
    return any(_holds(argument, holds, {call}) for argument in call.arguments)


def _holds(value: Value, holds: Callable[[Value], bool], seen: set[Value]) -> bool:
    value = value.unnarrowed()
    if value in seen:
        return False
    seen.add(value)
    if value.op is Op.PHI or _is_imported(value):
        behind = value.inputs if value.op is Op.PHI else value.arguments
        return any(_holds(one, holds, seen) for one in behind)
    return holds(value)


def _is_imported(value: Value) -> bool:
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL
