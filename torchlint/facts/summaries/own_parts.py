"""What functions keep of the very object that keeps it: another item, another attribute, what a method gives."""

from __future__ import annotations

from torchlint.facts.summaries.summary import CALLED, item_named, method_in
from torchlint.facts.values.evidence import READERS
from torchlint.facts.values.graph import Function, Kind, Op, Store, Value, ValueGraph
from torchlint.facts.values.overriding import is_left_open
from torchlint.facts.values.solve import Solution


def is_same_item(graph: ValueGraph, store: Store, value: Value) -> bool:
    """``totals["loss"]`` of ``totals["loss"] = totals["loss"] + loss``: whether a value is what a store replaces.

    ``totals[name]`` and ``totals.get(name, 0.0)`` as well, where the same ``name`` is written.
    """
    if not store.is_item or not value.inputs:
        return False
    if value.op is Op.CALL:
        callee, asked = value.callee, value.argument(0)
        is_asked = callee.op is Op.ATTRIBUTE and callee.name in READERS and callee.inputs[0] is store.holder
        return is_asked and asked is not None and asked is store.index
    if value.op is not Op.SUBSCRIPT or value.inputs[0] is not store.holder:
        return False
    is_same_name = store.index is not None and store.index in graph.indices.get(value, ())
    return is_same_name or (store.key is not None and value.keys[0] == store.key)


def is_of_other_part(store: Store, of: str) -> bool:
    """Whether what a store puts under a name of what its function is given is made of what that has under another one.

    ``state["total"] += state["loss"]``, ``state.total += state.loss``; what methods make of their own object they say
    by its attributes.
    """
    if store.is_item:
        return isinstance(store.key, str) and of.startswith("[") and of != item_named(store.key)
    is_part = bool(of) and not of.startswith("[") and not of.endswith(CALLED) and of != store.attribute
    return (
        is_part
        and store.holder is not None
        and store.holder not in store.function.parameters[: store.function.owner is not None]
    )


def is_left_to_others(method: Function, of: str) -> bool:
    """``self.rows.append(self.measure(x))``: whether that is of a method which the class leaves to others."""
    name, owner = method_in(of), method.owner
    own = owner.method(name) if name and owner is not None else None
    return bool(name) and owner is not None and (own is None or is_left_open(own))


def is_set_by_hosts(solution: Solution, store: Store, of: str) -> bool:
    """``self.total += self.loss`` of a mixin: whether a store adds an attribute of its object that others set.

    The class and those that it builds on, as far as they are seen, set no such attribute.
    """
    method = store.function
    owner, own = method.owner, method.parameters[:1]
    adds = store.kind is not Kind.ASSIGN or store.added is not None or store.value.op is Op.OPERATION
    if owner is None or not own or not adds or not of.isidentifier() or of == store.attribute:
        return False
    places = solution.places(own[0], of)
    return bool(places) and not any(place in solution.stored or place in solution.evidence for place in places)
