"""Copies for the record that are no detached copies: ``value.clone()`` is as much a part of the graph as ``value``.

A reporter that is given values of any kind asks whether one is a tensor, copies it, and keeps the copy on an object.
Whether it has a graph is its callers' affair; the copy looks as if that were taken care of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Container, is_graphless
from torchlint.facts.values.graph import Class, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import Use, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

PASSING = frozenset(["items", "values", "copy", "get", "pop"])
"""Methods of a container that give back what is in it."""

FURTHEST = 100
"""How many values are looked at behind what is kept."""


@dataclass(frozen=True)
class KeptClone:
    """A copy of a tensor that an object keeps.

    Attributes:
        call: the copy.
        tensor: what is copied: a value of any kind, tested to be a tensor.
        store: what keeps the copy.
        holder: how the program writes the holder.
    """

    call: Value
    tensor: Use
    store: Store
    holder: str


def kept_clones(facts: Facts) -> list[KeptClone]:
    """Every such copy, with the first store that keeps it."""
    clones = {call: tensor for call in facts.calls() if (tensor := _cloned(facts, call)) is not None}
    found: dict[Value, KeptClone] = {}
    for store in facts.graph.stores if clones else ():
        holder = _holder(facts, store)
        for value in _behind(facts, store.value) if holder else ():
            if value in clones:
                found.setdefault(value, KeptClone(value, Use(clones[value], None), store, holder))
    return list(found.values())


def _cloned(facts: Facts, call: Value) -> Value | None:
    """What a CALL of ``clone`` copies with gradients on, where nothing is known of it but that it is a tensor."""
    callee = call.callee
    if callee.op is not Op.ATTRIBUTE or callee.name != "clone" or not facts.modes.records(call):
        return None
    tensor = callee.inputs[0]
    unknown = facts.flows.live(tensor) is None and not all(map(is_graphless, facts.solution.final(tensor)))
    return tensor if unknown and _is_tested(tensor) and not facts.flows.is_trained_on(call) else None


def _is_tested(value: Value) -> bool:
    """Whether the program asks ``isinstance(value, torch.Tensor)``."""
    return any(
        user.op is Op.CALL and user.callee.name == "builtins.isinstance" and user.argument(0) is value
        and (kind := user.argument(1)) is not None and kind.name == "torch.Tensor"
        for user in value.users
    )  # fmt: skip


def _holder(facts: Facts, store: Store) -> str:
    """The container of an object that ``store`` fills, as it is written; "" for any other place.

    What an object is made of it may be made for: only what is put into it later is a record.
    """
    if store.kind is not Kind.INSERT or store.holder is None or store.function.name == "__init__":
        return ""
    homes = homes_of(facts.solution, store.holder)[1:]
    is_of_object = any(isinstance(home, Place) and isinstance(home.owner, Class) for home in homes)
    return text_of(store.target, store.holder) if is_of_object else ""


def _behind(facts: Facts, value: Value) -> Iterator[Value]:
    """What ``value`` is, or holds, without any computation."""
    return islice(reached([value], partial(_one_back, facts)), FURTHEST)


def _one_back(facts: Facts, value: Value) -> Iterator[Value]:
    if value.op in (Op.PHI, Op.CONTAINER):
        yield from value.inputs
    elif value.op in (Op.ELEMENT, Op.SUBSCRIPT):
        yield value.inputs[0]
    elif value.op is Op.CALL:
        yield from (f.result for f in facts.solution.functions_of(value) if f.result is not None)
        if value.callee.op is Op.ATTRIBUTE and value.callee.name in PASSING:
            yield value.callee.inputs[0]
    for atom in facts.solution.final(value):
        if isinstance(atom, Container):
            yield from (held for _, held in facts.solution.held.get(atom.allocation, ()))
