"""Where values are made: back through variables, attributes, parameters and functions of the file, on every way."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Kind, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.literals import UNWRITTEN, literal
from torchlint.facts.values.parameters import star_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

HOPS = 8
"""How many variables, calls and attributes back a value is followed."""


def origins(solution: Solution, value: Value) -> list[Value]:
    """What ``value`` may be where it is made; itself, or what it comes from, where nobody can say more.

    What a parameter is follows from the calls of the file, and from its default where one of them does not give it.
    """
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    frontier = [value]
    for _ in range(HOPS):
        further = []
        for current in frontier:
            if current in seen:
                continue
            seen.add(current)
            back = _one_back(solution, current)
            further += back
            if not back:
                found[current] = None
        frontier = further
    return [*found, *(current for current in frontier if current not in seen)]


def _one_back(solution: Solution, value: Value) -> list[Value]:
    """What a value is one step before; nothing where it is made, or where that is not known."""
    if value.op is Op.PHI:
        return list(value.inputs)
    if value.op is Op.PARAMETER:
        return _given(solution, value)
    if value.op is Op.CALL:
        results = [function.result for function in solution.functions_of(value) if not function.is_generator]
        return [choice for result in results if result is not None for choice in result.inputs]
    return stored_at(solution, value)


def _given(solution: Solution, parameter: Value) -> list[Value]:
    """What each call passes for a parameter; nothing where one of them may pass anything."""
    calls = solution.callers.get(parameter.function, {})
    found = [binding.get(parameter) for binding in calls.values()] or [None]
    if None in found and (not parameter.inputs or any(None in call.keys[1:] for call in calls)):
        return []
    return [parameter.inputs[0] if given is None else given for given in found]


def agreed(solution: Solution, value: Value | None) -> object:
    """The constant that ``value`` is on every way on which it comes, else :data:`UNWRITTEN`."""
    if value is None:
        return UNWRITTEN
    known = [_constant(solution, origin) for origin in origins(solution, value)]
    first = known[0] if known else UNWRITTEN
    return first if all(one is first or (one == first and type(one) is type(first)) for one in known) else UNWRITTEN


def _constant(solution: Solution, origin: Value) -> object:
    if origin.op in (Op.COMPARISON, Op.OPERATION) and origin.name == "Not":
        denied = agreed(solution, origin.inputs[0])
        return not denied if isinstance(denied, bool) else UNWRITTEN
    return literal(solution, origin) if origin.op in (Op.CONSTANT, Op.GIVEN) else UNWRITTEN


def spread_options(solution: Solution, call: Value) -> dict[str, Value] | None:
    """The keyword arguments that a CALL takes from dictionaries, ``f(**options)``; None where nobody can say which."""
    found: dict[str, Value] = {}
    if not isinstance(call.syntax, cst.Call):
        return None if None in call.keys[1:] else found
    for written, key, value in zip(call.syntax.args, call.keys[1:], call.arguments, strict=False):
        if key is not None:
            continue
        made = origins(solution, value) if written.star == "**" else []
        items = None
        if len(made) == 1:
            items = _handed_on(solution, made[0]) if star_of(made[0]) else _items(solution, made[0])
        if items is None:
            return None
        found |= items
    return found


def _handed_on(solution: Solution, options: Value) -> dict[str, Value] | None:
    """``def start(**options)``: what the only call of a function gives by other names than those of its parameters."""
    calls = list(solution.callers.get(options.function, ()))
    if len(calls) != 1 or star_of(options) != "**" or None in calls[0].keys[1:]:
        return None
    named = {parameter.name for parameter in options.function.parameters}
    given = zip(calls[0].keys[1:], calls[0].arguments, strict=True)
    return {key: argument for key, argument in given if isinstance(key, str) and key not in named}


def _items(solution: Solution, made: Value) -> dict[str, Value] | None:
    """What a dictionary holds that is written with its names, and what is put into it later under another one."""
    if made.op is Op.CONTAINER and isinstance(made.syntax, cst.Dict):
        items = list(zip(made.keys, made.inputs, strict=True))
    elif made.op is Op.CALL and made.callee.name == "builtins.dict":
        items = list(zip(made.keys[1:], made.arguments, strict=True))
    else:
        return None
    is_it = partial(_may_be, solution, made)
    stores = [store for store in solution.graph.stores if store.kind is Kind.INSERT and is_it(store.holder)]
    if any(is_it(reset.holder) for reset in solution.graph.resets):
        return None
    items += [(store.key if store.is_item else None, store.value) for store in stores]
    named = {key: item for key, item in items if isinstance(key, str)}
    return named if len(named) == len(items) else None


def _may_be(solution: Solution, made: Value, holder: Value | None) -> bool:
    return holder is not None and Container(made) in solution.final(holder)
