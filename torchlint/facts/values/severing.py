"""Functions that cut the graph off where a call says so.

By a flag, ``return out if training else out.detach()``, that the call writes or leaves at its default; or by a function
that is to be called with all tensors of a nested batch, ``apply_to(batch, torch.Tensor.detach)``. Such a call is taken
as one under ``no_grad`` is, whose results have no graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.domain import NO_GRAPH, UNKNOWN, Abstract, is_graphless
from torchlint.facts.values.graph import Flag, Function, Op, Value
from torchlint.facts.values.kinds import Rest

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

NUMBERS = frozenset(["builtins.float", "builtins.int", "builtins.bool", "builtins.str", "builtins.len"])
"""Functions of Python that give something without a graph, whatever they are given."""

_TENSORLESS = frozenset([Rest.GRAPHLESS.value, Rest.NO_TENSOR.value, Rest.PLAIN.value])
"""What is left where a condition rules tensors with a graph out."""

FURTHEST = 60
"""So many values are looked at behind a result, at most."""

_BUILDERS = frozenset(["builtins.list", "builtins.tuple", "builtins.dict", "builtins.set", "builtins.type"])
"""What makes a collection of its arguments; a type is called for one of the kind that was given."""


def severs(
    solution: Solution, call: Value, function: Function, binding: Mapping[Value, Value | None]
) -> Abstract | None:
    """What stands for a tensor in what a CALL gets that says by what it gives that it wants none with a graph.

    Args:
        solution: what is known so far; ``call`` is run again when more of the results is.
        call: it.
        function: what it runs.
        binding: what the parameters get.

    Returns:
        a tensor without a graph; nothing that is known where it is whatever a function makes of it; None where the call
        says no such thing.
    """
    if function.is_foreign:
        told = solution.graph.foreign.severed.get(function)
        if told is None:
            return None
        parameter = function.parameters[told[0]]
        if told[1] is None:
            return UNKNOWN if _cuts(solution, binding.get(parameter)) else None
        return NO_GRAPH if _said(parameter, binding) is told[1] else None
    asked = solution.graph.flags_of(function)
    flags = {(flag, said) for flag in asked if (said := _said(flag, binding)) is not None}
    cutting = {to for to, given in binding.items() if to.calls and _cuts(solution, given)}
    if not (flags or cutting) or not is_cut_off(solution, function, flags, cutting, reader=call):
        return None
    return UNKNOWN if cutting else NO_GRAPH


def severing_flag(solution: Solution, function: Function) -> tuple[int, bool | None] | None:
    """The first parameter, from 0, by which callers decide that results have no graph, and what it is then.

    None stands for a function that gives something without a graph.
    """
    result = function.result
    if result is None or all(map(is_graphless, solution.final(result))):
        return None
    for flag in solution.graph.flags_of(function):
        for truth in (False, True):
            if is_cut_off(solution, function, {(flag, truth)}):
                return function.parameters.index(flag), truth
    called = (one for one in function.parameters if one.calls and is_cut_off(solution, function, (), {one}))
    return next(((function.parameters.index(one), None) for one in called), None)


def is_cut_off(
    solution: Solution,
    function: Function,
    flags: Collection[Flag],
    cutting: Set[Value] = frozenset(),
    *,
    reader: Value | None = None,
) -> bool:
    """Whether nothing that a function returns has a graph where ``flags`` are so, and something has one elsewhere.

    Args:
        solution: what is known so far.
        function: it.
        flags: what the parameters are by which it decides.
        cutting: the parameters for which it is given functions whose results have no graph.
        reader: a call that is run again when more of the results is known.
    """
    result = function.result
    if result is None or not result.inputs or function.is_generator:
        return False
    ends = _ends(solution, function, flags, cutting, reader)
    if ends is None or not (ends or cutting):
        return False
    return all(is_graphless(atom) for end in ends for atom in solution.of(end))


def _cuts(solution: Solution, given: Value | None) -> bool:
    """``torch.Tensor.detach``, ``lambda t: t.item()``: a function that gives something without a graph."""
    if given is None:
        return False
    if given.op is Op.EXTERNAL:
        known = torch_api.function(given.name)
        return given.name in NUMBERS or (known is not None and known.history is torch_api.History.ENDS)
    result = given.reference.result if isinstance(given.reference, Function) else None
    return result is not None and bool(result.inputs) and all(map(is_graphless, solution.of(result)))


def _said(flag: Value, binding: Mapping[Value, Value | None]) -> bool | None:
    """Whether a call writes ``True`` or ``False`` for a parameter, or leaves it at such a default."""
    given = binding.get(flag) or (flag.inputs[0] if flag in binding and flag.inputs else None)
    if given is None or given.op is not Op.CONSTANT or given.name not in ("True", "False"):
        return None
    return given.name == "True"


def _ends(
    solution: Solution, function: Function, flags: Collection[Flag], cutting: Set[Value], reader: Value | None
) -> list[Value] | None:
    """What may have a graph of all that a result is made of, without the choices that ``flags`` rule out.

    None where that is too much to tell.
    """
    excluded = {(flag, not truth) for flag, truth in flags}
    pending, seen, found = [value for value in [function.result] if value is not None], set[Value](), list[Value]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if len(seen) > FURTHEST:
            return None
        if reader is not None:
            solution.watch(value, reader)
        if value.op is Op.PHI:
            ways = ((one, solution.graph.decided.get((value, one), (frozenset(),))) for one in value.inputs)
            pending += [one for one, flags in ways if any(map(excluded.isdisjoint, flags))]
        elif value.op in (Op.CONTAINER, Op.OPERATION):
            pending += value.inputs
            pending += [held for _, held in solution.held.get(value, ())]
        elif value.op is Op.NARROWED:
            pending += value.inputs if not cutting or value.name not in _TENSORLESS else ()
        elif value.op is Op.CALL and cutting:
            if _collects(value):
                pending += value.arguments
            elif value.callee not in cutting and not _is_of_itself(solution, value, function, cutting):
                found.append(value)
        else:
            found.append(value)
    return found


def _collects(call: Value) -> bool:
    """``list(...)``, ``type(batch)(...)``"""
    kind = call.callee.callee if call.callee.op is Op.CALL else call.callee
    return kind.op is Op.EXTERNAL and kind.name in _BUILDERS


def _is_of_itself(solution: Solution, call: Value, function: Function, cutting: Set[Value]) -> bool:
    """``apply_to(part, fn)`` in ``apply_to``: whether a function calls itself with what it was given to call."""
    given = solution.callers.get(function, {}).get(call, {})
    return solution.functions_of(call) == [function] and all(given.get(one) is one for one in cutting)
