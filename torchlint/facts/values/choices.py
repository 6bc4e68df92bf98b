"""What a value is on each of the paths that join in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial

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


def held_in(value: Value, seen_through: Set[str] = frozenset()) -> frozenset[Value]:
    """What ``value`` may be, or may have in it where a literal says so; itself among them.

    Args:
        value: what is asked for.
        seen_through: methods whose result is, or has in it, the object on which they are called.
    """
    return frozenset(reached([value], partial(_one_in, seen_through)))


def _one_in(seen_through: Set[str], value: Value) -> Sequence[Value]:
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in seen_through:
        return value.callee.inputs[:1]
    return value.inputs if value.op in (Op.PHI, Op.CONTAINER) else ()


def joined_into(value: Value) -> Iterator[Value]:
    """``value``, and the joins into which it goes, each once."""
    return reached([value], lambda current: [user for user in current.users if user.op is Op.PHI])
