"""What is another value in each turn of a loop."""

from __future__ import annotations

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
