"""What a value is on each of the paths that join in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached


def with_joins(values: Iterable[Value]) -> list[Value]:
    """What ``values`` are on the paths that join in them, each once, and the joins themselves."""
    return list(reached(values, _joined_in))


def _joined_in(value: Value) -> Sequence[Value]:
    return value.inputs if value.op is Op.PHI else ()


def choices(value: Value | None) -> list[Value]:
    """What ``value`` is on the paths that join in it, each once; nothing for None."""
    return [choice for choice in with_joins([value] if value is not None else []) if choice.op is not Op.PHI]


def joined_into(value: Value) -> Iterator[Value]:
    """``value``, and the joins into which it goes, each once."""
    return reached([value], lambda current: [user for user in current.users if user.op is Op.PHI])
