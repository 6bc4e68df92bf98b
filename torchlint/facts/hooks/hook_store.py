"""What forward hooks keep: inputs and outputs of layers that are put aside with the graph which made them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.insertions import is_bounded
from torchlint.facts.autograd.object_parts import kept_arguments
from torchlint.facts.hooks.dropping import is_ever_dropped, is_for_others
from torchlint.facts.hooks.forward_hooks import Hook
from torchlint.facts.hooks.piles import running_in
from torchlint.facts.hooks.summed_items import is_summed
from torchlint.facts.values.domain import Argument, Container, Derived, sorted_values
from torchlint.facts.values.graph import Function, Kind, Mode, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, readers_of, targets_of
from torchlint.facts.values.library_calls import read_from
from torchlint.facts.values.reaching import ends, reached
from torchlint.facts.values.writing import Use, operands, parts, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


ALIASES = (Op.SUBSCRIPT, Op.ATTRIBUTE, Op.ELEMENT)
"""How a variable comes to be another name of what is kept elsewhere."""


@dataclass(frozen=True)
class HookStore:
    """An input or output that a forward hook keeps with its graph.

    Attributes:
        hook: who keeps it.
        store: where it is kept.
        name: how the program names the holder.
        parts: what is kept, as it is written there.
        grows: True when each forward adds one more; False when the next forward overwrites it.
        forward: a call that runs the hook with gradients on; None when the file shows no forward at all.
        seen_at: that call, or the one of this file by which another file comes to make it.
        spent: True when a backward runs over the graph of each such forward.
        surely_tensor: True when each part is a tensor for certain; None when one is the tuple of all inputs.
    """

    hook: Hook
    store: Store
    name: str
    parts: tuple[Use, ...]
    grows: bool
    forward: Value | None
    seen_at: Value | None
    spent: bool
    surely_tensor: bool | None


def hook_stores(facts: Facts) -> list[HookStore]:
    """Every place at which a forward hook keeps a graph that no backward wants, each once."""
    search = Search(facts)
    found: dict[cst.CSTNode, HookStore] = {}
    handles = facts.hook_lifetimes.handles
    for hook in search.hooks.found:
        if handles.goes_with_first_run(hook.registration, hook.function):
            continue
        for store in facts.graph.stores:
            if store.statement not in found and (kept := search.kept(hook, store)) is not None:
                found[store.statement] = kept
    return list(found.values())


class Search:
    """One file's search."""

    def __init__(self, facts: Facts) -> None:
        """Ask ``facts`` for the hooks."""
        self.facts = facts
        self.solution, self.flows, self.lifetimes = facts.solution, facts.flows, facts.lifetimes
        self.hooks = facts.hooks
        hooks = {hook.function for hook in self.hooks.found}
        called = {f for f in facts.graph.functions if self.solution.callers_above([f]) & hooks}
        self._functions = hooks | called

    @cached_property
    def _choosing(self) -> frozenset[Function]:
        """Functions that ask whether gradients are on, or the module trains: they may keep nothing when it matters."""
        asks = (
            value.function
            for value in self.facts.graph.values
            if (value.op is Op.ATTRIBUTE and value.name == "training")
            or (value.op is Op.EXTERNAL and value.name == "torch.is_grad_enabled")
        )
        return frozenset(asks)

    def kept(self, hook: Hook, store: Store) -> HookStore | None:
        """What ``hook`` keeps by ``store``, or None when that is no loss."""
        may_keep = store.function in self._functions and (
            store.function not in self._choosing or store in self.facts.graph.training
        )
        uses = self._brought(hook, store, hook.tensors) if may_keep else []
        homes = self._homes(hook, store) if uses else []
        if not homes or self.is_wanted(self._held(store, homes), homes):
            return None
        grows = self._grows(store, homes)
        lasting: list[Value] = []
        if forwards := self.hooks.forwards(hook):
            lasting = [call for call in forwards if self._lasts(hook, store, homes, call)]
            if not lasting or self.is_dropped_by_hooks(homes, store) or self._may_be_trained_on(store, homes, lasting):
                return None
            if self._is_taken_in_backward(store, homes) and all(map(self.flows.is_spent, lasting)):
                return None
            if not grows and self._is_taken_unseen(homes):
                return None
        elif not grows:
            if not self._is_for_backward(store):
                return None
        elif (
            store.function is not hook.function
            or is_ever_dropped(self.facts, [*homes, *self._innermost(store)])
            or self._leaves(store, homes)
            or is_for_others(self.facts, homes)
        ):
            return None
        name = text_of(store.target, store.holder or store.value)
        spent = bool(lasting) and all(map(self.flows.is_spent, lasting))
        forward = lasting[0] if lasting else None
        seen_at = self.hooks.seen_at(forward) if forward is not None else None
        return HookStore(hook, store, name, tuple(uses), grows, forward, seen_at, spent, self._are_tensors(hook, uses))

    def _is_taken_unseen(self, homes: list[Place | Value]) -> bool:
        """Whether a method that no call of the file names reads the holder and empties it: a callback, in each step."""
        taking = {value.function for value in readers_of(self.solution, homes)} & self.lifetimes.resetters(homes)
        return any(not self.solution.callers.get(one) for one in taking if one.name != "__init__")

    def _is_for_backward(self, store: Store) -> bool:
        """Whether hooks of the backward alone read the attribute that a hook sets: they run, and want its numbers.

        A backward that keeps its graph may be one that is differentiated again, with what its hooks compute.
        """
        readers = self._readers.get(store.attribute, ())
        if not readers or any(backward.retains for backward in self.facts.graph.backwards):
            return False
        stores = (one for one in self.facts.graph.stores if one.attribute == store.attribute)
        is_set_elsewhere = any(one.function is not store.function for one in stores)
        return not is_set_elsewhere and running_in(self.facts, self.facts.hooks.of_backwards).issuperset(readers)

    @cached_property
    def _readers(self) -> dict[str, set[Function]]:
        """For each attribute the functions that read it."""
        table: dict[str, set[Function]] = defaultdict(set)
        for value in self.facts.graph.of(Op.ATTRIBUTE):
            table[value.name].add(value.function)
        return table

    def _lasts(self, hook: Hook, store: Store, homes: list[Place | Value], forward: Value) -> bool:
        """Whether what one forward brings has a graph and is still there after its step."""
        if not self.hooks.records(forward) or not self.lifetimes.outlives(homes, forward.function, forward.loop):
            return False
        with_graph = self.hooks.with_graph(hook, forward)
        return with_graph == hook.tensors or bool(self._brought(hook, store, with_graph))

    # -- what is kept ---------------------------------------------------------------------------------------------

    def _brought(self, hook: Hook, store: Store, tensors: tuple[Value, ...]) -> list[Use]:
        """What ``store`` keeps of ``tensors``, which the hook is given, with their graph."""
        if store.kind is Kind.UPDATE:
            return [use for use in operands(store.value)[1:] if self._is_given(use.value, tensors, set())]
        wanted = self._parts(store.value, tensors)
        if wanted != [store.value] or store.kind is Kind.INSERT or not self._updates_itself(store):
            return parts(store.value, store.syntax, wanted) if wanted else []
        targets = targets_of(self.solution, store)
        added = [
            use
            for use in operands(store.value)
            if self._is_given(use.value, tensors, set())
            and not any(place in targets for place in self.solution.read_from(use.value))
        ]
        return added or parts(store.value, store.syntax, wanted)

    def _updates_itself(self, store: Store) -> bool:
        """``self.total = self.total + out``: the holder's old content is part of the new."""
        targets = targets_of(self.solution, store)
        return any(place in targets for v in store.value.computed_from() for place in self.solution.read_from(v))

    def _parts(self, value: Value, tensors: tuple[Value, ...]) -> list[Value]:
        """What of ``tensors`` is in ``value``: itself, or items of containers and objects that are made there."""
        found = reached([value], lambda one: () if self._is_given(one, tensors, set()) else [*self._items(one)][::-1])
        return [one for one in found if self._is_given(one, tensors, set())]

    def _items(self, value: Value) -> Iterator[Value]:
        """What a literal, or the object that a CALL makes, is given, or has set on it."""
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Container) and atom.allocation.op is Op.CONTAINER:
                yield from atom.allocation.inputs
        yield from kept_arguments(self.facts, value)
        for store in self.facts.graph.stores if value.op is Op.CALL else ():
            if store.kind is Kind.ASSIGN and store.holder is value and store.attribute:
                yield store.value

    def _is_given(self, value: Value, tensors: tuple[Value, ...], seen: set[Value]) -> bool:
        """Whether ``value`` is an input or output of the hooked module, or computed from one with gradients on."""
        if value in seen:
            return False
        seen.add(value)
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Argument | Derived):
                inherits = atom.inherits if isinstance(atom, Derived) else None
                if inherits is not None and Mode.ON not in self.facts.modes.entry(inherits):
                    continue
                if atom.parameter in tensors:
                    return True
                if any(self._is_given(given, tensors, seen) for given in self.solution.arguments_of(atom.parameter)):
                    return True
        return False

    def _are_tensors(self, hook: Hook, uses: list[Use]) -> bool | None:
        """Whether what is kept can be detached: it is a tensor for certain; None where it is a tuple."""
        if any(use.value is hook.tensors[0] for use in uses):
            return None
        computed = (Op.CALL, Op.OPERATION)
        return self.hooks.gets_tensors(hook) or all(
            use.value.op in computed and self.flows.surely_tensor(use.value) for use in uses
        )

    # -- how long -------------------------------------------------------------------------------------------------

    def _homes(self, hook: Hook, store: Store) -> list[Place | Value]:
        """Where it is kept beyond the hook's own call; the outermost container for one in a container."""
        if (store.kind is Kind.INSERT or store.is_item) and store.holder is not None:
            homes = [home for root in self._roots(hook, store.holder) for home in homes_of(self.solution, root)[1:]]
        else:
            homes = [] if self._is_of_new_object(store) else targets_of(self.solution, store)
        return [] if all(map(self._is_made_in_hook, homes)) else list(dict.fromkeys(homes))

    def _is_of_new_object(self, store: Store) -> bool:
        """Whether an attribute is set of an object that each forward makes anew: where that is put, it is kept."""
        holder, function = store.holder, store.function
        if holder is None or not store.attribute:
            return False
        is_made = function.name == "__init__" and holder in function.parameters[:1]
        roots = self.facts.identity.roots(holder)
        return is_made or all(root.op is Op.CALL and root.function in self._functions for root in roots)

    def _innermost(self, store: Store) -> list[Place | Value]:
        """The list itself into which something is put, of those that a dictionary has: ``self.outputs[name]``."""
        return homes_of(self.solution, store.holder)[1:] if store.holder is not None else []

    def _roots(self, hook: Hook, holder: Value) -> list[Value]:
        """The containers that hold ``holder``, if it is one in another: ``d[k]``, ``d.setdefault(k, [])``."""
        return list(ends([holder], partial(self._holding, hook)))

    def _holding(self, hook: Hook, value: Value) -> Sequence[Value]:
        handed = self._handed_on(value)
        if value in hook.given:
            return [hook.given[value]]
        if handed or value.op in (Op.PHI, Op.SUBSCRIPT, Op.ELEMENT):
            return handed or value.inputs
        if value.op is Op.READ and value.place is not None:  # `store = self.outputs[name]`, which a closure captures
            stored = [named for one in self.solution.stored.get(value.place, ()) for named in self._named_by(one)]
            return stored if all(one.op in ALIASES for one in stored) else ()
        container = read_from(value)
        return () if container is None else [container]

    def _named_by(self, captured: Value) -> list[Value]:
        """What a captured variable is another name of: of a parameter all that is passed for it, if that is seen."""
        given = self.solution.arguments_of(captured) if captured.op is Op.PARAMETER else []
        return given or [captured]

    def _handed_on(self, value: Value) -> list[Value]:
        """What a hook, or a function that it calls, passes for a parameter of one that it calls."""
        bindings = self.solution.callers.get(value.function, {}) if value.op is Op.PARAMETER else {}
        given = (binding.get(value) for call, binding in bindings.items() if call.function in self._functions)
        return [argument for argument in given if argument is not None]

    def _is_made_in_hook(self, home: Place | Value) -> bool:
        owner = home.owner if isinstance(home, Place) else home.function
        return isinstance(owner, Function) and owner in self._functions

    def _grows(self, store: Store, homes: list[Place | Value]) -> bool:
        """Whether one more is kept with each forward."""
        if store.kind is Kind.UPDATE:
            return True
        if store.kind is Kind.ASSIGN:
            return self._updates_itself(store)
        if any(isinstance(home, Value) and is_bounded(home) for home in homes):
            return False
        if store.is_item:
            changes = store.key is None and store.index is not None and self._changes(store.index)
            return changes or is_summed(self.flows, store)
        items = store.value
        is_dict = items.op is Op.ELEMENT and isinstance(items.inputs[0].syntax, cst.Dict)
        return store.key is None and not is_dict

    def _changes(self, index: Value) -> bool:
        """Whether a key is a count that rises from forward to forward."""
        updated = {
            target
            for store in self.facts.graph.stores
            if store.kind is Kind.UPDATE
            for target in targets_of(self.solution, store)
        }
        return any(
            value.name == "builtins.len" or any(place in updated for place in self.solution.read_from(value))
            for value in index.computed_from()
        )

    def is_dropped_by_hooks(self, homes: list[Place | Value], store: Store | None = None) -> bool:
        """Whether another hook than the one of ``store`` (or this one, now and then) sets the holder anew."""
        resetters = self.lifetimes.resetters(homes) & self._functions
        return bool(resetters - {store.function} if store is not None and store.kind is Kind.ASSIGN else resetters)

    def _is_taken_in_backward(self, store: Store, homes: list[Place | Value]) -> bool:
        """Whether a hook of the backward takes something out of the holder for each that a forward puts there."""
        of_backwards = self.facts.hooks.of_backwards
        return bool(of_backwards) and not running_in(self.facts, of_backwards).isdisjoint(
            self.lifetimes.resetters([*homes, *self._innermost(store)])
        )

    # -- what becomes of it ---------------------------------------------------------------------------------------

    def _held(self, store: Store, homes: list[Place | Value]) -> list[Value]:
        holders = [store.holder] if store.holder is not None and store.kind is Kind.INSERT else []
        return [store.value, *(home for home in homes if isinstance(home, Value)), *holders]

    def is_wanted(self, held: list[Value], homes: list[Place | Value]) -> bool:
        """Whether a backward starts from what is kept, ends in it, or the program looks at its graph."""
        flows = self.flows
        if any(map(flows.is_trained_on, held)) or any(value in flows.wanted for value in held):
            return True
        return any(flows.is_trained_on(one) or one in flows.wanted for one in readers_of(self.solution, homes))

    def _may_be_trained_on(self, store: Store, homes: list[Place | Value], forwards: list[Value]) -> bool:
        """Whether it leaves for code that is not seen before a backward has run over its graph."""
        if all(self.flows.is_spent(call) or self.facts.inferences.is_inference(call) for call in forwards):
            return False
        return self._leaves(store, homes)

    def _leaves(self, store: Store, homes: list[Place | Value]) -> bool:
        held = [store.value, *(home for home in homes if isinstance(home, Value))]
        return any(map(self.flows.may_be_trained_on, held))
