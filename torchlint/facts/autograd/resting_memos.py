"""Memos at rest: what a layer computes once where it does not train, and keeps with the graph of it.

``if not self.training: if self._folded is None: self._folded = self.second.weight @ self.first.weight``. Nothing is
ever trained through it: a training does not read it, and a second backward over the one graph would raise. With
gradients on, as ``eval()`` leaves them, the graph stays as long as the memo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import History, Tensor, Unknown, is_graphless
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import readers_of, targets_of
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import Use, parts, text_of
from torchlint.syntax.tree import branches, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

PRODUCTS = frozenset(["matmul", "mm", "bmm", "mv"])
"""Methods by which only tensors are multiplied with tensors."""

FURTHEST = 200
"""How many values are looked at behind one."""


@dataclass(frozen=True)
class RestingMemo:
    """What a layer keeps from its first forward in evaluation on.

    Attributes:
        statement: where it is made.
        name: how the program writes the attribute.
        part: what is kept, as it is written there.
        is_supposed: True where code that is not seen makes it of what has a graph.
    """

    statement: cst.CSTNode
    name: str
    part: Use
    is_supposed: bool


def resting_memos(facts: Facts) -> list[RestingMemo]:
    """Every attribute of a layer that is set once where it does not train, to what has a graph."""
    graph = facts.graph
    resting = {value.statement for value in graph.resting}
    stores = (store for store in graph.stores if resting and store.kind is Kind.ASSIGN)
    begun = (store for store in stores if store.value in graph.beginnings and _is_at_rest(facts, store, resting))
    return [found for store in begun if (found := _memo(facts, store)) is not None]


def _is_at_rest(facts: Facts, store: Store, resting: set[cst.CSTNode | None]) -> bool:
    """Whether a store only runs where the module does not train: here, or where its method is called."""
    if store.statement in resting:
        return True
    callers = facts.solution.callers.get(store.function, {})
    return bool(callers) and all(call.callee in facts.graph.resting for call in callers)


def _memo(facts: Facts, store: Store) -> RestingMemo | None:
    owner, places = store.function.owner, targets_of(facts.solution, store)
    if owner is None or not is_module_class(owner) or not _evaluates_with_gradients(facts, store.function):
        return None
    lasting = [place for place in places if isinstance(place, Place) and isinstance(place.owner, Class)]
    if not lasting or len(lasting) < len(places) or _is_given_up(facts, store, lasting):
        return None
    reads = [one for one in readers_of(facts.solution, lasting) if one.op is Op.ATTRIBUTE]
    if any(map(facts.flows.is_trained_on, reads)):
        return None
    live = facts.flows.live_parts(store.value)
    if not live and not (_may_have_graph(facts, store.value) and any(_is_tensor(facts, read) for read in reads)):
        return None
    part = parts(store.value, store.syntax, live or [store.value])[0]
    return RestingMemo(store.statement, text_of(store.target, store.value), part, is_supposed=not live)


def _evaluates_with_gradients(facts: Facts, function: Function) -> bool:
    """Whether the layer may be run in evaluation with gradients on, as far as this file runs it at all."""
    forwards = facts.solution.callers.get(function, {}) if is_forward(function) else {}
    seen = [call for call in forwards if call.evaluating or not facts.steps.trains(call.function)]
    return not forwards or any(map(facts.modes.records, seen))


def _is_tensor(facts: Facts, read: Value) -> bool:
    """Whether what is read is a tensor, by what is done with it: ``rows.matmul(self._solved)``, whatever has that."""
    if facts.tensors.is_tensor(read):
        return True
    return any(map(_is_product, (user for user in read.users if read in user.inputs[user.op is Op.CALL :])))


def _is_product(value: Value) -> bool:
    if value.op is Op.OPERATION:
        return value.name == "MatrixMultiply"
    return value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in PRODUCTS


def _is_given_up(facts: Facts, store: Store, places: list[Place]) -> bool:
    """Whether the method that makes it also sets it anew in evaluation, so that it is there for one forward."""
    function = store.function
    again = [
        one.statement
        for one in facts.graph.stores
        if one.function is function and one.kind is Kind.ASSIGN and one.value is not store.value
        and any(place in places for place in targets_of(facts.solution, one))
    ]  # fmt: skip
    again += [
        one.statement for one in facts.graph.drops if one.function is function and one.attribute == places[0].path
    ]
    return not all(_is_for_training(facts, statement) for statement in again)


def _is_for_training(facts: Facts, statement: cst.CSTNode) -> bool:
    """Whether a condition on the way to a statement asks whether the module trains."""
    return any(any(map(_is_training, walk(test.test))) for test, _ in branches(facts.parents, statement))


def _is_training(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "training"


def _may_have_graph(facts: Facts, value: Value) -> bool:
    """Whether code that is not seen computes a value of a parameter or of what a network gives."""
    if not facts.solution.may_be(value, Unknown):
        return False
    behind = islice(reached([value], partial(_computed_of, facts)), FURTHEST)
    return any(_has_graph(facts, one) for one in behind)


def _has_graph(facts: Facts, value: Value) -> bool:
    if any(isinstance(atom, Tensor) and atom.history is History.LEAF for atom in facts.solution.final(value)):
        return True
    return value.op is Op.CALL and facts.steps.calls_module(value) and facts.modes.records(value)


def _computed_of(facts: Facts, value: Value) -> Sequence[Value]:
    if all(map(is_graphless, facts.solution.final(value))):
        return ()
    if value.op in (Op.OPERATION, Op.PHI, Op.NARROWED, Op.CONTAINER):
        return value.inputs
    if value.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE):
        return value.inputs[:1]
    if value.op is not Op.CALL or not facts.modes.records(value):
        return ()
    results = [one.result for one in facts.solution.functions_of(value) if one.result is not None]
    receiver = value.callee.inputs[:1] if value.callee.op is Op.ATTRIBUTE else ()
    return results or [*receiver, *value.arguments]
