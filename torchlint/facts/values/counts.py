"""Counts: what is summed up for nothing but to divide by it, as the number of examples is."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value

SUMS = frozenset(["Add", "AddAssign"])

DIVIDES = frozenset(["Divide", "DivideAssign", "FloorDivide", "FloorDivideAssign"])

BOUNDS = frozenset(["builtins.max", "builtins.float", "builtins.int"])
"""Functions that give a count as it is, or the least that it may be."""


def is_count(item: Value) -> bool:
    """Whether a sum that ``item`` is added to, or a sum of such sums, divides something."""
    pending, seen = list(_sums_of(item)), set[Value]()
    while pending:
        total = pending.pop()
        if total in seen:
            continue
        seen.add(total)
        if any(user.op is Op.OPERATION and user.name in DIVIDES and user.inputs[1] is total for user in total.users):
            return True
        pending += _sums_of(total)
        pending += (user for user in total.users if user.op is Op.PHI or _is_at_least(user))
    return False


def _is_at_least(value: Value) -> bool:
    """``max(total, 1)``: what divides without a fear of zero."""
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in BOUNDS


def _sums_of(value: Value) -> list[Value]:
    return [user for user in value.users if user.op is Op.OPERATION and user.name in SUMS]
