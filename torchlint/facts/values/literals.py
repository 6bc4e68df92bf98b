"""Constants as Python's own objects, read through variables that are set once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import Container, sorted_values
from torchlint.facts.values.externals import KEYWORD_ITEMS
from torchlint.facts.values.graph import Key, Op, Value
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
        value = stored[0] if len(stored) == 1 else _only_item(solution, value)
    return UNWRITTEN


def _only_item(solution: Solution, value: Value) -> Value | None:
    """What a dictionary of settings has under a key, or a namespace as an attribute, where nothing else is put there.

    ``settings["workers"]`` of ``settings = {"workers": 4}``, wherever that is passed to.
    """
    key = value.keys[0] if value.op is Op.SUBSCRIPT else value.name if value.op is Op.ATTRIBUTE else None
    atoms = sorted_values(solution.final(value.inputs[0])) if key is not None else []
    tables = [atom.allocation for atom in atoms if isinstance(atom, Container)]
    items = [item for table in tables for item in (*_keywords(table), *solution.held.get(table, ()))]
    found = [item for known, item in items if known == key]
    is_known = bool(tables) and len(tables) == len(atoms) and all(known is not None for known, _ in items)
    return found[0] if is_known and len(found) == 1 else None


def _keywords(table: Value) -> Iterator[tuple[Key, Value]]:
    """The items that ``dict(workers=4)`` and ``SimpleNamespace(workers=4)`` begin with."""
    if table.op is Op.CALL and table.callee.name in KEYWORD_ITEMS:
        yield from (item for item in zip(table.keys, table.inputs, strict=True) if isinstance(item[0], str))


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


def is_on(solution: Solution, flag: Value | None) -> bool:
    """Whether a flag is True: written so, a setting of another file, a parameter that is so in every call of the file.

    Or an attribute that is set to such a one.
    """
    if flag is not None and flag.op is Op.ATTRIBUTE:
        stored = stored_at(solution, flag)
        return bool(stored) and all(one.op is not Op.ATTRIBUTE and is_on(solution, one) for one in stored)
    if flag is None or flag.op is not Op.PARAMETER:
        return is_set(solution, flag)
    callers = solution.callers.get(flag.function, {})
    if any(call.op is Op.CALL and None in call.keys[1:] for call in callers):
        return False  # what a star brings is not known
    given = [value for call in callers for value in solution.given_by(call, flag) or flag.inputs]
    return len(given) >= len(callers) > 0 and all(is_set(solution, one) for one in given)
