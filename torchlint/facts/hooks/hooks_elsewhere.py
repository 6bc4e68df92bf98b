"""Forward hooks that are registered here and stand in another file: what they keep is known from their summaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.hooks.forward_hooks import Hook
from torchlint.facts.hooks.hook_store import Search
from torchlint.facts.summaries.summary import KeepSummary
from torchlint.facts.values.graph import Mode, Op, Place, Value
from torchlint.facts.values.homes import homes_of, readers_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class HookElsewhere:
    """A hook of another file that adds its input or output, with the graph, to what it holds.

    Attributes:
        hook: as it is registered here.
        file: the name of that file.
        tensor: what it keeps: the parameter that is given it.
        forward: a call that runs the hook with gradients on; None where only other files of the run train.
        seen_at: that call, or the one of this file by which another file comes to make it.
        spent: True when a backward runs over the graph of each such forward.
    """

    hook: Hook
    file: str
    tensor: Value
    forward: Value | None
    seen_at: Value | None
    spent: bool

    @property
    def grows(self) -> bool:
        """Each forward adds one more; see :class:`HookStore`."""
        return True


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
    file = facts.graph.foreign.files[hook.function]
    if homes and not facts.hooks.forwards(hook):
        kept = _is_left_to_others(facts, hook, keep, homes)
        return HookElsewhere(hook, file, tensor, None, None, spent=False) if kept else None
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
    return HookElsewhere(hook, file, tensor, lasting[0], facts.hooks.seen_at(lasting[0]), spent)


def _is_left_to_others(facts: Facts, hook: Hook, keep: KeepSummary, homes: list[Place | Value]) -> bool:
    """Whether only other files of the run train, and nobody is seen to want what an object of the hook's file keeps.

    No method of it gives that on with its graph, and none empties it of which others speak.
    """
    if keep.into != 0 or hook.function.owner is None or keep.readers or _reads(facts, hook, keep, homes):
        return False
    emptying = {name for place, name in facts.graph.foreign.endings if place in homes and name != "__init__"}
    is_emptied = any(not facts.others_never_mention(name) for name in emptying)
    return not is_emptied and not facts.others_mention(keep.attribute) and facts.others_train()


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


def _reads(facts: Facts, hook: Hook, keep: KeepSummary, homes: list[Place | Value]) -> list[Value]:
    """All that reads what is kept: an attribute, or what a method of the hook's object returns."""
    found = readers_of(facts.solution, homes)
    owner = hook.function.owner_around
    for name in keep.readers if owner is not None else ():
        reader = owner.method(name) if owner is not None else None
        found += facts.solution.callers.get(reader, {}) if reader is not None else ()
    return found
