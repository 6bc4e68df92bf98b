"""Outputs that a pass joins to those before in each turn: all that was collected so far is copied each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from operator import is_not
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.collection import Collecting, Collection
from torchlint.facts.keeping.fates import Fate, Fates
from torchlint.facts.keeping.gathering import Gathering
from torchlint.facts.keeping.joining import (
    begins_with_numbers,
    brought_beside,
    is_join,
    is_padding,
    joined_by,
    joins_other_dimension,
    lives_through,
    of_collector,
)
from torchlint.facts.keeping.used_alike import used_alike
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.data_passes import counts_through_tensor, is_over_few
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.choices import choices, with_joins
from torchlint.facts.values.domain import Container, History, Plain, Tensor
from torchlint.facts.values.extents import Size
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import readers_of, stored_at
from torchlint.facts.values.parameters import is_own_object
from torchlint.facts.values.residence import Residence, Residences
from torchlint.facts.values.writing import Use, operands, text_of
from torchlint.syntax.conditions import last_of
from torchlint.syntax.tree import branches, dotted, enclosing

if TYPE_CHECKING:
    from torchlint.facts import Facts


class JoinedInTurn:
    """One file's search for them."""

    def __init__(self, facts: Facts, residences: Residences, fates: Fates) -> None:
        """Work on ``facts``; where tensors are, and what becomes of them, is found out for all searches together."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.residences, self.fates = residences, fates
        self.extents = facts.extents
        self.gathering = Gathering(facts)

    def found(self) -> Iterator[Collection]:
        """``acc = torch.cat((acc, out))`` in a pass, or position by position of a sequence."""
        for call, items in self._joins():
            olds = [item for item in items if self._is_old_content(item, call)]
            if len(olds) != 1:
                continue
            news = [item for item in items if item not in olds]
            along = self._along_tensor(call)
            if along is not None and self._collects(call, olds[0], news, along):
                yield from self._copied(call, olds[0], news[0], along)
                continue
            seen = self.gathering.repetition(call)
            repetition = of_collector(self.solution, olds[0], call) if seen is None else seen
            if repetition is None or not self._collects(call, olds[0], news, repetition):
                continue
            if is_over_few(repetition.by) and joins_other_dimension(call):
                continue  # the parts of one sample
            for found in self._copied(call, olds[0], news[0], repetition):
                if seen is not None:
                    yield found
                elif found.way is Collecting.UNTIL_HOST or self._is_filled(olds[0], call.function):
                    yield replace(found, supposed=True)

    def _along_tensor(self, call: Value) -> Repetition | None:
        """The loop around a CALL that goes through a tensor position by position: the steps of a sequence."""
        loop = call.loop
        return Repetition(loop, Turn.OTHER, (call,)) if loop is not None and counts_through_tensor(loop) else None

    def _collects(self, call: Value, old: Value, news: list[Value], repetition: Repetition) -> bool:
        """Whether each turn adds something to what nobody asks for before the loop ends."""
        if call.statement is None or not lives_through(old, repetition.by) or not news or all(map(is_padding, news)):
            return False
        if self._is_needed_in_turn(old, call, repetition) or begins_with_numbers(old) or self._is_list(old, call):
            return False
        if _is_emptied_at_times(old):
            return False
        return not self._goes_into_next(old, call) and not self._is_filled_as_list(old, call)

    def _is_filled(self, old: Value, method: Function) -> bool:
        """Whether a method of a collector is called in a loop that asks nothing of it, here or in another file."""
        return self._is_filled_here(method) or self._is_filled_by_others(old, method)

    def _is_filled_here(self, method: Function) -> bool:
        """Whether steps of this file call the method of objects that are used as those of its class, and no other."""
        for call, others in used_alike(self.facts, method):
            seen = self.gathering.repetition(call)
            if seen is not None and not any(self.gathering.is_within(one.function, one.loop, seen) for one in others):
                return True
        return False

    def _is_filled_by_others(self, old: Value, method: Function) -> bool:
        """Whether another file calls the method of a collector in a loop, and there none that reads what it has."""
        readers = {value.function for value in readers_of(self.solution, self.solution.read_from(old))}
        return self.facts.repeats(method.name, sorted({reader.name for reader in readers if reader is not method}))

    def _joins(self) -> Iterator[tuple[Value, list[Value]]]:
        """Each call that joins tensors, itself or by a function of the project, and what it joins."""
        for call in self.facts.calls():
            if is_join(call):
                yield call, self._items(call.arguments[0])
            for function in self.solution.functions_of(call):
                passed = [self.solution.passed(call, function, i) for i in joined_by(self.facts, function)]
                yield call, [value for value in passed if value is not None]
        for effect in self.facts.effects.of(EffectKind.JOINS):
            yield effect.call, list(effect.given)

    def _copied(self, call: Value, old: Value, new: Value, repetition: Repetition) -> Iterator[Collection]:
        is_term = repetition.turn is not Turn.OTHER and self.flows.is_trained_on(call)
        if is_term or self.extents.of(new) is Size.REDUCED:
            return
        if any(isinstance(a, Tensor) and a.history is History.LEAF for a in self.solution.final(new)):
            return
        ends = self.fates.of(call)
        fates = {end.fate for end in ends}
        on_host = self.residences.of(new) is Residence.HOST
        whole = fates == {Fate.HOST} and not on_host and self.extents.of(new) is Size.WHOLE
        end = next((end.at for end in ends if end.fate is Fate.HOST), None)
        says_so = whole and end is not None and end.callee.name in ("cpu", "to")
        way = Collecting.UNTIL_HOST if says_so else Collecting.COPIES
        assert call.statement is not None
        written = {use.value: use.node for use in operands(call)}
        if is_join(call):
            literal = call.arguments[0].syntax
            elements = literal.elements if isinstance(literal, cst.List | cst.Tuple) else ()
            written = {v: e.value for v, e in zip(call.arguments[0].inputs, elements, strict=False)}
            methods = (item.callee for item in _brought(call))
            written |= {m.inputs[0]: m.syntax.value for m in methods if isinstance(m.syntax, cst.Attribute)}
        name = text_of(written.get(old), old)
        has_graph = self.flows.live(call) is not None or self.flows.live(new) is not None
        yield Collection(way, call.statement, name, Use(new, written.get(new)), None, end, repetition.by, has_graph)

    def _items(self, argument: Value) -> list[Value]:
        return list(map(brought_beside, argument.inputs)) if argument.op is Op.CONTAINER else []

    def _is_old_content(self, item: Value, call: Value) -> bool:
        """Whether an item of a join is what the join of the last turn gave, kept under one name."""
        if item.op is Op.PHI and item in self.solution.loop_variables:
            return call in with_joins(list(item.inputs[1:]))
        if item.op is Op.ATTRIBUTE and is_forward(call.function) and _is_given(item.inputs[0]):
            return False  # the batch of a step, on which each layer goes on
        kept = stored_at(self.solution, item)
        if item.op is Op.SUBSCRIPT and item.keys[0] is not None:
            holders = [a.allocation for a in self.solution.final(item.inputs[0]) if isinstance(a, Container)]
            kept += [v for made in holders for key, v in self.solution.held.get(made, ()) if key == item.keys[0]]
        return call in with_joins(kept)

    def _is_list(self, old: Value, call: Value) -> bool:
        """Whether what is joined to begins as a list, which no join takes: then a helper for both extends it."""
        kept = with_joins([old] if old.op is Op.PHI else stored_at(self.solution, old))
        first = [value for value in kept if value.op is not Op.PHI and value is not call]
        begun = [atom for value in first for atom in self.solution.final(value)]
        return any(isinstance(a, Container) for a in begun) and all(isinstance(a, Container | Plain) for a in begun)

    def _is_filled_as_list(self, old: Value, call: Value) -> bool:
        """Whether the same name is a list on another branch of a test, to which that adds what would be joined here."""
        places = set(self.solution.read_from(old))
        added = (
            store for store in self.facts.graph.stores if store.kind is Kind.INSERT and store.function is call.function
        )
        return any(
            store.holder is not None
            and not places.isdisjoint(self.solution.read_from(store.holder))
            and self._is_on_other_branch(store.statement, call.statement)
            for store in added
        )

    def _is_needed_in_turn(self, old: Value, call: Value, repetition: Repetition) -> bool:
        """Whether each turn reads what was collected so far (decoding), or sets it anew (a window)."""
        by = repetition.by
        # Whatever function the loop calls runs whole in each turn.
        within = by if isinstance(by, Loop) and call.function is by.function else call.function
        same = [old, call]
        places = self.solution.read_from(old)
        if places:
            same += [v for v in self.facts.graph.values if set(places) & set(self.solution.read_from(v))]
            if any(self._resets(store, call, repetition) for place in places for store in self._sets(place)):
                return True
        for value in list(same):
            same += [user for user in value.users if user.op is Op.PHI and user not in same]
        for value in same:
            for user in value.users:
                inside = isinstance(within, Function) or (user.loop is not None and within in user.loop.around())
                if self._is_other_sum(user, call, places):
                    continue
                if inside and user.function is call.function and not self._only_looks(user, call, same):
                    if self._runs_beside(user, call) or not self.facts.skipping.is_skipped(user, within):
                        return True
        return False

    def _goes_into_next(self, old: Value, call: Value) -> bool:
        """``model(**inputs)`` beside ``inputs["ids"] = torch.cat((inputs["ids"], new))``: all of it is the next input.

        A helper may do so for the function in which it is defined.
        """
        if old.op is not Op.SUBSCRIPT or old.keys[0] is None or old.inputs[0].syntax is None:
            return False
        written = self.facts.code(old.inputs[0].syntax)
        calls = [
            c for f in (call.function, call.function.parent) if f is not None for c in self.facts.steps.calls_in(f)
        ]
        given = (argument.syntax for other in calls for argument in other.arguments)
        return any(syntax is not None and self.facts.code(syntax) == written for syntax in given)

    def _resets(self, store: Store, call: Value, repetition: Repetition) -> bool:
        """Whether a store sets anew in each turn what ``call`` joins to; the other branch of a test is the first."""
        if call in with_joins([store.value]) or not self.gathering.is_within(store.function, store.loop, repetition):
            return False
        return not self._is_on_other_branch(store.statement, call.statement)

    def _is_other_sum(self, user: Value, call: Value, places: list[Place]) -> bool:
        """``self.total = self.total + new`` on the other branch of a test, where nothing is joined."""
        if not any(user in self.solution.stored.get(place, ()) for place in places):
            return False
        return self._is_on_other_branch(user.statement, call.statement)

    def _is_on_other_branch(self, one: cst.CSTNode | None, other: cst.CSTNode | None) -> bool:
        """Whether a test decides which of two statements runs."""
        branches = self._branches(other)
        return any(branches.get(test, branch) is not branch for test, branch in self._branches(one).items())

    def _runs_beside(self, user: Value, call: Value) -> bool:
        """Whether something is done under no test but those that decide on a join, on the same branches."""
        tests, others = self._branches(call.statement), self._branches(user.statement)
        return bool(others) and all(tests.get(test) is branch for test, branch in others.items())

    def _branches(self, node: cst.CSTNode | None) -> dict[cst.CSTNode, cst.CSTNode]:
        """The tests that decide on a statement, each with its branch; itself for what follows the first time."""
        found: dict[cst.CSTNode, cst.CSTNode] = {**dict(branches(self.facts.parents, node))}
        for outer, inner in enclosing(self.facts.parents, node):
            if isinstance(outer, cst.IndentedBlock):
                before = takewhile(partial(is_not, inner), outer.body)
                found |= {one: one for one in before if isinstance(one, cst.If) and _begins(one)}
        return found

    def _only_looks(self, user: Value, call: Value, same: list[Value]) -> bool:
        if user.op is Op.PHI or user is call or user in call.arguments or user in same:
            return True
        if any(user in (item, item.callee) for item in _brought(call)):
            return True
        if user.op is Op.ATTRIBUTE:
            return user.name in ("shape", "device", "dtype", "ndim") or user.name in ("size", "numel", "dim")
        if user.op is Op.CALL:
            if user.callee.op is Op.ATTRIBUTE and user.callee.name in ("to", "type_as"):
                return user.callee.inputs[0] not in same  # `x.to(acc)`: only its dtype and device are read
            return user.callee.name in ("builtins.len", "builtins.print", "builtins.isinstance")
        return user.op is Op.COMPARISON and any(other.name == "None" for other in user.inputs)

    def _sets(self, place: Place) -> list[Store]:
        return [s for s in self.facts.graph.stores if s.kind is not Kind.INSERT and place in self._targets(s)]

    def _targets(self, store: Store) -> list[Place]:
        if store.place is not None:
            return [store.place]
        return self.solution.places(store.holder, store.attribute) if store.attribute and store.holder else []


def _brought(call: Value) -> list[Value]:
    """The items of a join that are moved to where another one is."""
    return [item for argument in call.arguments[:1] for item in argument.inputs if brought_beside(item) is not item]


def _is_given(value: Value) -> bool:
    """Whether a function is given an object, be it that something made of it stands in its place."""
    found = choices(value)
    made_of = [choice for one in found if one.op is Op.CALL for given in one.arguments for choice in choices(given)]
    return any(one.op is Op.PARAMETER and not is_own_object(one) for one in (*found, *made_of))


def _begins(test: cst.If) -> bool:
    """Whether a test is for what comes first, and nothing follows it then: ``if self.rows is None: ...; return``."""
    if test.orelse is not None or not isinstance(last_of(test.body), cst.Return | cst.Continue):
        return False
    asked = test.test
    if isinstance(asked, cst.Comparison):
        (target, *more) = asked.comparisons
        return not more and isinstance(target.operator, cst.Is) and dotted(target.comparator) == "None"
    return isinstance(asked, cst.UnaryOperation) and isinstance(asked.operator, cst.Not)


def _is_emptied_at_times(old: Value) -> bool:
    """Whether some of the turns end with nothing in a variable, which is full then: ``if len(rows) == most: ...``."""
    left = old.inputs[1:] if old.op is Op.PHI else ()
    return any(choice.op is Op.CONSTANT and choice.name == "None" for one in left for choice in choices(one))
