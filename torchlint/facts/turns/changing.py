"""What is another value in each turn of a loop."""

from __future__ import annotations

from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Loop, Op, Value


def changes_with(value: Value, loop: Loop) -> bool:
    """Whether ``value`` is the loop's own variable, a counter of it, or what an earlier turn left."""
    if value in loop.phis:
        return True
    if value.loop is None or loop not in value.loop.around():
        return False
    return value.op is Op.ELEMENT or (value.op is Op.CONSTANT and value.syntax is None)


def is_computed_with(value: Value, loop: Loop) -> bool:
    """Whether ``value`` is computed from something that changes with the loop."""
    return any(changes_with(part, loop) for part in value.computed_from())


def counted(value: Value) -> list[Value]:
    """Of what ``len(rows)`` depends where the lists are written there: not on what is in them."""
    if value.op is not Op.CALL or value.callee.name != "builtins.len" or len(value.arguments) != 1:
        return []
    lists = choices(value.arguments[0])
    if not all(one.op is Op.CONTAINER for one in lists):
        return []
    items = (item for one in lists for item in one.inputs if item.loop is not one.loop)
    return [value.callee, *(item.loop.iterable for item in items if item.loop and item.loop.iterable)]
