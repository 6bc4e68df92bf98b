"""Forward hooks that are registered here and stand in another file: what they keep is known from their summaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.hooks.forward_hooks import Hook
from torchlint.facts.hooks.hook_store import Search
from torchlint.facts.summaries.summary import KeepSummary
from torchlint.facts.values.graph import Mode, Op, Place, Value
from torchlint.facts.values.homes import homes_of, places_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class HookElsewhere:
    """A hook of another file that adds its input or output, with the graph, to what it holds.

    Attributes:
        hook: as it is registered here.
        file: the name of that file.
        tensor: what it keeps: the parameter that is given it.
        forward: a call that runs the hook with gradients on.
        seen_at: that call, or the one of this file by which another file comes to make it.
        spent: True when a backward runs over the graph of each such forward.
    """

    hook: Hook
    file: str
    tensor: Value
    forward: Value
    seen_at: Value | None
    spent: bool


def hooks_elsewhere(facts: Facts) -> list[HookElsewhere]:
    """Every hook of another file that keeps a graph more with each forward, once for each call that registers it."""
    foreign, search = facts.graph.foreign, Search(facts)
    found: dict[Value, HookElsewhere] = {}
    for hook in facts.hooks.found:
        for keep in foreign.keeps.get(hook.function, ()):
            if hook.registration not in found and (kept := _kept(facts, search, hook, keep)) is not None:
                found[hook.registration] = kept
    return list(found.values())


def _kept(facts: Facts, search: Search, hook: Hook, keep: KeepSummary) -> HookElsewhere | None:
    tensor = hook.function.parameters[keep.position]
    grows = keep.grows and not keep.bounded and not keep.keyed and not keep.of
    has_graph = not keep.is_computed or Mode(keep.mode) is not Mode.OFF
    homes = list(_homes(facts, hook, keep)) if grows and has_graph and tensor in hook.tensors else []
    lasting = [
        forward
        for forward in (facts.hooks.forwards(hook) if homes else ())
        if facts.hooks.records(forward)
        and tensor in facts.hooks.with_graph(hook, forward)
        and facts.lifetimes.outlives(homes, forward.function, forward.loop)
    ]
    if not lasting or search.is_dropped_by_hooks(homes) or _is_refilled(facts, homes, lasting):
        return None
    read = [*_reads(facts, hook, keep, homes), *(home for home in homes if isinstance(home, Value))]
    spent = all(map(facts.flows.is_spent, lasting))
    is_settled = all(facts.flows.is_spent(call) or facts.inferences.is_inference(call) for call in lasting)
    is_trained = facts.flows.is_trained_on if is_settled else facts.flows.may_be_trained_on
    if search.is_wanted(read, homes) or any(map(is_trained, read)):
        return None
    file, seen_at = facts.graph.foreign.files[hook.function], facts.hooks.seen_at(lasting[0])
    return HookElsewhere(hook, file, tensor, lasting[0], seen_at, spent)


def _is_refilled(facts: Facts, homes: list[Place | Value], forwards: list[Value]) -> bool:
    """Whether an item of what keeps it is made anew in the loop of a forward: ``kept["head"] = []``."""
    loops = {forward.loop for forward in forwards if forward.loop is not None}
    return any(
        store.is_item
        and store.value.op is Op.CONTAINER
        and store.holder is not None
        and store.loop is not None
        and any(home in homes for home in homes_of(facts.solution, store.holder)[1:])
        and any(loop in loops and not facts.skipping.is_skipped(store.value, loop) for loop in store.loop.around())
        for store in facts.graph.stores
    )


def _homes(facts: Facts, hook: Hook, keep: KeepSummary) -> Iterator[Place | Value]:
    """Where it is kept: an attribute of the hook's object, or what ``partial`` gives the hook; no global of its file.

    Who sets such a global anew is not seen.
    """
    function = hook.function
    holder = function.parameters[keep.into] if keep.into >= 0 else None
    given = hook.given.get(holder) if holder is not None else None
    if given is not None:
        yield from facts.solution.places(given, keep.attribute) if keep.attribute else homes_of(facts.solution, given)
    elif keep.into == 0 and function.owner is not None and keep.attribute:
        yield Place(function.owner.root(), keep.attribute)


def _reads(facts: Facts, hook: Hook, keep: KeepSummary, homes: list[Place | Value]) -> Iterator[Value]:
    """All that reads what is kept: an attribute, or what a method of the hook's object returns."""
    for value in facts.graph.values:
        if value.op in (Op.READ, Op.ATTRIBUTE) and any(place in homes for place in places_of(facts.solution, value)):
            yield value
    owner = hook.function.owner_around
    for name in keep.readers if owner is not None else ():
        reader = owner.method(name) if owner is not None else None
        yield from facts.solution.callers.get(reader, {}) if reader is not None else ()
