"""Outputs that a pass over data collects: which tensors each turn puts aside, where they are, and what for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.fates import JOINS, VIEWS, End, Fate, Fates
from torchlint.facts.keeping.gathering import Gathering, calls_parameter
from torchlint.facts.keeping.joining import (
    begins_with_numbers,
    is_join,
    is_padding,
    joined_by,
    joins_other_dimension,
    lives_through,
    of_collector,
)
from torchlint.facts.keeping.optional_moves import OptionalMoves
from torchlint.facts.summaries.summary import EffectKind
from torchlint.facts.turns.data_passes import cut_through, is_over_few
from torchlint.facts.turns.repetition import Repetition
from torchlint.facts.values.choices import with_joins
from torchlint.facts.values.domain import Container, External, History, Plain, Tensor
from torchlint.facts.values.extents import Size
from torchlint.facts.values.frameworks import is_forward, is_given_on_device
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import places_of, stored_at
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.residence import Residence, Residences
from torchlint.facts.values.writing import Use, operands, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Collecting(Enum):
    """What is wrong with how a pass collects."""

    UNTIL_HOST = auto()
    """Everything stays on the device until all of it is moved to the host."""
    UNTIL_DROPPED = auto()
    """Everything stays on the device, for callers that are not seen."""
    COPIES = auto()
    """What was collected is copied whole in each turn."""


@dataclass(frozen=True)
class Collection:
    """Something that a pass collects at a cost.

    Attributes:
        way: what is wrong.
        statement: where something is put aside.
        name: how the program names what collects.
        item: what is put aside, as it is written there; what ``extend`` takes it from, row by row.
        made: where the collecting began, if that is seen.
        end: UNTIL_HOST: what moves it.
        repeated_by: what repeats the statement.
        has_graph: True when what is put aside keeps its graph, which costs more and which other rules say.
        by_rows: True for ``extend``, which may be given a list as well as a tensor.
        supposed: True where nobody is seen to call the method again and again.
    """

    way: Collecting
    statement: cst.CSTNode
    name: str
    item: Use
    made: cst.CSTNode | None
    end: Value | None
    repeated_by: Loop | Function
    has_graph: bool
    by_rows: bool = False
    supposed: bool = False


def collections(facts: Facts) -> list[Collection]:
    """Every collection of a file that costs something, at most one for each statement."""
    search = _Search(facts)
    found: dict[cst.CSTNode, Collection] = {}
    for one in (*search.joined_in_turn(), *search.inserted(), *search.comprehended()):
        found.setdefault(one.statement, one)
    return list(found.values())


class _Search:
    """One file's search."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.residences = Residences(facts.flows)
        self.fates = Fates(facts.flows, self.residences)
        self.extents = facts.extents
        self.gathering = Gathering(facts, trusts_parameters=True)
        self.copying = Gathering(facts)
        self.optional = OptionalMoves(facts, self.residences)

    # -- lists that are joined at the end --------------------------------------------------------------------------

    def inserted(self) -> Iterator[Collection]:
        """``outs.append(net(x))`` in a pass."""
        for store in self.facts.graph.stores:
            if store.kind is not Kind.INSERT or store.holder is None:
                continue
            repetition = self.gathering.repetition(self.gathering.position(store))
            if (
                repetition is None
                or self._is_counted_out(repetition.by)
                or (store.is_item and not self.gathering.adds_item(store, repetition.by))
            ):
                continue
            made = self.gathering.allocation(store, repetition)
            if made is None:
                continue
            name = text_of(store.target, store.holder)
            yield from self._kept(store.statement, name, store.value, made, repetition.by, written=_written(store))

    def _is_counted_out(self, by: Loop | Function) -> bool:
        """Whether a few turns are counted out: the words of one sentence, the steps of one sampling."""
        return isinstance(by, Loop) and by.iterable is not None and self.facts.loop_lengths.is_short(by)

    def comprehended(self) -> Iterator[Collection]:
        """``outs = [net(x) for x in loader]``."""
        for value in self.facts.graph.values:
            if value.op is not Op.CONTAINER or not isinstance(value.syntax, cst.ListComp) or value.statement is None:
                continue
            item = value.inputs[0]
            loop = item.loop
            if loop is None or loop is value.loop or not self.gathering.is_pass(loop):
                continue
            name = text_of(value.syntax, value)
            yield from self._kept(value.statement, name, item, value, loop, written=Use(item, value.syntax.elt))

    def _kept(
        self, statement: cst.CSTNode, name: str, item: Value, made: Value, by: Loop | Function, *, written: Use
    ) -> Iterator[Collection]:
        """What becomes of the items of a list."""
        brought = self._brought(item)
        if self.flows.is_trained_on(made) or not self.gathering.is_over_data(by, item):
            return
        ends = self.fates.of(made)
        left = [one for value in brought for one in self.optional.left(value, statement, by)]
        if left:
            way = self._way_where_left(left, ends, by)
        elif any(self._is_cheap(one, by) for one in brought):
            return
        else:
            ways = {self._way(one, ends) for one in brought}
            way = ways.pop() if len(ways) == 1 else None
        is_of_one = self._is_of_forward(made.function) or self._is_in_pieces(by)
        if way is None or (way is Collecting.UNTIL_DROPPED and is_of_one):
            return
        end = next((end.at for end in ends if end.fate is Fate.HOST), None)
        has_graph = self.flows.live(item) is not None
        yield Collection(way, statement, name, written, made.statement, end, by, has_graph, _is_by_rows(written, item))

    def _is_of_forward(self, function: Function) -> bool:
        """Whether a list belongs to a forward, which collects the outputs of its layers and not those of a data set."""
        return any(map(is_forward, {function, *self.solution.callers_above([function])}))

    def _is_in_pieces(self, by: Loop | Function) -> bool:
        """Whether a loop goes through one tensor that lies on the device as a whole, and through no data set."""
        cut = cut_through(by) if isinstance(by, Loop) else None
        return cut is not None and self.residences.of(cut) is Residence.DEVICE

    def _brought(self, item: Value) -> list[Value]:
        """What an item is for the callers of the function that puts it aside: ``store.add(net(x))``.

        Of ``{name: part[keep] for name, part in out.items()}`` it is what each part is.
        """
        return list(ends([item], self._brought_as))

    def _brought_as(self, value: Value) -> Sequence[Value]:
        if value.op is Op.CONTAINER and isinstance(value.syntax, cst.DictComp | cst.ListComp):
            return value.inputs
        return self.solution.arguments_of(value) if value.op is Op.PARAMETER else ()

    def _way(self, item: Value, ends: list[End]) -> Collecting | None:
        """Whether a list of tensors on the device could as well be one on the host."""
        fates = {end.fate for end in ends}
        says_so = any(end.at.callee.name in ("cpu", "to") for end in ends if _is_move(end))
        if fates == {Fate.HOST} and self._may_be_tensor(item, ends):
            certain = says_so or self.residences.of(item) is Residence.DEVICE
            return Collecting.UNTIL_HOST if certain else None
        is_on_device = self.residences.of(item) is Residence.DEVICE
        if fates == {Fate.LEAVES} and is_on_device and self._may_be_output(item, ends):
            return Collecting.UNTIL_DROPPED if _is_returned(ends) else None
        if fates == {Fate.HOST, Fate.LEAVES} and says_so and self.extents.is_output(item):
            kept = _is_returned(ends) and not self.optional.is_moved_somewhere(item)
            return Collecting.UNTIL_DROPPED if kept else None  # on one branch, or its caller gets the whole as well
        return None

    def _way_where_left(self, items: list[Value], ends: list[End], by: Loop | Function) -> Collecting | None:
        """What is wrong where an option leaves outputs on the device, on the way to callers that are not seen."""
        if any(end.fate is Fate.COMPUTED for end in ends) or not _is_returned(ends):
            return None
        on_device = (one for one in items if self.residences.of(one) is Residence.DEVICE and self._is_whole(one, by))
        return Collecting.UNTIL_DROPPED if any(map(self.extents.is_output, on_device)) else None

    def _is_whole(self, item: Value, by: Loop | Function) -> bool:
        return not self._is_cheap(item, by)

    def _may_be_output(self, item: Value, ends: list[End]) -> bool:
        """Whether the items are what a model gives, or what a parameter that is called does, if they are joined."""
        return self.extents.is_output(item) or (calls_parameter(item) and self._is_joined_at_an_end(ends))

    def _may_be_tensor(self, item: Value, ends: list[End]) -> bool:
        """Whether the items are tensors of a batch: outputs, or joined by ``cat``, which takes no single numbers."""
        return self.extents.is_output(item) or self._is_joined_at_an_end(ends)

    def _is_joined_at_an_end(self, ends: list[End]) -> bool:
        return any(self._is_joined(end.at) for end in ends)

    def _is_joined(self, value: Value) -> bool:
        """Whether ``cat`` is on the way to an end."""
        inside = value.computed_from()
        return any(v.op is Op.CALL and v.callee.name in JOINS and "stack" not in v.callee.name for v in inside)

    def _is_cheap(self, item: Value, by: Loop | Function) -> bool:
        """Whether an item is no output of the pass on the device: a number, on the host, a batch."""
        atoms = self.solution.final(item)
        if all(isinstance(atom, Plain | External) for atom in atoms):
            return True
        if any(isinstance(atom, Container) for atom in atoms):
            return True  # records of several things, each of which goes its own way
        if self.residences.of(item) is Residence.HOST or self.extents.of(item) is not Size.WHOLE:
            return True
        return self._is_batch(item, by)

    def _is_batch(self, item: Value, by: Loop | Function) -> bool:
        """Whether an item is what the loop runs over, and nothing that is computed; each row of an output is."""
        while item.op in (Op.SUBSCRIPT, Op.ELEMENT) or (
            item.op is Op.CALL and item.callee.op is Op.ATTRIBUTE and item.callee.name in VIEWS | {"cuda"}
        ):
            if item.op is Op.ELEMENT and item.loop is not None and item.inputs[0] is item.loop.iterable:
                return item.loop is by or not self.extents.is_output(item.inputs[0])
            item = item.inputs[0] if item.op is not Op.CALL else item.callee.inputs[0]
        return item.op in (Op.PARAMETER, Op.CONSTANT) and not is_given_on_device(item)

    # -- what is joined in each turn ------------------------------------------------------------------------------

    def joined_in_turn(self) -> Iterator[Collection]:
        """``acc = torch.cat((acc, out))`` in a pass."""
        for call, items in self._joins():
            olds = [item for item in items if self._is_old_content(item, call)]
            if len(olds) != 1:
                continue
            seen = self.copying.repetition(call)
            repetition = of_collector(self.solution, olds[0], call) if seen is None else seen
            if repetition is None or call.statement is None or not lives_through(olds[0], repetition.by):
                continue
            if is_over_few(repetition.by) and joins_other_dimension(call):
                continue  # the parts of one sample
            news = [item for item in items if item not in olds]
            if not news or all(map(is_padding, news)) or self._is_needed_in_turn(olds[0], call, repetition):
                continue
            if begins_with_numbers(olds[0]) or self._goes_into_next(olds[0], call):
                continue
            for found in self._copied(call, olds[0], news[0], repetition):
                if seen is not None:
                    yield found
                elif found.way is Collecting.UNTIL_HOST:
                    yield replace(found, supposed=True)

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
        if self.flows.is_trained_on(call) or self.extents.of(new) is Size.REDUCED:
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
        name = text_of(written.get(old), old)
        has_graph = self.flows.live(call) is not None or self.flows.live(new) is not None
        yield Collection(way, call.statement, name, Use(new, written.get(new)), None, end, repetition.by, has_graph)

    def _items(self, argument: Value) -> list[Value]:
        return list(argument.inputs) if argument.op is Op.CONTAINER else []

    def _is_old_content(self, item: Value, call: Value) -> bool:
        """Whether an item of a join is what the join of the last turn gave, kept under one name."""
        if item.op is Op.PHI and item in self.solution.loop_variables:
            return call in with_joins(list(item.inputs[1:]))
        kept = stored_at(self.solution, item)
        if item.op is Op.SUBSCRIPT and item.keys[0] is not None:
            holders = [a.allocation for a in self.solution.final(item.inputs[0]) if isinstance(a, Container)]
            kept += [v for made in holders for key, v in self.solution.held.get(made, ()) if key == item.keys[0]]
        return call in with_joins(kept)

    def _is_needed_in_turn(self, old: Value, call: Value, repetition: Repetition) -> bool:
        """Whether each turn reads what was collected so far (decoding), or sets it anew (a window)."""
        by = repetition.by
        same = [old, call]
        places = places_of(self.solution, old)
        if places:
            same += [v for v in self.facts.graph.values if set(places) & set(places_of(self.solution, v))]
            if any(self._resets(store, call, repetition) for place in places for store in self._sets(place)):
                return True
        for value in list(same):
            same += [user for user in value.users if user.op is Op.PHI and user not in same]
        for value in same:
            for user in value.users:
                inside = isinstance(by, Function) or (user.loop is not None and by in user.loop.around())
                if inside and user.function is call.function and not self._only_looks(user, call, same):
                    if not self.facts.skipping.is_skipped(user, by):
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
        branches = self._branches(call.statement)
        return not any(
            branches.get(test, branch) is not branch for test, branch in self._branches(store.statement).items()
        )

    def _branches(self, node: cst.CSTNode | None) -> dict[cst.CSTNode, cst.CSTNode]:
        """The tests around a statement, each with its branch."""
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        while node is not None:
            parent = self.facts.parents.get(node)
            if isinstance(parent, cst.If):
                found[parent] = node
            node = parent
        return found

    def _only_looks(self, user: Value, call: Value, same: list[Value]) -> bool:
        if user.op is Op.PHI or user is call or user in call.arguments or user in same:
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


def _is_by_rows(written: Use, item: Value) -> bool:
    return written.value is not item and item.op is not Op.CONTAINER


def _written(store: Store) -> Use:
    """What is put aside, each part of it, or what its items are taken from: ``out`` of ``rows.extend(out)``."""
    if store.syntax is None and store.call is not None and len(store.call.arguments) == 1:
        call = store.call.syntax
        node = call.args[0].value if isinstance(call, cst.Call) else None
        return Use(store.call.arguments[0], node)
    if store.value.op is Op.CONTAINER and isinstance(store.syntax, cst.DictComp | cst.ListComp):
        written = store.syntax.value if isinstance(store.syntax, cst.DictComp) else store.syntax.elt
        return Use(store.value.inputs[0], written)
    return Use(store.value, store.syntax if isinstance(store.syntax, cst.BaseExpression) else None)


def _is_move(end: End) -> bool:
    return end.fate is Fate.HOST and end.at.op is Op.CALL


def _is_returned(ends: list[End]) -> bool:
    """Whether what is collected is returned to callers that are not seen, and not only given to code that is not."""
    return any(end.fate is Fate.LEAVES and end.at.op is not Op.CALL for end in ends)
