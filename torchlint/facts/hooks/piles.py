"""Piles: what forward hooks add to a list with each forward, the tensors of it whole, with their graph or without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.hooks.forward_hooks import Hook
from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.library_calls import CONTAINER_READERS
from torchlint.facts.values.reaching import ends, reached
from torchlint.facts.values.running import run_by
from torchlint.facts.values.writing import text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

STILL_WHOLE = frozenset(
    ["detach", "clone", "contiguous", "cpu", "cuda", "to", "float", "half", "double", "requires_grad_"]
)
"""Methods that give all of a tensor again."""


@dataclass(frozen=True)
class Pile:
    """What a forward hook adds to a list, a set or a dictionary of lists.

    Attributes:
        hook: who adds it.
        store: where.
        holder: the list, or the dictionary in which it is, as it is read there.
        name: how the program writes that.
    """

    hook: Hook
    store: Store
    holder: Value
    name: str


def piles(facts: Facts) -> list[Pile]:
    """Every statement by which a forward hook, or what it calls, adds one tensor more with each forward."""
    hooks = facts.hooks.found
    given = {tensor: hook for hook in reversed(hooks) for tensor in hook.tensors}
    running = running_in(facts, [hook.function for hook in hooks])
    found: list[Pile] = []
    for store in facts.graph.stores if running else ():
        if store.function in running and store.kind is Kind.INSERT and not store.is_item and store.holder is not None:
            whole = (one for one in reached([store.value], partial(_whole, facts)) if one in given)
            holders = list(ends([store.holder], _around))
            if (tensor := next(whole, None)) is not None and len(holders) == 1:
                found.append(Pile(given[tensor], store, holders[0], text_of(holders[0].syntax, holders[0])))
    return found


def running_in(facts: Facts, functions: Iterable[Function]) -> frozenset[Function]:
    """Functions, and those that run when these do."""
    first = frozenset(functions)
    return first.union(run_by(facts, (call for function in first for call in facts.steps.calls_in(function))))


def _whole(facts: Facts, value: Value) -> Sequence[Value]:
    """What a value is all of, or one item of, or what a tuple or a list has in it."""
    if value.op in (Op.PHI, Op.NARROWED, Op.CONTAINER):
        return value.inputs
    if value.op in (Op.ELEMENT, Op.SUBSCRIPT) or (value.op is Op.ATTRIBUTE and value.name == "data"):
        return value.inputs[:1]
    if value.op is Op.PARAMETER:
        return facts.solution.arguments_of(value)
    is_method = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in STILL_WHOLE
    return value.callee.inputs[:1] if is_method else ()


def _around(value: Value) -> Sequence[Value]:
    """That of which a list is an item: ``self.outputs[name]``, ``self.outputs.setdefault(name, [])``."""
    if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
        return value.inputs[:1]
    is_read = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in CONTAINER_READERS
    return value.callee.inputs[:1] if is_read else ()
