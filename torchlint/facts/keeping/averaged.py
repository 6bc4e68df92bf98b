"""Checkpoints that are all kept until they are added up, where a running sum needs one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.keeping.loading import Load
from torchlint.facts.turns.changing import is_computed_with
from torchlint.facts.values.graph import Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.writing import text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

SUMS = frozenset(["builtins.sum", "torch.mean", "torch.sum"])
"""Functions that are given all that is to be added up."""


@dataclass(frozen=True)
class AveragedLoads:
    """Tensors of one checkpoint after the other that a container keeps until they are added up.

    Attributes:
        load: what reads each of them.
        store: what puts its tensors into the container.
        name: how the program writes the container.
        summed: where they are added up.
    """

    load: Load
    store: Store
    name: str
    summed: Value


def averaged_loads(facts: Facts) -> list[AveragedLoads]:
    """Every such collection, once for each statement that fills one."""
    found = {one.store.statement: one for load in facts.loads.found for one in _of(facts, load)}
    return list(found.values())


def _of(facts: Facts, load: Load) -> Iterator[AveragedLoads]:
    loop = next((one for one in _around(load.call) if _reads_another(load.call, one)), None)
    if loop is None or load.is_model:
        return
    whole = facts.loads.parts(load.call).whole
    summed = next((value for value in facts.graph.values if _is_sum(value, whole, loop)), None)
    for store in facts.graph.stores if summed is not None else ():
        if store.value in whole and summed is not None and _collects(facts, store, loop):
            yield AveragedLoads(load, store, text_of(store.target, store.holder or store.value), summed)


def _reads_another(call: Value, loop: Loop) -> bool:
    """Whether each turn of ``loop`` reads another file."""
    return any(is_computed_with(argument, loop) for argument in call.arguments)


def _is_sum(value: Value, whole: set[Value], loop: Loop) -> bool:
    """Whether ``value`` adds up what is taken from the container, after the loop that fills it."""
    if loop in _around(value):
        return False
    if value.op is Op.OPERATION and value.name.startswith("Add"):
        taken = any(operand in whole and operand.op in (Op.ELEMENT, Op.SUBSCRIPT) for operand in value.inputs)
        return taken and (value.name.endswith("Assign") or _goes_on(value))
    if value.op is not Op.CALL or not any(argument in whole for argument in value.arguments):
        return False
    if value.callee.name == "torch.stack":
        return any(_reduces(user) for user in value.users)
    return value.callee.name in SUMS


def _goes_on(value: Value) -> bool:
    """Whether the next turn of a loop adds to ``value``: ``total = total + x``."""
    phis = {phi for around in _around(value) for phi in around.phis}
    return any(part in phis and value in part.computed_from() for part in value.computed_from())


def _reduces(value: Value) -> bool:
    """``torch.mean(stacked, 0)``, ``stacked.sum(0)``."""
    return value.name.rpartition(".")[2] in ("mean", "sum")


def _collects(facts: Facts, store: Store, loop: Loop) -> bool:
    """Whether ``store`` adds to a container that lives through the turns of ``loop``."""
    around = store.loop.around() if store.loop is not None else []
    if store.kind is not Kind.INSERT or store.is_item or store.holder is None or loop not in around:
        return False
    homes = homes_of(facts.solution, store.holder)[1:]
    return facts.lifetimes.outlives(homes, store.function, store.loop, is_step=lambda one: one is loop)


def _around(value: Value) -> list[Loop]:
    return value.loop.around() if value.loop is not None else []
