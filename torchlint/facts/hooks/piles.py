"""Piles: what forward hooks add to a list with each forward, the tensors of it whole, with their graph or without.

And who empties such a list: by its own methods, by setting it anew, by those of a dictionary in which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.building.names import constant_of
from torchlint.facts.hooks.forward_hooks import Hook
from torchlint.facts.values.graph import Function, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
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

OF_DICTIONARIES = CONTAINER_READERS | {"values", "items", "copy"}
"""Methods of a dictionary that give what is in it."""

WALKING = frozenset(["builtins.list", "builtins.tuple", "builtins.enumerate", "builtins.reversed", "builtins.zip"])
"""Functions by which one goes through what they are given."""

ANY = "*"
"""The name of an attribute that nobody knows."""


@dataclass(frozen=True)
class Pile:
    """What a forward hook adds to a list, a set or a dictionary of lists.

    Attributes:
        hook: who adds it.
        store: where.
        holder: the list, or the dictionary in which it is, as it is read there.
        name: how the program writes that.
        homes: where they are kept.
    """

    hook: Hook
    store: Store
    holder: Value
    name: str
    homes: tuple[Place | Value, ...]


@dataclass(frozen=True)
class Clearing:
    """A list is emptied, or something is taken out of it.

    Attributes:
        at: a value that is computed there.
        function: where that is.
        homes: where the list is kept, or the dictionary in which it is.
        attributes: as which attributes of whatever objects.
    """

    at: Value
    function: Function
    homes: frozenset[Place | Value]
    attributes: frozenset[str]

    def may_empty(self, pile: Pile) -> bool:
        """Whether it may be the list of ``pile``: the very one, or one of the same name."""
        named = pile.holder.name if pile.holder.op is Op.ATTRIBUTE else ANY
        return self.empties(pile) or named in self.attributes or ANY in self.attributes

    def empties(self, pile: Pile) -> bool:
        """Whether it is the list of ``pile``."""
        return not self.homes.isdisjoint(pile.homes)


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
                homes = [home for one in (holders[0], store.holder) for home in homes_of(facts.solution, one)[1:]]
                name = text_of(holders[0].syntax, holders[0])
                found.append(Pile(given[tensor], store, holders[0], name, tuple(dict.fromkeys(homes))))
    return found


def running_in(facts: Facts, functions: Iterable[Function]) -> frozenset[Function]:
    """Functions, and those that run when these do."""
    first = frozenset(functions)
    return first.union(run_by(facts.steps, (call for function in first for call in facts.steps.calls_in(function))))


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
    if value.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.NARROWED):
        return value.inputs[:1]
    if value.op is not Op.CALL:
        return ()
    if value.callee.op is Op.EXTERNAL and value.callee.name in WALKING:
        return value.arguments
    is_read = value.callee.op is Op.ATTRIBUTE and value.callee.name in OF_DICTIONARIES
    return value.callee.inputs[:1] if is_read else ()


def clearings(facts: Facts) -> list[Clearing]:
    """Everything that empties a list or takes something out of it, but the first time that it is set."""
    graph, solution = facts.graph, facts.solution
    found = [_of_holder(facts, reset.holder, reset.holder, reset.function) for reset in graph.resets]
    for store in graph.stores:
        if store.kind is Kind.ASSIGN and store.value not in graph.beginnings:
            homes = frozenset(targets_of(solution, store))
            if homes or store.attribute:
                found.append(Clearing(store.value, store.function, homes, frozenset([store.attribute])))
        elif store.is_item and store.holder is not None and store.value.op is Op.CONTAINER:
            found.append(_of_holder(facts, store.value, store.holder, store.function))
    for call in facts.calls():
        if call.callee.name in ("builtins.setattr", "builtins.delattr") and len(call.arguments) > 1:
            named = call.arguments[1].syntax
            name = constant_of(named) if named is not None else None
            found.append(Clearing(call, call.function, frozenset(), frozenset([str(name) if name else ANY])))
    return found


def _of_holder(facts: Facts, at: Value, holder: Value, function: Function) -> Clearing:
    bases = list(ends([holder], _around))
    homes = {home for one in (holder, *bases) for home in homes_of(facts.solution, one)[1:]}
    return Clearing(at, function, frozenset(homes), frozenset(one.name for one in bases if one.op is Op.ATTRIBUTE))
