"""What functions write into the objects that they are given: ``state.best = loss``, ``losses["all"].append(loss)``.

A rule asks :mod:`~torchlint.facts.summaries.keeps` what is kept from step to step; this says what the object has
afterwards, whatever becomes of it, so that who reads it does not take what it had before for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torchlint.facts.summaries.parts import Part, PartKind, Shape
from torchlint.facts.summaries.write_summary import MOST_WRITES, Step, WriteSummary
from torchlint.facts.values.graph import Function, Op, Store, Value

FARTHEST = 3
"""So many attributes and items are followed from a parameter to what is written into."""


def writes_of(function: Function, stores: Sequence[Store], shape: Callable[[Value], Shape]) -> tuple[WriteSummary, ...]:
    """What a function writes into the objects that it is given, in the order of the program.

    Args:
        function: any one of the file.
        stores: what it keeps.
        shape: what a value is to other files.

    Returns:
        the first :data:`MOST_WRITES` of its writes. What a method sets of its own object its class says.
    """
    found = dict.fromkeys(write for store in stores for write in _written(function, store, shape))
    return tuple(found)[:MOST_WRITES]


def _written(function: Function, store: Store, shape: Callable[[Value], Shape]) -> Iterator[WriteSummary]:
    led = _path_to(store.holder, function) if store.holder is not None else None
    if led is None or (function.owner is not None and led == (0, ()) and store.attribute):
        return
    written = shape(store.value) if store.added is None else _computed(shape(store.added))
    yield WriteSummary(*led, store.attribute, store.key, store.is_item, written)


def _path_to(holder: Value, function: Function) -> tuple[int, tuple[Step, ...]] | None:
    """The parameter that leads to what is written into, and the steps on the way; None for all else."""
    steps: list[Step] = []
    while holder.op in (Op.ATTRIBUTE, Op.SUBSCRIPT) and len(steps) < FARTHEST:
        steps.append(Step(holder.name, None) if holder.op is Op.ATTRIBUTE else Step("", holder.keys[0]))
        holder = holder.inputs[0]
    if holder not in function.parameters:
        return None
    return function.parameters.index(holder), tuple(reversed(steps))


def _computed(shape: Shape) -> Shape:
    """What comes of adding what has a shape to something else."""
    return tuple(
        Part(PartKind.COMPUTED, part.name, part.position) if part.kind is PartKind.GIVEN else part for part in shape
    )
