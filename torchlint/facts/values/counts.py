"""Counts: what is summed up for nothing but to divide by it, as the number of examples is."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached

SUMS = frozenset(["Add", "AddAssign"])

DIVIDES = frozenset(["Divide", "DivideAssign", "FloorDivide", "FloorDivideAssign"])

BOUNDS = frozenset(["builtins.max", "builtins.float", "builtins.int"])
"""Functions that give a count as it is, or the least that it may be."""


def is_count(item: Value) -> bool:
    """Whether a sum that ``item`` is added to, or a sum of such sums, divides something."""
    choices = reached([item], _choices_of)  # one branch asks one network for it, another one another
    totals = reached([total for choice in choices for total in _sums_of(choice)], _further_totals)
    return any(
        user.op is Op.OPERATION and user.name in DIVIDES and user.inputs[1] is total
        for total in totals
        for user in total.users
    )


def _further_totals(total: Value) -> list[Value]:
    return [*_sums_of(total), *_choices_of(total), *filter(_is_at_least, total.users)]


def _choices_of(value: Value) -> list[Value]:
    return [user for user in value.users if user.op is Op.PHI]


def _is_at_least(value: Value) -> bool:
    """``max(total, 1)``: what divides without a fear of zero."""
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in BOUNDS


def _sums_of(value: Value) -> list[Value]:
    return [user for user in value.users if user.op is Op.OPERATION and user.name in SUMS]
