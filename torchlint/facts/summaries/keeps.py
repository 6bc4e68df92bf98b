"""What functions keep of what they are given: in an attribute, a container or a global, by themselves or by others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.insertions import Insertions
from torchlint.facts.keeping.by_field import ByField
from torchlint.facts.keeping.copies import Copies
from torchlint.facts.keeping.fields_read import FieldsRead
from torchlint.facts.keeping.lookups import Lookups, begins_group
from torchlint.facts.keeping.moved_at_end import MovedAtEnd
from torchlint.facts.keeping.snapshots import is_cut
from torchlint.facts.keeping.stripping import replaced_at_once, stripped
from torchlint.facts.keeping.views import Views
from torchlint.facts.keeping.ways import RESHAPED
from torchlint.facts.summaries.given_parts import GivenParts, parameters_with_captured
from torchlint.facts.summaries.own_parts import is_left_to_others, is_of_other_part, is_same_item, is_set_by_hosts
from torchlint.facts.summaries.reading import Reading
from torchlint.facts.summaries.summary import KeepSummary, ViewSummary, method_in
from torchlint.facts.values.arithmetic import Arithmetic
from torchlint.facts.values.choices import held_in
from torchlint.facts.values.dictionaries import has_items, is_item, is_item_or_default, is_some_item, of_pair
from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.framework_objects import keeps_no_graph
from torchlint.facts.values.graph import Function, Kind, Mode, Op, Place, Store, Value
from torchlint.facts.values.homes import allocations_of, is_handed_to_method, is_one_place, targets_of
from torchlint.facts.values.literals import literal
from torchlint.facts.values.overriding import is_super
from torchlint.facts.values.parameter_lists import lists_parameters
from torchlint.facts.values.parameters import star_of
from torchlint.facts.values.tensors import declares_tensors
from torchlint.facts.values.writing import is_named_by_expression
from torchlint.syntax.tree import branches, dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

_THROUGH = (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE)


class Keeps:
    """What the functions of one file keep, for others to know."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution, self.flows = facts, facts.solution, facts.flows
        self._insertions, self._lookups = Insertions(facts.lifetimes), Lookups(facts)
        self._fields, self._reading = ByField(facts), Reading(facts)
        self._fields_read = FieldsRead(facts, self._fields)
        self._views = Views(facts.solution, facts.steps)
        self._moved = MovedAtEnd(facts)
        self._copies = Copies(facts, sees_callers=False)
        self._arithmetic = Arithmetic(facts.flows)
        self._stores: dict[Function, list[Store]] = defaultdict(list)
        for store in facts.graph.stores:
            self._stores[store.function].append(store)
        self._given = GivenParts(facts)
        self._known: dict[Function, tuple[KeepSummary, ...]] = {}

    def stores_of(self, function: Function) -> Sequence[Store]:
        """What a function itself keeps anywhere, in the order of the program."""
        return self._stores.get(function, ())

    def of(self, function: Function) -> tuple[KeepSummary, ...]:
        """What a function keeps, by itself or by functions of its file."""
        if function not in self._known:
            self._known[function] = ()  # a cycle of calls keeps no more than it does
            found = [keep for store in self._stores[function] for keep in self._kept_by(store)]
            for call in self.facts.steps.calls_in(function):
                for callee in self.solution.functions_of(call):
                    found += self._kept_through(call, callee)
            self._known[function] = tuple(dict.fromkeys(found))
        return self._known[function]

    def _kept_by(self, store: Store) -> Iterator[KeepSummary]:
        """What a store of a function keeps of what the function is given."""
        if is_handed_to_method(self.solution, store):
            return  # `self.meters[name].update(value)`: what that keeps is known by itself
        if store.holder is not None and keeps_no_graph(self.solution, store.holder):
            return  # nor does a metric of torchmetrics
        target = self._target(store)
        if target is None:
            return
        kept = store.added if store.added is not None else store.value
        parameters = parameters_with_captured(store.function)
        given = self._given.whole(kept, store.function)
        before = self._added_to(store) if not _joins_lists(store.value) else []
        if store.value.op is Op.SUBSCRIPT and store.value.inputs[0] in before:
            return  # `self.kept = self.kept[-9:]`: some of what is there
        averages = bool(before)
        if averages and not given and kept.op is Op.OPERATION:  # what `state.total` was before is not known
            given = {key: True for operand in kept.inputs for key in self._given.whole(operand, store.function)}
        if averages and not given:
            given = {(position, ""): True for position in self._averaged_networks(kept, store.function)}
        given = self._given.with_parts(given, kept, store.function)
        views = self._views_of(kept, store.function)
        cut = [position for position in views if (position, "") not in given]  # `hidden[:, 0].detach()`
        copied = self._copied_in(kept, store.function)
        cut += [position for position in copied if (position, "") not in given]
        given |= {(position, ""): True for position in cut}
        given |= {part: True for position in copied for part in self._given.parts_of(position, kept, store.function)}
        if not given:
            return
        into, attribute = target
        grows, is_state = averages or self._grows(store), averages and self._is_state(store, before)
        if not grows and is_named_by_expression(store):
            return  # it is read by a name that is not seen here
        readers = self._readers(store.function, into, attribute)
        under, owner = self._keys_of_cache(store), store.function.owner_around
        is_replaced = bool(store.attribute) and store.attribute in replaced_at_once(self.facts.graph, store.function)
        is_copied, by_field = self._writes_into_tensor(store), self._fields.readers(readers, kept, owner, attribute)
        fields_read = self._fields_read.of(readers, kept, owner, attribute)
        is_named = not averages and _is_named_by(store, "")
        for (position, of), is_computed in given.items():
            is_own_part = (averages and is_of_other_part(store, of)) or is_left_to_others(store.function, of)
            is_own_part = is_own_part or (position == 0 and is_set_by_hosts(self.solution, store, of))
            if position != into or is_own_part:
                merges = has_items(kept, of_all=True) or (store.call is not None and store.call.callee.name == "update")
                merges = merges or (averages and any(map(is_item, kept.computed_from())))
                some_item = is_some_item(kept) or (averages and any(map(is_some_item, self._given.behind(kept))))
                some_item = some_item or has_items(kept, of_all=False)
                mode = Mode.OFF.value if position in cut else store.mode.value
                whole = parameters[position] not in self._stripped and not is_replaced
                shared = whole and parameters[position] in held_in(kept, RESHAPED)
                shared = shared or (whole and bool(method_in(of)) and not is_computed)
                yield KeepSummary(
                    position, into, attribute, grows, is_computed or is_copied, mode, readers, merges, averages,
                    is_state, shared, bounded=self._is_bounded(store), keyed=store.is_item and not averages, of=of,
                    only_if=self._condition(store.syntax or store.statement, store.function),
                    cached_under=under, fields=self._fields.fields(kept, parameters[position]),
                    by_field=by_field, fields_read=fields_read,
                    asked_by=self._lookups.asking(store, owner) if under and owner else (),
                    view=views.get(position) if is_computed else None,
                    moved_at_end=shared and into == 0 and self._moved.is_filled_by(store),
                    given_back=self._moved.given_back_by(store) if shared and into == 0 else (),
                    is_copied=position in copied, own_keys=is_named, some_item=some_item,
                    keyed_by=-1 if averages else self._key_given(store.index, store.function),
                    is_dict=_updates_by(store, parameters[position]), of_tensors=self._is_told_of_tensors(store),
                )  # fmt: skip

    def _is_told_of_tensors(self, store: Store) -> bool:
        """Whether the dictionary into which something is put is said to hold tensors where it is made."""
        made = allocations_of(self.solution, store.holder) if store.is_item and store.holder is not None else ()
        return any(map(declares_tensors, made))

    def _key_given(self, key: Value | None, function: Function) -> int:
        """The parameter that is a key as it is given, ``self.last[name] = value``; -1 for any other one."""
        given, written = parameters_with_captured(function), key.unnarrowed() if key is not None else None
        return given.index(written) if written in given else -1

    def _readers(self, function: Function, into: int, attribute: str) -> tuple[str, ...]:
        """Who may give on what a function has kept; of a parameter that is no own object its owner is not seen."""
        if into > 0:
            return ()
        return (
            self._reading.readers(function, attribute)
            if into == 0
            else self._reading.readers_of_global(function, attribute)
        )

    def _writes_into_tensor(self, store: Store) -> bool:
        """``self.table[rows] = values``: whether the numbers are copied, with their graph where gradients are on."""
        held = self.solution.final(store.holder) if store.is_item and store.holder is not None else ()
        return bool(held) and all(isinstance(atom, Tensor) for atom in held)

    @cached_property
    def _stripped(self) -> frozenset[Value]:
        return stripped(self.facts)

    def _views_of(self, kept: Value, function: Function) -> dict[int, ViewSummary]:
        """The views of parts of parameters that are kept, or are in what is kept, by the position of the parameter."""
        told = (self._views.of_given(one, function) for one in sorted(held_in(kept), key=lambda one: one.index))
        return {view.position: view for view in told if view is not None and view.is_part}

    def _copied_in(self, kept: Value, function: Function) -> list[int]:
        """The parameter of which a copy is kept, as a model is copied."""
        given = parameters_with_captured(function)
        copied = self._copies.copied_in(kept, given)
        return [] if copied is None else [given.index(copied)]

    def _keys_of_cache(self, store: Store) -> tuple[int, ...]:
        """The parameters of which the key is made under which a store adds to a cache; none for any other store."""
        if store.kind is not Kind.INSERT or not store.is_item or store.index is None or store.holder is None:
            return ()
        if begins_group(store.value) or self._lookups.of_store(store) is None:
            return ()
        under, parameters = self._given.parameters_behind(store.index, store.function), store.function.parameters
        # The keys of `**terms` are the names that the program writes: they come again.
        is_spread = any(isinstance(one.syntax, cst.Param) and one.syntax.star for one in parameters)
        return () if is_spread else under

    def _averaged_networks(self, kept: Value, function: Function) -> Iterator[int]:
        """The parameters whose own parameters, with gradients on, go into an average: ``average.update(net)``."""
        if not any(isinstance(atom, Tensor) and atom.history is History.LIVE for atom in self.solution.final(kept)):
            return
        given = parameters_with_captured(function)
        for value in self._given.behind(kept):
            if lists_parameters(value):
                if value.callee.inputs[0] in given:
                    yield given.index(value.callee.inputs[0])

    def _grows(self, store: Store) -> bool:
        """Whether a store adds to what is there: not where it replaces what stood in the same place."""
        if store.kind is Kind.INSERT and store.holder is not None:
            return (store.key is None and not _is_named_by(store, "**")) or not is_one_place(store.holder)
        return store.kind is not Kind.ASSIGN

    def _is_bounded(self, store: Store) -> bool:
        """Whether an old item makes room for what a store adds, whichever of several containers it fills."""
        if store.kind is not Kind.INSERT or store.holder is None:
            return False
        made: list[Value | None] = [*allocations_of(self.solution, store.holder)]
        if store.holder.op is Op.PARAMETER and self._insertions.windows.has([store.holder]):
            return True
        return is_cut(store) or all(self._insertions.is_bounded(store, one) for one in made or [None])

    def _kept_through(self, call: Value, callee: Function) -> Iterator[KeepSummary]:
        """What a function keeps by calling another that keeps."""
        binding = self.solution.callers[callee][call]
        for keep in self.of(callee):
            kept = parameters_with_captured(callee)[keep.position]
            # What is captured is given by no call: it is that of the function around.
            arguments = self.solution.given_by(call, kept) if kept.function is callee else [kept]
            target = self._target_through(keep, call, callee)
            if not arguments or target is None:
                continue
            into, attribute = target
            only_if = self._condition_through(keep, call, callee)
            key = binding.get(parameters_with_captured(callee)[keep.keyed_by]) if keep.keyed_by >= 0 else None
            if only_if is None or (key is not None and isinstance(literal(self.solution, key), int | str)):
                continue  # what has a key that is written out is replaced the next time
            keys = [binding.get(parameters_with_captured(callee)[key]) for key in keep.cached_under]
            under = {
                one for key in keys if key is not None for one in self._given.parameters_behind(key, call.function)
            }
            for argument, (position, of), is_computed in self._given_in(arguments, keep, call.function):
                mode = call.mode.value if keep.mode == "inherited" else keep.mode
                readers = self._readers(call.function, into, attribute)
                computed = is_computed or keep.is_computed
                parameter = parameters_with_captured(call.function)[position]
                is_same = parameter in held_in(argument, RESHAPED)
                view = (
                    keep.view
                    if is_same or not keep.is_shared
                    else self._views_of(argument, call.function).get(position)
                )
                is_copied = position in self._copied_in(argument, call.function)
                merges = keep.merges or (not keep.of and has_items(argument, of_all=True))
                some_item = keep.some_item or is_some_item(argument) or has_items(argument, of_all=False)
                yield replace(keep, position=position, into=into, attribute=attribute, mode=mode,
                              is_shared=keep.is_shared and is_same, view=view, is_dict=keep.is_dict and is_same,
                              is_copied=(keep.is_copied and is_same) or (keep.is_shared and is_copied),
                              is_computed=computed, merges=merges, some_item=some_item,
                              readers=(*keep.readers, *readers) if into else readers,
                              only_if=only_if, of=of or keep.of, fields=(),
                              by_field=(), fields_read=(), given_back=(),
                              keyed_by=self._key_given(key, call.function),
                              cached_under=tuple(sorted(under)))  # fmt: skip

    def _given_in(
        self, arguments: Sequence[Value], keep: KeepSummary, function: Function
    ) -> Iterator[tuple[Value, tuple[int, str], bool]]:
        """What of a function's parameters is in what it hands to another one that keeps it."""
        for argument in arguments:
            given = self._given.whole(argument, function)
            given = given if keep.of else self._given.with_parts(given, argument, function)
            yield from ((argument, key, is_computed) for key, is_computed in given.items())

    def _condition(self, node: cst.CSTNode | None, function: Function) -> int:
        """The parameter by which callers decide on what stands there, ``if update:`` around it; -1 if there is none."""
        names = [parameter.name for parameter in parameters_with_captured(function)]
        around = branches(self.facts.parents, node)
        asked = (dotted(outer.test) for outer, branch in around if branch is outer.body)
        return next((names.index(name) for name in asked if name in names), -1)

    def _condition_through(self, keep: KeepSummary, call: Value, callee: Function) -> int | None:
        """The parameter by which callers decide whether a function keeps by another; None where it says no itself."""
        own = self._condition(call.syntax, call.function)
        flag = parameters_with_captured(callee)[keep.only_if] if keep.only_if >= 0 else None
        told = self.solution.callers[callee][call].get(flag) if flag is not None else None
        if told is None and flag is not None and flag.inputs:
            told = flag.inputs[0]
        if told is not None and literal(self.solution, told) is False:
            return None
        given = parameters_with_captured(call.function)
        return own if own >= 0 or told not in given else given.index(told)

    def _target_through(self, keep: KeepSummary, call: Value, callee: Function) -> tuple[int, str] | None:
        if keep.into < 0:
            return keep.into, keep.attribute
        parameters = parameters_with_captured(callee)
        position = keep.into - (len(parameters) - len(callee.parameters))
        holder = parameters[keep.into] if position < 0 else self.solution.passed(call, callee, position)
        found = self.holder_of(holder, call.function) if holder is not None else None
        if found is None:
            return None
        into, attribute = found
        return into, attribute or keep.attribute

    def _target(self, store: Store) -> tuple[int, str] | None:
        """(the parameter whose object keeps, -1 for a global; the attribute) of a store."""
        if store.place is not None:
            return (-1, store.place.path) if store.place.owner is self.facts.graph.module else None
        if store.holder is None:
            return None
        if store.attribute:
            found = self.holder_of(store.holder, store.function)
            return None if found is None or found[1] else (found[0], store.attribute)
        return self.holder_of(store.holder, store.function)

    def holder_of(self, holder: Value, function: Function) -> tuple[int, str] | None:
        """The parameter (or global) that leads to a holder, and the first attribute on the way."""
        attribute = ""
        while holder.op in _THROUGH or is_item_or_default(holder):
            attribute = holder.name if holder.op is Op.ATTRIBUTE else attribute
            unpacked = of_pair(holder)
            around = holder.inputs[0] if holder.op in _THROUGH else holder.callee.inputs[0]
            holder = around if unpacked is holder else unpacked
        place = holder.place
        if holder.op is Op.READ and place is not None and place.owner is function.parent:
            stored = self.solution.stored.get(place, ())
            holder = stored[0] if len(stored) == 1 else holder
        if is_super(holder) and function.owner is not None:
            holder = function.parameters[0] if function.parameters else holder
        parameters = parameters_with_captured(function)
        if holder in parameters:
            return parameters.index(holder), attribute
        if place is not None and place.owner is self.facts.graph.module:
            return -1, place.path
        return None

    def _added_to(self, store: Store) -> list[Value]:
        """What was kept, as it is read in ``self.sum = self.sum + value``, ``sums[name] = sums[name] + value``."""
        targets = targets_of(self.solution, store)
        if store.is_item and store.holder is not None:
            targets = list(self.solution.read_from(store.holder))
        behind = self._given.behind(store.value)
        return [
            value
            for value in behind
            if is_same_item(self.facts.graph, store, value)
            or any(place in targets for place in self.solution.read_from(value))
        ]

    def _is_state(self, store: Store, before: Sequence[Value]) -> bool:
        """Whether what was kept counts less in what replaces it, or is a buffer: statistics, and not a sum."""
        if any(target in self._buffers for target in targets_of(self.solution, store)):
            return True
        return any(self._arithmetic.trace(store.value, read, {}) for read in before)

    @cached_property
    def _buffers(self) -> frozenset[Place]:
        buffers = self.facts.graph.buffers
        return frozenset(place for holder, name in buffers for place in self.solution.places(holder, name))


def _joins_lists(value: Value) -> bool:
    """``self.kept[-9:] + [model]``: whether what is kept is a list to which another one is added."""
    return value.op is Op.OPERATION and any(operand.op is Op.CONTAINER for operand in value.inputs)


def _updates_by(store: Store, given: Value) -> bool:
    """``rows.update(given)``, where that has been given as it is."""
    if store.call is None or store.call.callee.name != "update" or star_of(given):
        return False
    return tuple(store.call.arguments[:1]) == (given,)


def _is_named_by(store: Store, star: str) -> bool:
    """``for name, value in logs.items(): self.last[name] = value``: whether a store has the keys of a parameter.

    It is one with such a star: of ``**logs`` callers write the names, and again and again the same.
    """
    index = store.index.unnarrowed() if store.is_item and store.index is not None else None
    pair = index.inputs[0] if index is not None and index.op is Op.ELEMENT else None
    over = store.loop.iterable if store.loop is not None else None
    if over is not None and over.op is Op.CALL and over.callee.op is Op.ATTRIBUTE and over.callee.name == "items":
        over = over.callee.inputs[0]
    if pair is None or over is None or over.op is not Op.PARAMETER:
        return False
    return star_of(over) == star and over in pair.computed_from()
