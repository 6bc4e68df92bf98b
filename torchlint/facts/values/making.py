"""Which functions make what they return: a builder gives another object with each call, an accessor the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import ClassReference, External
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameters import before_moves

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def makes(solution: Solution, function: Function) -> bool:
    """Whether what a function returns is made in it, on every path and with each call."""
    if function.is_foreign:
        is_made = solution.graph.foreign.makers.get(function)
        return is_made is not None and is_made()
    if function.result is None or function.is_generator or is_remembered(function):
        return False
    return _is_made(solution, function.result)


def is_remembered(function: Function) -> bool:
    """Whether a decorator keeps what ``function`` returned, so that it runs once for each argument."""
    return any("cache" in name.rpartition(".")[2] for name in function.decorators)


def _is_made(solution: Solution, result: Value) -> bool:
    pending, seen = [result], set[Value]()
    while pending:
        value = before_moves(pending.pop())
        if value in seen:
            continue
        seen.add(value)
        if value.op is Op.PHI:
            pending.extend(value.inputs)
        elif value.function is not result.function or not _is_construction(solution, value):
            return False
    return len(seen) > 1


def _is_construction(solution: Solution, value: Value) -> bool:
    """Whether a value is what a class of this file, or something imported, is called for."""
    made_by = solution.final(value.callee) if value.op is Op.CALL else ()
    return any(isinstance(atom, ClassReference | External) for atom in made_by)
