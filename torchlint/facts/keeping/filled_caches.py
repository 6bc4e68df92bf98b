"""Functions that fill a cache with what they compute, told for other files: who calls them decides about the keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.keeping.lookups import Lookups, begins_group
from torchlint.facts.keeping.requested import RequestedTexts
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.novelty import behind_content

if TYPE_CHECKING:
    from torchlint.facts import Facts


class FilledCaches:
    """Answers for the functions of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self._lookups, self._texts = Lookups(facts), RequestedTexts(facts)
        self._known: dict[Function, tuple[EffectSummary, ...]] = {}

    def by(self, function: Function) -> tuple[EffectSummary, ...]:
        """What a function, or one of its file that it calls, puts into caches, for each parameter that makes a key."""
        if function not in self._known:
            self._known[function] = ()  # a cycle of calls fills no more than it does
            self._known[function] = tuple(dict.fromkeys((*self._put_in(function), *self._put_through(function))))
        return self._known[function]

    def _put_in(self, function: Function) -> Iterator[EffectSummary]:
        for store in self._insertions.get(function, ()):
            called, given = self._given_function(store.value, function), self._given_callee(store.value, function)
            if store.index is None or store.holder is None or store.index.op is Op.COMPARISON:
                continue  # of the last there are two
            if not (called or given or self._holds_tensors(store.value)):
                continue
            name, positions = _name_of(store.holder, function), _given_in(store.index, function)
            if name and positions and self._lookups.of_store(store) is not None:
                if given:
                    yield EffectSummary(EffectKind.CACHES_OF_GIVEN, name, (*given, *positions))
                    continue
                kind = EffectKind.CACHES_CALLED if called else self._kind(store.value, store.index)
                yield EffectSummary(kind, f"{called}.{name}" if called else name, positions)

    def _given_function(self, value: Value, function: Function) -> str:
        """``self.compute(key)``: the attribute by which a method has what it calls, where its object was given that."""
        callee = value.callee if value.op is Op.CALL else value
        if callee.op is not Op.ATTRIBUTE or callee is value or function.owner is None:
            return ""
        stored = stored_at(self.facts.solution, callee) if callee.inputs[0] in function.parameters[:1] else []
        is_given = bool(stored) and all(one.op is Op.PARAMETER and one.function.name == "__init__" for one in stored)
        return callee.name if is_given and not self._holds_tensors(value) else ""

    def _given_callee(self, value: Value, function: Function) -> tuple[int, ...]:
        """``encoder(text)``: the parameter that a function calls, unless what it is shows what comes of it."""
        is_given = value.op is Op.CALL and value.callee in function.parameters and not self._holds_tensors(value)
        return (function.parameters.index(value.callee),) if is_given else ()

    @cached_property
    def _insertions(self) -> dict[Function, list[Store]]:
        """For each function what it puts under a key."""
        table: dict[Function, list[Store]] = defaultdict(list)
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.is_item:
                table[store.function].append(store)
        return table

    @cached_property
    def _begun(self) -> frozenset[tuple[Function, str]]:
        """The methods, but for initializers, that assign something new to an attribute, with its name."""
        assigned = (store for store in self.facts.graph.stores if store.kind is Kind.ASSIGN and store.attribute)
        return frozenset((one.function, one.attribute) for one in assigned if one.function.name != "__init__")

    def _put_through(self, function: Function) -> Iterator[EffectSummary]:
        for call in self.facts.steps.calls_in(function):
            for callee in self.facts.solution.functions_of(call):
                for done in self.by(callee):
                    if (function, done.name) in self._begun:
                        continue  # it makes room for what it is asked for
                    if done.kind is EffectKind.CACHES_OF_GIVEN:
                        yield from self._put_through_given(call, callee, done)
                        continue
                    keys = [self.facts.solution.passed(call, callee, position) for position in done.of]
                    given = {one for key in keys if key is not None for one in _given_in(key, function)}
                    if given:
                        yield EffectSummary(done.kind, done.name, tuple(sorted(given)))

    def _put_through_given(self, call: Value, callee: Function, done: EffectSummary) -> Iterator[EffectSummary]:
        """``encode(self.encoder, text)`` of a function that calls what it is given first."""
        given = [self.facts.solution.passed(call, callee, position) for position in done.of]
        keys = {one for key in given[1:] if key is not None for one in _given_in(key, call.function)}
        if keys and given[0] in call.function.parameters:
            first = call.function.parameters.index(given[0])
            yield EffectSummary(done.kind, done.name, (first, *sorted(keys)))

    def _kind(self, value: Value, key: Value) -> EffectKind:
        if not self.facts.extents.is_output(value):
            return EffectKind.CACHES
        return EffectKind.CACHES_BY_TEXT if self._texts.is_read(key) else EffectKind.CACHES_OUTPUTS

    def _holds_tensors(self, value: Value) -> bool:
        return not begins_group(value) and (self.facts.tensors.holds_tensors(value) or self._texts.is_encoded(value))


def _name_of(holder: Value, function: Function) -> str:
    """The attribute of its object, or the global, in which a function has a dictionary; "" for any other."""
    if holder.op is Op.ATTRIBUTE and function.owner is not None and function.parameters:
        return holder.name if holder.inputs[0] is function.parameters[0] else ""
    place = holder.place
    return place.path if place is not None and isinstance(place.owner, Function) and place.owner.parent is None else ""


def _given_in(value: Value, function: Function) -> tuple[int, ...]:
    """The parameters of a function, by position and without its own object, whose content goes into a value."""
    sources = set(behind_content(value))
    start = 1 if function.owner is not None else 0
    return tuple(i for i, parameter in enumerate(function.parameters) if i >= start and parameter in sources)
