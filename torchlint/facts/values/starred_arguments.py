"""What a call with a star passes for which parameter: ``criterion(*net(x), target)``.

A function takes as many arguments as it has parameters, so that those which the call does not write are items of what
is spread, from the first on.
"""

from __future__ import annotations

import libcst as cst

from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameters import spread_as, star_of

MOST = 4
"""Of so many items of what is spread a value is made, each for one parameter."""


def passed_by_star(call: Value, function: Function, offset: int, named: set[str]) -> dict[Value, Value]:
    """What each parameter gets of what one star spreads, and of what stands behind it; empty where nobody can say.

    Args:
        call: a CALL.
        function: which runs.
        offset: how many of its parameters are given already.
        named: the parameters that the call gives by name.
    """
    written = call.syntax.args if isinstance(call.syntax, cst.Call) else ()
    at = next((i for i, one in enumerate(written) if one.star == "*"), None)
    if at is None or sum(bool(one.star) for one in written) > 1 or any(map(star_of, function.parameters)):
        return {}
    if star_of(call.arguments[at]) or not function.is_written:
        return {}  # what is handed on, and put into a record, is told field by field
    by_name = named | _only_by_name(function)
    free = [one for one in function.parameters[offset:] if one.name not in by_name]
    before = sum(one.keyword is None for one in written[:at])
    behind = [
        given for given, one in zip(call.arguments[at + 1 :], written[at + 1 :], strict=False) if one.keyword is None
    ]
    required = [one for one in free if not one.inputs]  # a default is what a parameter is made of
    if behind and len(required) < len(free):
        return {}
    end = len(required) - len(behind)
    items = {one.keys[0]: one for one in call.arguments[at].users if one.op is Op.ELEMENT}
    found = {one: items[i] for i, one in enumerate(free[before:end]) if i in items}
    return found | dict(zip(free[end:], behind, strict=False)) if before <= end else {}


def passed_by_stars(call: Value) -> dict[str, Value]:
    """What a CALL passes under which name by two stars, where the dictionary is written: ``fit(**dict(net=net))``."""
    found: dict[str, Value] = {}
    for spread in spread_as(call, "**") if None in call.keys[1:] else ():
        is_made = spread.op is Op.CALL and spread.callee.name == "builtins.dict"
        if spread.op is Op.CONTAINER or is_made:
            items = zip(spread.keys[is_made:], spread.inputs[is_made:], strict=True)
            found |= {key: item for key, item in items if isinstance(key, str)}
    return found


def _only_by_name(function: Function) -> set[str]:
    """The parameters that stand behind a bare star."""
    params = getattr(function.syntax, "params", None)
    return {one.name.value for one in params.kwonly_params} if isinstance(params, cst.Parameters) else set()
