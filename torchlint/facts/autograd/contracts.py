"""Records by contract: values that a framework keeps, or hands to what keeps them, with whatever graph they have.

What a program does not show, the framework's documentation says: ignite gives a metric's ``update`` what the step
returned, Lightning keeps what ``training_step`` returns until ``training_epoch_end`` has read it, fairseq keeps the
logging outputs of a criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import Argument, Carrier, Derived
from torchlint.facts.values.frameworks import keeps_outputs, receives_outputs, returns_logs
from torchlint.facts.values.graph import Function, Kind, Mode, Op, Store, Value
from torchlint.facts.values.homes import places_of, targets_of
from torchlint.facts.values.writing import Use, operands, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

TRAINED_KEYS = frozenset(["loss", "hiddens"])
"""Keys of what a training step returns that the framework itself uses and detaches."""


@dataclass(frozen=True)
class Contract:
    """A tensor that is kept with its graph since a framework says so.

    Attributes:
        statement: where it is handed over, or put into what is kept.
        parts: the tensors, as they are written there.
        holder: what keeps them, as the message says it.
        says: what the framework does.
    """

    statement: cst.CSTNode
    parts: tuple[Use, ...]
    holder: str
    says: str


def contracts(facts: Facts) -> Iterator[Contract]:
    """Every record by contract of a file."""
    for function in facts.graph.functions:
        if receives_outputs(function):
            yield from _of_metric(facts, function)
        elif keeps_outputs(function):
            yield from _of_training_step(facts, function)
        elif returns_logs(function):
            yield from _of_criterion(facts, function)


def _of_metric(facts: Facts, update: Function) -> Iterator[Contract]:
    """``self._sum += torch.sum(errors)`` in a metric's ``update``, where the errors have the output's graph."""
    for store in facts.graph.stores:
        if store.function is not update or store.mode is Mode.OFF:
            continue
        added = _added(facts, store)
        if added is not None and _comes_from(facts, added, update.parameters[1]):
            node = store.syntax if isinstance(store.syntax, cst.BaseExpression) else None
            says = f"ignite gives `{update.name}` what the step returned, with its graph"
            holder = text_of(store.target, store.holder or store.value)
            yield Contract(store.statement, (Use(added, node),), holder, says)


def _added(facts: Facts, store: Store) -> Value | None:
    """What a store adds to what an attribute has kept so far."""
    if store.kind is Kind.UPDATE:
        return store.added if store.attribute or store.is_item else None
    if store.kind is Kind.INSERT:
        return store.value if store.holder is not None and places_of(facts.solution, store.holder) else None
    places = targets_of(facts.solution, store)
    before = store.value.computed_from()
    adds = store.attribute and any(place in places for value in before for place in places_of(facts.solution, value))
    return store.value if adds else None


def _comes_from(facts: Facts, value: Value, parameter: Value) -> bool:
    atoms = facts.solution.final(value)
    return any(isinstance(atom, Argument | Derived) and atom.parameter is parameter for atom in atoms)


def _of_training_step(facts: Facts, step: Function) -> Iterator[Contract]:
    """``return {"loss": loss, "kl": kl.sum()}``: the loss is detached, what stands beside it is not."""
    for returned in step.result.inputs if step.result is not None else ():
        if returned.op is not Op.CONTAINER or "loss" not in returned.keys or returned.statement is None:
            continue
        keys = zip(returned.keys, returned.inputs, strict=True)
        beside = [item for key, item in keys if key not in TRAINED_KEYS]
        uses = [use for use in operands(returned) if use.value in beside]
        uses += [use for item in beside if item.op is Op.CONTAINER for use in operands(item)]
        parts = tuple(use for use in uses if _has_graph(facts, use.value))
        if parts:
            says = "Lightning keeps what all steps returned until the epoch ends"
            yield Contract(returned.statement, parts, step.name, says)


def _of_criterion(facts: Facts, forward: Function) -> Iterator[Contract]:
    """``return loss, size, {"loss": loss}``: what is trained on is logged as it is."""
    for returned in forward.result.inputs if forward.result is not None else ():
        if returned.op is not Op.CONTAINER or len(returned.inputs) != 3:
            continue
        loss, _, logged = returned.inputs
        if logged.op is not Op.CONTAINER or logged.statement is None:
            continue
        written = {use.value: use for use in operands(logged)}
        if loss in written and loss.op is Op.CALL:
            says = "fairseq keeps what is logged until the step's parts are reduced"
            yield Contract(logged.statement, (written[loss],), "logging_output", says)


def _has_graph(facts: Facts, value: Value) -> bool:
    """Whether a value has a graph: it is known to, or it is computed from a part of an output that has one."""
    if facts.flows.live(value) is not None:
        return True
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or not facts.modes.records(value):
        return False
    operation = torch_api.method(value.callee.name)
    if operation is None or operation.history is not torch_api.History.KEEPS:
        return False
    base = value.callee.inputs[0]
    while base.op is Op.ATTRIBUTE and torch_api.attribute(base.name) is None:
        base = base.inputs[0]
    return any(isinstance(atom, Carrier) for atom in facts.solution.final(base))
