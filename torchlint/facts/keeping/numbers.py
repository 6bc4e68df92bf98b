"""Indices that are whole numbers for certain: what they take of a tensor is a view, never a copy."""

from __future__ import annotations

from collections.abc import Mapping

from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.kinds import WHOLE_NUMBER
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.solve import Solution

HOPS = 4
"""Through so many parameters a number is followed."""

GIVING = frozenset(
    ["builtins.int", "builtins.len", "builtins.round", "random.randint", "random.randrange", "math.floor", "math.ceil"]
)
"""Functions that give a whole number, whatever they are given."""


def number_behind(solution: Solution, index: Value, entered: Mapping[Function, Value]) -> Value | None:
    """What computes the whole number that ``index`` is, None where it may be anything else.

    Args:
        solution: of the file.
        index: the index.
        entered: the calls by which the functions were entered in which it may be a parameter.
    """
    for _ in range(HOPS):
        index = unpacked(index)
        if index.op is not Op.PARAMETER:
            return index if _is_number(solution, index) or _counts(solution, index) else None
        call = entered.get(index.function)
        every = solution.arguments_of(index)
        given = solution.callers[index.function].get(call, {}).get(index) if call is not None else None
        if given is None and len(every) == 1:
            given = every[0]
        if given is None:
            return None
        index = given
    return None


def _counts(solution: Solution, index: Value) -> bool:
    """``for row in rows``, where all calls that are seen pass a range."""
    ranges = solution.arguments_of(index.inputs[0]) if index.op is Op.ELEMENT else ()
    return bool(ranges) and all(one.op is Op.CALL and one.callee.name == "builtins.range" for one in ranges)


def _is_number(solution: Solution, value: Value, hops: int = HOPS) -> bool:
    """``int(scores.argmax())``, ``scores.argmax().item()``, ``len(x) - 1``, what ``range`` or ``enumerate`` counts.

    And what is computed of a size, ``x.size(1) // 2``, and what functions of the file give, where that is such a number
    on every path.
    """
    if value.op is Op.CONSTANT:
        return value.name == WHOLE_NUMBER
    if value.op is Op.OPERATION:
        return all(part.op is Op.CONSTANT or _is_number(solution, part, hops) for part in value.inputs)
    if value.op is Op.SUBSCRIPT:
        of, is_one = value.inputs[0], isinstance(value.keys[0], int)
        return is_one and of.op is Op.ATTRIBUTE and of.name == "shape"
    if value.op is Op.ELEMENT:
        return _is_listed(value) or _is_quotient(solution, value.inputs[0], hops)
    if value.op is not Op.CALL:
        return False
    callee = value.callee
    if callee.op is Op.EXTERNAL:
        return callee.name in GIVING
    if callee.op is Op.ATTRIBUTE and (callee.name == "item" or (callee.name == "size" and value.arguments)):
        return True
    results = [function.result for function in solution.functions_of(value) if not function.is_generator]
    given = [one for result in results if result is not None for one in result.inputs]
    return bool(given and hops and None not in results) and all(_is_number(solution, one, hops - 1) for one in given)


def _is_listed(item: Value) -> bool:
    """``for y, x in peaks.nonzero().tolist()``: whether an ELEMENT is of a tensor that is made a list."""
    of = item.inputs[0]
    if of.op is Op.ELEMENT and isinstance(item.keys[0], int):
        of = of.inputs[0]
    return of.op is Op.CALL and of.callee.op is Op.ATTRIBUTE and of.callee.name == "tolist"


def _is_quotient(solution: Solution, call: Value, hops: int) -> bool:
    """Whether a CALL is ``divmod(place, width)`` of whole numbers, or of one and of what is not known."""
    is_divided = call.op is Op.CALL and call.callee.name == "builtins.divmod" and len(call.arguments) == 2
    return is_divided and _is_number(solution, call.arguments[0], hops)


def is_known_with(number: Value, value: Value) -> bool:
    """Whether a number is computed where ``value`` is, or before: once for it, and not again and again."""
    if number.function is not value.function:
        return False
    return number.loop is None or (value.loop is not None and number.loop in value.loop.around())
