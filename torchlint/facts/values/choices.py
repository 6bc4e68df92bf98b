"""What a value is on each of the paths that join in it."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.facts.values.graph import Op, Value


def with_joins(values: Iterable[Value]) -> list[Value]:
    """What ``values`` are on the paths that join in them, each once, and the joins themselves."""
    pending, seen = list(values), dict[Value, None]()
    while pending:
        current = pending.pop()
        if current not in seen:
            seen[current] = None
            if current.op is Op.PHI:
                pending.extend(current.inputs)
    return list(seen)


def choices(value: Value | None) -> list[Value]:
    """What ``value`` is on the paths that join in it, each once; nothing for None."""
    return [choice for choice in with_joins([value] if value is not None else []) if choice.op is not Op.PHI]
