"""Outputs that a pass over data puts aside: which tensors each turn collects, where they are, and what for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.bases import WHOLE
from torchlint.facts.keeping.collected_records import CollectedRecords, Field
from torchlint.facts.keeping.collection import Collecting, Collection
from torchlint.facts.keeping.fates import JOINS, VIEWS, End, Fate, Fates
from torchlint.facts.keeping.gathering import Gathering, calls_parameter
from torchlint.facts.keeping.joined_in_turn import JoinedInTurn
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.keeping.optional_moves import OptionalMoves
from torchlint.facts.keeping.read_one_by_one import ReadOneByOne
from torchlint.facts.turns.data_passes import cut_through, cuts_samples
from torchlint.facts.values.domain import Container, External, Plain
from torchlint.facts.values.extents import Size
from torchlint.facts.values.frameworks import is_forward, is_given_on_device, is_module_class
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Store, Value
from torchlint.facts.values.parameters import star_of
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.residence import Residence, Residences
from torchlint.facts.values.writing import Use, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


_KEPT_TOO_LONG = {Collecting.UNTIL_HOST, Collecting.UNTIL_REDUCED}


def collections(facts: Facts) -> list[Collection]:
    """Every collection of a file that costs something, at most one for each statement."""
    residences = Residences(facts.flows)
    fates = Fates(facts.flows, residences)
    search = _Search(facts, residences, fates)
    found: dict[cst.CSTNode, Collection] = {}
    own = (*JoinedInTurn(facts, residences, fates).found(), *search.inserted(), *search.comprehended())
    for one in (*own, *search.handed_over()):
        found.setdefault(one.statement, one)
    return list(found.values())


class _Search:
    """One file's search for lists that are joined at the end."""

    def __init__(self, facts: Facts, residences: Residences, fates: Fates) -> None:
        self.facts = facts
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.residences, self.fates = residences, fates
        self.extents = facts.extents
        self.gathering = Gathering(facts, residences, trusts_parameters=True)
        self.optional = OptionalMoves(facts, residences)
        self.fields = CollectedRecords(facts, fates)
        self.one_by_one = ReadOneByOne(facts, fates)

    def inserted(self) -> Iterator[Collection]:
        """``outs.append(net(x))`` in a pass."""
        for store in self.facts.graph.stores:
            if store.kind is not Kind.INSERT or store.holder is None or not self.gathering.containers(store.holder):
                continue  # how often it runs takes longest to tell
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
        for value in self.facts.graph.of(Op.CONTAINER):
            if not isinstance(value.syntax, cst.ListComp) or value.statement is None:
                continue
            item = value.inputs[0]
            loop = item.loop
            if loop is None or loop is value.loop or not self.gathering.is_pass(loop):
                continue
            name = text_of(value.syntax, value)
            yield from self._kept(value.statement, name, item, value, loop, written=Use(item, value.syntax.elt))

    def handed_over(self) -> Iterator[Collection]:
        """``log.update(net(x))`` in a pass, of an object of another file that moves all of it to the host at last."""
        for kept in kept_elsewhere(self.facts):
            ends = self._ends_elsewhere(kept) if kept.is_in_container(self.solution) else []
            if not (kept.keep.moved_at_end or ends) or kept.keep.bounded or self._is_read(kept):
                continue
            item, repetition = kept.given.value, self.gathering.repetition(kept.call)
            if repetition is None or self._is_counted_out(repetition.by) or self.flows.live(item) is not None:
                continue
            by, brought = repetition.by, self._brought(item)
            if not self.gathering.is_over_data(by, item) or (isinstance(by, Loop) and cuts_samples(by)):
                continue
            if any(self._is_cheap(one, by) or not self.extents.is_output(one) for one in brought):
                continue
            if kept.outlives(self.facts, self.gathering.is_pass):
                statement, end = self.facts.statement_of(kept.call), next(iter(ends), None)
                yield Collection(Collecting.UNTIL_HOST, statement, kept.name, kept.given, None, end, by, False)

    def _ends_elsewhere(self, kept: KeptElsewhere) -> list[Value]:
        """What moves all that an object of another file keeps to the host, where that gives it back and does not."""
        owner, starts = kept.function.owner, list[Value]()
        if owner is None or kept.keep.moved_at_end:
            return []
        for name, position in kept.keep.given_back:
            method = owner.method(name)
            calls = list(self.solution.callers.get(method, ())) if method is not None else []
            if any(call.function.is_foreign for call in calls):
                return []
            parts = [user for call in calls for user in call.users if user.op in (Op.ELEMENT, Op.SUBSCRIPT)]
            starts += calls if position is None else [part for part in parts if part.keys[0] == position]
        ends = [end for start in starts for end in self.fates.of(start)]
        is_moved = all(end.fate is Fate.HOST and end.at.callee.name in ("cpu", "to") for end in ends)
        return [end.at for end in ends] if is_moved else []

    def _is_read(self, kept: KeptElsewhere) -> bool:
        """Whether this file takes what an object of another one keeps from it, for whatever."""
        return any(value.name == kept.keep.attribute for value in self.facts.graph.of(Op.ATTRIBUTE))

    def _kept(
        self, statement: cst.CSTNode, name: str, item: Value, made: Value, by: Loop | Function, *, written: Use
    ) -> Iterator[Collection]:
        """What becomes of the items of a list."""
        fields = list(self.fields.of(item))
        if fields:
            yield from (
                Collection(way, statement, name, one.written, made.statement, one.ends[0].at, by, False)
                for one in fields
                if (way := self._way_of_field(one, made, by)) is not None
            )
            return
        brought = self._brought(item)
        is_long = self.gathering.is_over_data(by, item) or self.gathering.is_until_enough(by, made)
        if self.flows.is_trained_on(made) or not is_long:
            return
        if isinstance(by, Loop) and (cuts_samples(by) or self._is_recurrent(item, by)):
            return  # the pieces, or the steps, of one sample, as long as that is
        ends = self.fates.of(made)
        if any(_is_of_number(end) and not self._is_joined(end.at) for end in ends):
            return
        left = [one for value in brought for one in self.optional.left(value, statement, by)]
        if left:
            way = self._way_where_left(left, ends, by)
        elif any(self._is_cheap(one, by) for one in brought):
            return
        else:
            ways = {self._way(one, ends, made, by) for one in brought}
            way = ways.pop() if len(ways) == 1 else None
        is_of_one = self._is_of_forward(made.function) or self._is_in_pieces(by)
        if way is None or (way is Collecting.UNTIL_DROPPED and is_of_one):
            return
        fate = Fate.COMPUTED if way is Collecting.UNTIL_REDUCED else Fate.HOST
        end = next((end.at for end in ends if end.fate is fate), None)
        has_graph = self.flows.live(item) is not None
        yield Collection(way, statement, name, written, made.statement, end, by, has_graph, _is_by_rows(written, item))

    def _way_of_field(self, field: Field, made: Value, by: Loop | Function) -> Collecting | None:
        """Whether all that becomes of an output that is put aside in records is to be moved to the host."""
        item, brought = field.written.value, self._brought(field.written.value)
        if self.flows.is_trained_on(made) or self.flows.live(item) is not None:
            return None
        if not self.gathering.is_over_data(by, item) or (isinstance(by, Loop) and cuts_samples(by)):
            return None
        if any(self._is_cheap(one, by) or not self.extents.is_output(one) for one in brought):
            return None
        if any(map(_is_of_number, field.ends)):
            return None
        ways = {self._way(one, field.ends, made, by) for one in brought}
        return ways.pop() if len(ways) == 1 and ways < _KEPT_TOO_LONG else None

    def _is_recurrent(self, item: Value, loop: Loop) -> bool:
        """Whether each turn of a method of a network computes an item from what the turn before has left: a recurrence.

        A pass over a loader may carry a state as well.
        """
        owner = loop.function.owner
        if owner is None or not is_module_class(owner) or loop.iterable is None or self.steps.is_loader(loop.iterable):
            return False
        return not set(loop.phis).isdisjoint(item.computed_from())

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
        brought = list(ends([item], self._brought_as))
        return [one for one in brought if not star_of(one)] or brought  # for `**options` nobody passes anything

    def _brought_as(self, value: Value) -> Sequence[Value]:
        if value.op is Op.CONTAINER and isinstance(value.syntax, cst.DictComp | cst.ListComp):
            return value.inputs
        return self.solution.arguments_of(value) if value.op is Op.PARAMETER else ()

    def _way(self, item: Value, ends: list[End], made: Value, by: Loop | Function) -> Collecting | None:
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
        if is_on_device and self.extents.is_output(item) and self.one_by_one.loop_over(made, ends, by) is not None:
            return Collecting.UNTIL_REDUCED
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

    def _is_yielded_output(self, item: Value) -> bool:
        """``for name, out in predictions(net, loader)``: whether a generator computes what a loop takes from it."""
        is_part = item.op is Op.ELEMENT and item.keys[0] is not None
        turn, key = (item.inputs[0], item.keys[0]) if is_part else (item, WHOLE)
        iterable = turn.inputs[0] if turn.op is Op.ELEMENT and turn.loop is not None else None
        if iterable is None or turn.loop is None or iterable is not turn.loop.iterable:
            return False
        functions = self.gathering.generators(iterable)
        return bool(functions) and all(key in self.gathering.yielded_outputs(one) for one in functions)

    def _is_batch(self, item: Value, by: Loop | Function) -> bool:
        """Whether an item is what the loop runs over, and nothing that is computed; each row of an output is."""
        while item.op in (Op.SUBSCRIPT, Op.ELEMENT) or (
            item.op is Op.CALL and item.callee.op is Op.ATTRIBUTE and item.callee.name in VIEWS | {"cuda"}
        ):
            if self._is_yielded_output(item):
                return False
            if item.op is Op.ELEMENT and item.loop is not None and item.inputs[0] is item.loop.iterable:
                return item.loop is by or not self.extents.is_output(item.inputs[0])
            item = item.inputs[0] if item.op is not Op.CALL else item.callee.inputs[0]
        is_given = item.op in (Op.PARAMETER, Op.CONSTANT) and not is_given_on_device(item)
        return is_given and not self.extents.is_output(item)


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


def _is_of_number(end: End) -> bool:
    """``float(value)``, ``value.item()``: whether an item goes to what only takes a single number."""
    if end.at.op is not Op.CALL:
        return False
    callee = end.at.callee
    return callee.name in ("builtins.float", "builtins.int") or (callee.op is Op.ATTRIBUTE and callee.name == "item")


def _is_returned(ends: list[End]) -> bool:
    """Whether what is collected is returned to callers that are not seen, and not only given to code that is not."""
    return any(end.fate is Fate.LEAVES and end.at.op is not Op.CALL for end in ends)
