"""What takes from an object what it was given, or from an exception the frames that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.keeping.holders import is_none
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.values.graph import ValueGraph

TRACEBACK = "__traceback__"


def stripped(facts: Facts) -> frozenset[Value]:
    """The values of a file that are exceptions whose frames some statement drops or clears, wherever that stands."""
    named = list(_named(facts))
    return frozenset([*named, *(stored for value in named for stored in stored_at(facts.solution, value))])


def _named(facts: Facts) -> Iterator[Value]:
    """The exceptions as those statements name them: ``error.__traceback__ = None``, ``clear_frames(...)``."""
    for store in facts.graph.stores:
        if store.attribute == TRACEBACK and store.holder is not None:
            yield store.holder
    for call in facts.calls():
        if (
            call.callee.op is Op.ATTRIBUTE
            and call.callee.name == "with_traceback"
            and any(map(is_none, call.arguments))
        ):
            yield call.callee.inputs[0]
        elif call.callee.name == "traceback.clear_frames":
            yield from (one.inputs[0] for one in call.arguments if one.op is Op.ATTRIBUTE and one.name == TRACEBACK)


def replaced_at_once(graph: ValueGraph, initializer: Function) -> set[str]:
    """The attributes which the ``__post_init__`` of a data class sets to something else than it was given."""
    owner = initializer.owner
    if initializer.name != "__init__" or owner is None or "__post_init__" not in owner.methods:
        return set()
    after = (store for store in graph.stores if store.function.name == "__post_init__" and store.attribute)
    return {store.attribute for store in after if store.function.owner is owner}
