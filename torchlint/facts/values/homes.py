"""Where values are kept: the places and containers behind a store or a holder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Container, Instance, sorted_values
from torchlint.facts.values.graph import Class, Kind, Op, Place, Store, Value

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known
    from torchlint.facts.values.solve import Solution


def targets_of(solution: Solution, store: Store) -> list[Place | Value]:
    """The places that a store assigns or updates: a global, a captured variable, an attribute; none for a local one."""
    if store.place is not None:
        return [store.place]
    if store.attribute and store.holder is not None:
        return list(solution.places(store.holder, store.attribute))
    return []


def readers_of(solution: Known, homes: Iterable[Place | Value]) -> list[Value]:
    """What reads any of the places among ``homes``, each once, in the order of the program."""
    found = {value for home in homes if isinstance(home, Place) for value in solution.readers.get(home, ())}
    return sorted(found, key=lambda value: value.index)


def stored_at(solution: Known, value: Value) -> list[Value]:
    """What the program stores anywhere at the places that a value is read from; empty for what is not read."""
    return [stored for place in solution.read_from(value) for stored in solution.stored.get(place, ())]


def homes_of(solution: Solution, holder: Value) -> list[Place | Value]:
    """All that a holder stands for: itself, the places it is read from, the containers it may be."""
    containers = allocations_of(solution, holder)
    own = (solution.place_of_items(atom) for atom in sorted_values(solution.final(holder)))
    return [holder, *solution.read_from(holder), *(place for place in own if place is not None), *containers]


def is_data_of_tensor(solution: Solution, value: Value) -> bool:
    """``x.data``, the numbers without a graph, and not ``self.data`` of an object that keeps something by that name."""
    if value.op is not Op.ATTRIBUTE or value.name != "data":
        return False
    return not solution.may_be(value.inputs[0], Instance)


def allocations_of(solution: Known, value: Value) -> list[Value]:
    """The containers that ``value`` may be, each by the value that made it."""
    atoms = sorted_values(solution.final(value))
    own = (made for atom in atoms for made in solution.own_items(atom))
    return [*(a.allocation for a in atoms if isinstance(a, Container)), *own]


def is_handed_to_method(solution: Solution, store: Store) -> bool:
    """``meter.add(loss)`` of a class of the project, which looks like a container's method: its ``add`` says it all.

    So it is where the class says what ``meter += (loss, n)`` does.
    """
    if store.holder is None or solution.may_be(store.holder, Container):
        return False
    if store.call is not None:
        return bool(solution.functions_of(store.call))
    atoms = solution.final(store.holder) if store.kind is Kind.INSERT and not store.is_item else ()
    return any(isinstance(atom, Instance) and _adds(atom.cls) for atom in atoms)


def _adds(cls: Class) -> bool:
    return any(cls.method(name) is not None for name in ("__iadd__", "__add__"))


def is_one_place(holder: Value) -> bool:
    """Whether a holder is the same container each time: ``rows["a"]``, and not ``rows[step]``."""
    while holder.op in (Op.SUBSCRIPT, Op.ELEMENT):
        if holder.keys[0] is None or holder.keys[0] == -1:
            return False
        holder = holder.inputs[0]
    return True
