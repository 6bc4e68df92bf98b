"""Numbers that are picked by what a tensor holds: a few of its rows or windows, and not one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

PICKING = frozenset(
    ["nonzero", "argwhere", "flatnonzero", "topk", "argmax", "argmin", "find_peaks", "nms", "batched_nms",
     "argrelextrema", "multinomial"]
)  # fmt: skip
"""Last names of functions and methods that give the indices of some of what they are given, or the values of these."""


def is_picked(solution: Solution, number: Value) -> bool:
    """Whether a number comes of such a choice, by whatever functions of the file, lists and loops."""
    return any(map(_picks, reached([number], lambda value: _behind(solution, value))))


def _picks(value: Value) -> bool:
    return value.op is Op.CALL and value.callee.name.rpartition(".")[2] in PICKING


def _behind(solution: Solution, value: Value) -> Iterable[Value]:
    """What a number is computed from, or taken out of."""
    if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
        held = [
            item
            for atom in solution.final(value.inputs[0])
            if isinstance(atom, Container)
            for _, item in solution.held.get(atom.allocation, ())
        ]
        return [*held, value.inputs[0]]
    if value.op is Op.CALL:
        results = [function.result for function in solution.functions_of(value) if function.result is not None]
        receiver = value.callee.inputs[:1] if value.callee.op is Op.ATTRIBUTE else ()
        return results or [*receiver, *value.arguments]
    if value.op in (Op.READ, Op.ATTRIBUTE):
        return stored_at(solution, value) or value.inputs
    return value.inputs if value.op in (Op.PHI, Op.OPERATION, Op.CONTAINER) else ()
