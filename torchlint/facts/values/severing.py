"""Functions that cut the graph off where a flag says so: ``return out if training else out.detach()``.

A call that writes the flag, or leaves it at its default, decides. It is taken then as one under ``no_grad`` is, whose
results have no graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import is_graphless
from torchlint.facts.values.graph import Flag, Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

FURTHEST = 60
"""So many values are looked at behind a result, at most."""


def severs(solution: Solution, call: Value, function: Function, binding: Mapping[Value, Value | None]) -> bool:
    """Whether a CALL of ``function`` says by a flag that nothing which it returns has a graph.

    Args:
        solution: what is known so far; ``call`` is run again when more of the results is.
        call: it.
        function: what it runs.
        binding: what the parameters get.
    """
    if function.is_foreign:
        told = solution.graph.foreign.severed.get(function)
        return told is not None and _said(function.parameters[told[0]], binding) is told[1]
    asked = solution.graph.flags_of(function)
    flags = {(flag, said) for flag in asked if (said := _said(flag, binding)) is not None}
    return bool(flags) and is_cut_off(solution, function, flags, call)


def severing_flag(solution: Solution, function: Function) -> tuple[int, bool] | None:
    """The first parameter, from 0, by which callers decide that results have no graph, and what it is then."""
    result = function.result
    if result is None or all(map(is_graphless, solution.final(result))):
        return None
    for flag in solution.graph.flags_of(function):
        for truth in (False, True):
            if is_cut_off(solution, function, {(flag, truth)}):
                return function.parameters.index(flag), truth
    return None


def is_cut_off(solution: Solution, function: Function, flags: Collection[Flag], reader: Value | None = None) -> bool:
    """Whether nothing that a function returns has a graph where ``flags`` are so, and something has one elsewhere."""
    result = function.result
    if result is None or not result.inputs or function.is_generator:
        return False
    ends = _ends(solution, result, flags, reader)
    return bool(ends) and all(is_graphless(atom) for end in ends for atom in solution.of(end))


def _said(flag: Value, binding: Mapping[Value, Value | None]) -> bool | None:
    """Whether a call writes ``True`` or ``False`` for a parameter, or leaves it at such a default."""
    given = binding.get(flag) or (flag.inputs[0] if flag in binding and flag.inputs else None)
    if given is None or given.op is not Op.CONSTANT or given.name not in ("True", "False"):
        return None
    return given.name == "True"


def _ends(solution: Solution, result: Value, flags: Collection[Flag], reader: Value | None) -> list[Value]:
    """What a result is made of without the choices that ``flags`` rule out; nothing where that is too much to tell."""
    excluded = {(flag, not truth) for flag, truth in flags}
    pending, seen, found = [result], set[Value](), list[Value]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if len(seen) > FURTHEST:
            return []
        if reader is not None:
            solution.watch(value, reader)
        if value.op is Op.PHI:
            ways = ((one, solution.graph.decided.get((value, one), (frozenset(),))) for one in value.inputs)
            pending += [one for one, flags in ways if any(map(excluded.isdisjoint, flags))]
        elif value.op in (Op.CONTAINER, Op.OPERATION, Op.NARROWED):
            pending += value.inputs
            pending += [held for _, held in solution.held.get(value, ())]
        else:
            found.append(value)
    return found
