"""Constants as Python's own objects, read through variables that are set once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

HOPS = 4
"""How many variables a constant is followed through."""


class Unwritten:
    """What is no constant."""


UNWRITTEN = Unwritten()


def literal(solution: Solution, value: Value | None, hops: int = HOPS) -> object:
    """The number, string, bool or None that ``value`` is wherever it comes from, else :data:`UNWRITTEN`.

    An attribute or a global counts when one assignment sets it, a parameter where all calls that are seen agree, by
    its default where none gives it.
    """
    for left in range(hops, 0, -1):
        if value is None:
            return UNWRITTEN
        if value.op is Op.CONSTANT:
            return _evaluated(value)
        if value.op is Op.OPERATION and value.name == "Minus":
            return _negated(value.inputs[0])
        if value.op is Op.GIVEN:
            constant, is_left = solution.graph.foreign.constants.get(value, (UNWRITTEN, bool))
            return constant if constant is not UNWRITTEN and is_left() else UNWRITTEN
        if value.op is Op.PARAMETER:
            return _passed(solution, value, left - 1)
        stored = stored_at(solution, value) if value.op in (Op.READ, Op.ATTRIBUTE) else []
        value = stored[0] if len(stored) == 1 else None
    return UNWRITTEN


def _passed(solution: Solution, parameter: Value, hops: int) -> object:
    calls, default = solution.callers.get(parameter.function, {}), parameter.inputs[:1]
    given = solution.arguments_of(parameter)
    if not given or any(binding.get(parameter) is None for binding in calls.values()):
        given += default
    first, *others = [literal(solution, one, hops) for one in given] or [UNWRITTEN]
    return first if all(type(one) is type(first) and one == first for one in others) else UNWRITTEN


def _evaluated(constant: Value) -> object:
    if constant.name in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[constant.name]
    if isinstance(constant.syntax, cst.Integer | cst.Float | cst.SimpleString):
        try:
            written: object = ast.literal_eval(constant.syntax.value)
        except (SyntaxError, ValueError):
            return UNWRITTEN
        return written
    return UNWRITTEN


def _negated(value: Value) -> object:
    """``-1``, which Python reads as an operation."""
    number = _evaluated(value) if value.op is Op.CONSTANT else UNWRITTEN
    return -number if isinstance(number, int | float) else UNWRITTEN


def is_true(flag: Value | None) -> bool:
    """Whether a flag is given and written ``True`` right there."""
    return flag is not None and flag.op is Op.CONSTANT and flag.name == "True"


def is_set(solution: Solution, flag: Value | None) -> bool:
    """Whether a flag is written ``True`` right there, or is a setting of another file which is that in any run."""
    return is_true(flag) or (flag is not None and flag.op is Op.GIVEN and literal(solution, flag) is True)
