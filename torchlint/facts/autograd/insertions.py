"""Insertions: values that are put into a container which outlives the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.drained import Yielded, drained, yielded
from torchlint.facts.autograd.filled_objects import FilledObjects
from torchlint.facts.autograd.replaced_items import ReplacedItems
from torchlint.facts.turns.counts import is_new_each_turn
from torchlint.facts.turns.lifetimes import HOPS, Lifetimes
from torchlint.facts.turns.queues import is_handed_over
from torchlint.facts.turns.rounds import is_left_over
from torchlint.facts.turns.windows import Windows
from torchlint.facts.values.collecting import COLLECTING
from torchlint.facts.values.dictionaries import begins_part, is_setdefault
from torchlint.facts.values.domain import Container, Tensor
from torchlint.facts.values.draws import is_drawn
from torchlint.facts.values.events import counts_events, is_told_once
from torchlint.facts.values.externals import QUEUES
from torchlint.facts.values.framework_objects import keeps_no_graph
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import (
    allocations_of,
    homes_of,
    is_data_of_tensor,
    is_handed_to_method,
    targets_of,
)
from torchlint.facts.values.indices import is_of_last, told_by
from torchlint.facts.values.novelty import CLOCKS
from torchlint.facts.values.writing import Use, text_of
from torchlint.facts.values.writing import parts as uses_of
from torchlint.frameworks import Holds, rows_holding


@dataclass(frozen=True)
class Insertion:
    """A value that is put into a container which outlives the step.

    Attributes:
        statement: where it is put in.
        holder: the container.
        parts: the live tensors (or what else was asked for) that go in, as they are written there.
        name: how the program names the container.
        allocation: where the container was made, if that is seen.
        bounded: True for a ``deque(maxlen=...)``, and for a list whose places are filled round and round.
    """

    statement: cst.CSTNode
    holder: Value
    parts: tuple[Use, ...]
    name: str
    allocation: Value | None
    bounded: bool

    def values(self) -> list[Value]:
        """The live tensors of ``parts``."""
        return [use.value for use in self.parts]


class Insertions:
    """Finds the insertions of a file."""

    def __init__(self, lifetimes: Lifetimes, is_step: Callable[[Loop], bool] | None = None) -> None:
        """Ask ``lifetimes`` how long containers live, and ``is_step`` which loops count as steps if it is given."""
        self.is_step = is_step
        self.lifetimes = lifetimes
        self.solution = lifetimes.solution
        self.flows = lifetimes.flows
        self.steps = lifetimes.steps
        self.windows = Windows(lifetimes.solution)
        self.replaced = ReplacedItems(lifetimes.solution)
        self.filled = FilledObjects(lifetimes.flows)

    def found(self) -> list[Insertion]:
        """Every insertion of a live tensor into a container that outlives a step."""
        found = list(self._of_stores())
        told = {insertion.statement for insertion in found}
        for store in self.solution.graph.stores:
            found += self._of_extension(store) if store.statement not in told else ()
        made = self.solution.graph.of(Op.CONTAINER)
        found += [i for container in made if (i := self._of_comprehension(container)) is not None]
        found += [i for call, one in drained(self.steps, COLLECTING) if (i := self._of_iterator(call, one)) is not None]
        return found

    def _of_stores(self) -> Iterator[Insertion]:
        """What is put into containers; of an empty part that is, only where what comes into that is not told."""
        each = ((store, self._of_store(store)) for store in self.solution.graph.stores)
        found = [(store, one) for store, one in each if one is not None]
        filled = [store.holder for store, _ in found if not begins_part(store) and store.holder is not None]
        told = {made for holder in filled for made in allocations_of(self.solution, holder)}
        yield from (one for store, one in found if not (begins_part(store) and store.value in told))

    def homes_beyond_step(self, store: Store) -> list[Place | Value]:
        """Where the container is kept into which ``store`` puts something; nothing if it does not outlive a step."""
        if store.kind is not Kind.INSERT or store.holder is None:
            return []
        overwrites = self._overwrites(store) and not self._is_of_new_part(store.holder, store.loop)
        if overwrites and not self._is_made_anew(store.holder):
            return []
        if keeps_no_graph(self.solution, store.holder) or is_data_of_tensor(self.solution, store.holder):
            return []
        if is_handed_to_method(self.solution, store) or self._is_worked_on(store) or self.windows.cuts(store):
            return []
        homes = self._homes_of_root(store.holder)
        if not homes or self._is_of_replaced_object(store) or is_handed_over(self.lifetimes, homes):
            return []
        if overwrites:
            return homes if self._is_handed_on(homes) else []
        # What gives up its oldest keeps the others.
        is_window = self.windows.has(homes)
        outlives = self.lifetimes.outlives(homes, store.function, store.loop, is_step=self.is_step, wholly=is_window)
        if outlives or is_left_over(self.lifetimes, store, homes) or self._is_handed_on(homes):
            return homes
        return []

    def _is_of_new_part(self, holder: Value, loop: Loop | None) -> bool:
        """``rows.setdefault(epoch, {})[name] = x``: whether what takes it is a part that each turn begins."""
        keys = holder.arguments[:1] if is_setdefault(holder) else self.solution.graph.indices.get(holder, ())
        return len(keys) == 1 and self._changes(keys[0], loop)

    def _is_made_anew(self, holder: Value) -> bool:
        """Whether an attribute gets another container as the program goes on: ``self.row = {}``."""
        return holder.op is Op.ATTRIBUTE and any(one.value.op is Op.CONTAINER for one in self._later(holder))

    def _is_handed_on(self, homes: list[Place | Value]) -> bool:
        """Whether a container that is set anew goes into one that outlives the step: ``rows.append(self.row)``."""
        around = self.lifetimes.homes_around(homes)
        if not around or self.windows.has(around) or any(is_bounded(one) for one in around if isinstance(one, Value)):
            return False
        filling = [
            store
            for store in self.solution.graph.stores
            if store.kind is Kind.INSERT and store.holder is not None and not self._overwrites(store)
            and not self.flows.live_parts(store.value)  # or else what goes in is told there
            and not set(homes_of(self.solution, store.holder)).isdisjoint(around)
        ]  # fmt: skip
        return any(self.lifetimes.outlives(around, one.function, one.loop, is_step=self.is_step) for one in filling)

    def _is_of_replaced_object(self, store: Store) -> bool:
        """``agent.walk.rows.append(x)``, where ``agent.walk`` is another object in each step, and its rows with it."""
        holder = store.holder
        if holder is None or holder.op is not Op.ATTRIBUTE:
            return False
        places: list[Place | Value] = [*self.solution.read_from(holder.inputs[0])]
        return bool(places) and not self.lifetimes.outlives(places, store.function, store.loop, is_step=self.is_step)

    def _of_store(self, store: Store) -> Insertion | None:
        if store.kind is not Kind.INSERT or self.flows.is_gathered(store.value):
            return None  # a named argument is told where it is handed over
        if may_be_module(self.solution, store.value):
            return None  # a list of layers, or what may be one
        if self._is_told_to_an_item(store):
            return None
        live = self.flows.live_parts(store.value) or self.filled.parts(store)
        parts = self.replaced.left(live, store)
        return self.of_store(store, parts) if parts else None

    def _is_told_to_an_item(self, store: Store) -> bool:
        """``meter.update(loss)`` of each item of a list: a dictionary is not updated by a tensor, nor is that list."""
        is_update = store.call is not None and store.call.callee.name == "update" and store.value.op is Op.ELEMENT
        if not is_update or store.holder is None or store.holder.unnarrowed().op is not Op.ELEMENT:
            return False
        if self.solution.may_be(store.holder, Container):
            return False
        return self.flows.live(store.value.inputs[0]) is not None

    def of_store(self, store: Store, parts: list[Value]) -> Insertion | None:
        """What ``store`` puts into a container that outlives a step; ``parts`` of it are what matters."""
        return self._insertion(store, parts, self.homes_beyond_step(store))

    def of_unseen_callers(self, store: Store, parts: list[Value]) -> Insertion | None:
        """What ``store`` adds to an attribute of the object, in a method that is called who knows how often."""
        owner, holder = store.function.owner, store.holder
        if owner is None or holder is None or not may_come_again(store.function):
            return None
        if store.is_item and not (store.index is not None and self._is_told_counter(store.index)):
            return None
        callers = self.solution.callers.get(store.function, ())
        if not all(map(self._is_of_lasting_part, callers)) or is_handed_to_method(self.solution, store):
            return None
        homes = self._homes_of_root(holder)
        is_own = any(isinstance(home, Place) and home.owner is owner.root() for home in homes)
        resets = (reset for reset in self.solution.graph.resets if not is_told_once(reset.function))
        emptied = {home for reset in resets for home in homes_of(self.solution, reset.holder)}
        return self._insertion(store, parts, homes) if is_own and emptied.isdisjoint(homes) else None

    def _is_of_lasting_part(self, call: Value) -> bool:
        """``self.history.add(x)`` in a method that nobody is seen to call, on what ``__init__`` alone makes."""
        method, receiver = call.function, call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
        owner = method.owner if not self.solution.callers.get(method) else None
        if receiver is None or owner is None or not may_come_again(method):
            return False
        is_own = any(place.owner is owner.root() for place in self.solution.read_from(receiver))
        return is_own and not self._later(receiver)

    def _insertion(self, store: Store, parts: list[Value], homes: list[Place | Value]) -> Insertion | None:
        if not homes or store.holder is None:
            return None
        made = [home for home in homes if isinstance(home, Value)]
        # ``rows.setdefault(name, []).append(x)``: the list is the one of this line, whatever others the table has.
        allocation = next((one for one in made if one.statement is store.statement), made[0] if made else None)
        return Insertion(
            store.statement,
            store.holder,
            tuple(uses_of(store.value, store.syntax, parts)),
            text_of(store.target, store.holder),
            allocation,
            bounded=self.is_bounded(store, allocation) or self.windows.has(homes),
        )

    def _of_comprehension(self, value: Value) -> Insertion | None:
        """``[step(x) for x in loader]``: the list outlives the loop in it."""
        if not isinstance(value.syntax, cst.ListComp | cst.SetComp | cst.DictComp):
            return None
        item = value.inputs[0]
        parts = self.flows.live_parts(item)
        loop = item.loop if item.loop is not value.loop else None
        if not parts or loop is None or not self.steps.is_step(loop):
            return None
        written = value.syntax.value if isinstance(value.syntax, cst.DictComp) else value.syntax.elt
        name = text_of(value.syntax, value)
        statement = value.statement or value.syntax
        return Insertion(statement, value, tuple(uses_of(item, written, parts)), name, value, False)

    def _of_iterator(self, call: Value, one: Yielded) -> Insertion | None:
        """``list(train(net, loader))``: the list outlives the loop in whose turns its items are yielded."""
        return self._collected(call, uses_of(one.item, one.written, self.flows.live_parts(one.item)))

    def of_generator(self, call: Value, parts: list[Value]) -> Insertion | None:
        """What a CALL makes of a generator; ``parts`` of what that yields are what matters."""
        return self._collected(call, [Use(part, None) for part in parts])  # they are written where the generator stands

    def _collected(self, call: Value, uses: Sequence[Use]) -> Insertion | None:
        if not uses or call.statement is None:
            return None
        return Insertion(call.statement, call, tuple(uses), text_of(call.syntax, call), call, is_bounded(call))

    def is_yielded_in_step(self, item: Value) -> bool:
        """Whether a generator yields a value in the turns of a loop of steps."""
        is_step = self.is_step or self.steps.is_step
        return any(map(is_step, item.loop.around())) if item.loop is not None else False

    def _of_extension(self, store: Store) -> list[Insertion]:
        """``losses.extend(steps(net, loader))``: so does a list that is there before."""
        if store.kind is not Kind.INSERT or store.value.op is not Op.ELEMENT or store.holder is None:
            return []
        made, name = allocations_of(self.solution, store.holder), text_of(store.target, store.holder)
        found = []
        for one in yielded(self.steps, store.value.inputs[0]) if len(made) == 1 else ():
            uses = tuple(uses_of(one.item, one.written, self.flows.live_parts(one.item)))
            if uses:
                found.append(Insertion(store.statement, store.holder, uses, name, made[0], is_bounded(made[0])))
        return found

    def _is_worked_on(self, store: Store) -> bool:
        """``mesh.rows["x"][i] = x`` where code that is not seen computes with the mesh next: ``edges = dual(mesh)``.

        Then an object that the function makes is what the loop computes on, and no record of it.
        """
        holder = store.holder
        if holder is None or not store.is_item or store.loop is None:
            return False
        behind = list[Value]()
        while holder.op in (Op.SUBSCRIPT, Op.ATTRIBUTE):
            holder = holder.inputs[0]
            behind.append(holder)
        if holder.op is not Op.CALL or holder.function is not store.function:
            return False
        return any(
            call.op is Op.CALL and not call.is_bare and call.loop is not None and store.loop in call.loop.around()
            and self.flows.is_unknown_call(call)
            for part in behind for call in part.users if part in call.arguments
        )  # fmt: skip

    def _homes_of_root(self, holder: Value) -> list[Place | Value]:
        """Where the container behind ``holder`` is kept; that of the outer one for a container in a container."""
        while True:
            homes = homes_of(self.solution, holder)[1:]
            if homes:
                return homes
            if holder.op in (Op.SUBSCRIPT, Op.ELEMENT):
                holder = holder.inputs[0]
            elif (
                holder.op is Op.CALL
                and holder.callee.op is Op.ATTRIBUTE
                and holder.callee.name in ("setdefault", "get")
            ):
                holder = holder.callee.inputs[0]
            else:
                return []

    def _overwrites(self, store: Store) -> bool:
        """Whether a later insertion replaces this one: a constant key, or one that a loop over names gives."""
        index = store.call.arguments[0] if store.call is not None and is_setdefault(store.call) else store.index
        if not store.is_item and index is None:
            return False
        if store.key is not None:
            return True
        if index is None:
            return False
        if index.op is Op.OPERATION and index.name == "Modulo":
            return True  # `ring[step % size] = x`
        if self._is_next(index, store.holder) or self._is_ring(store):
            return False
        return not (self._changes(index, store.loop) or self._is_drawn(store))

    def is_bounded(self, store: Store, allocation: Value | None) -> bool:
        """Whether a container that outlives the step holds no more than it has places for."""
        if allocation is not None and is_bounded(allocation):
            return True
        return store.is_item and (self._is_ring(store) or self._is_drawn(store))

    def _is_drawn(self, store: Store) -> bool:
        """``self.priorities[i] = x`` for the places of a batch that is drawn from a memory: in time, all of them."""
        if store.index is None or store.holder is None:
            return False
        is_list = self.solution.may_be(store.holder, Container)
        return is_list and is_drawn(self.solution, store.index)

    def _is_ring(self, store: Store) -> bool:
        """``self.slots[self.at] = x`` where ``self.at`` goes round: ``self.at = (self.at + 1) % self.size``."""
        index, holder = store.index, store.holder
        if index is None or index.op not in (Op.READ, Op.ATTRIBUTE) or holder is None:
            return False
        if self.solution.may_be(holder, Tensor):
            return False  # what is written into a tensor in place becomes part of it
        places, later = self.solution.read_from(index), self._later(index)
        goes_round = any(one.value.name in ("Modulo", "ModuloAssign") for one in later)
        return goes_round and all(
            one.value.op is Op.OPERATION
            and any(place in places for part in one.value.computed_from() for place in self.solution.read_from(part))
            for one in later
        )

    def _is_next(self, index: Value, holder: Value | None) -> bool:
        """``rows[len(rows)] = x``: behind all that is there."""
        if holder is None or index.op is not Op.CALL or index.callee.name != "builtins.len" or not index.arguments:
            return False
        return not set(homes_of(self.solution, index.arguments[0])).isdisjoint(homes_of(self.solution, holder))

    def _changes(self, index: Value, loop: Loop | None, hops: int = HOPS) -> bool:
        """Whether an index is another one in each step: it depends on a loop of steps here or at a caller's."""
        around = loop.around() if loop is not None else []
        deciding = (index, *self._indices_in(index))
        if any(self.steps.is_step(one) and is_new_each_turn(part, one) for one in around for part in deciding):
            return True
        if any(part.op is Op.EXTERNAL and part.name.startswith(CLOCKS) for part in index.computed_from()):
            return True
        if index.op in (Op.READ, Op.ATTRIBUTE):
            return self._is_counter(index, hops)
        if index.op is Op.CONTAINER or index.name in ("Add", "AddAssign"):  # `seen[self.step, name]`, `seen[step + 1]`
            return any(self._changes(part, loop, hops) for part in index.inputs)
        index = told_by(index)
        if index.op is not Op.PARAMETER or hops == 0:
            return False
        calls = self.solution.callers.get(index.function, {})
        given = ((calls[call].get(index), call.loop) for call in calls)
        return any(
            argument is not None and argument is not index and self._changes(argument, at, hops - 1)
            for argument, at in given
        )

    def _indices_in(self, value: Value) -> Iterator[Value]:
        """What decides which rows are taken of what ``value`` is computed from: ``users[rows]``, ``users[i:j]``."""
        graph = self.solution.graph
        for part in (part for part in value.computed_from() if part.op is Op.SUBSCRIPT):
            yield from graph.indices.get(part, ())
            for element in part.syntax.slice if isinstance(part.syntax, cst.Subscript) else ():
                if isinstance(element.slice, cst.Slice) and element.slice.lower in graph.bounds:
                    yield graph.bounds[element.slice.lower]

    def _is_counter(self, index: Value, hops: int) -> bool:
        """Whether an attribute or a global is added to as the program goes on, or set to what counts the steps."""
        later = self._later(index)
        if not later:
            return self._is_told_counter(index)
        return all(
            store.kind is Kind.UPDATE or (hops > 0 and self._changes(store.value, store.loop, hops - 1))
            for store in later
        )

    def _is_told_counter(self, index: Value) -> bool:
        """``trainer.current_epoch``: whether a framework, or who tells of events, counts it, and not the method."""
        if counts_events(index):
            return True
        if index.op is Op.SUBSCRIPT:  # `net.history[-1]["epoch"]`
            return index.keys[0] in self._told_counters and is_of_last(index)
        return index.op is Op.ATTRIBUTE and index.name in self._told_counters

    @cached_property
    def _told_counters(self) -> frozenset[str]:
        """The attributes that count the steps in the frameworks that the file imports."""
        names = (value.name for value in self.solution.graph.of(Op.EXTERNAL))
        packages = {name.partition(".")[0] for name in names}
        rows = (row for row in rows_holding(Holds.COUNTS) if any(own.partition(".")[0] in packages for own in row.of))
        return frozenset(method for row in rows for method in row.methods)

    def _later(self, index: Value) -> list[Store]:
        """Where an attribute or a global is set once the program runs."""
        places = self.solution.read_from(index)
        return [
            store
            for store in self.solution.graph.stores
            if store.kind is not Kind.INSERT
            and store.function.name != "__init__"
            and store.function.parent is not None
            and any(target in places for target in targets_of(self.solution, store))
        ]


def may_come_again(method: Function) -> bool:
    """Whether who calls a method, of whom none is seen, may do so in each step."""
    return method.name != "__init__" and not is_told_once(method)


def is_bounded(allocation: Value) -> bool:
    """Whether a container drops old items by itself or takes no more of them: ``deque(maxlen=n)``, ``Queue(n)``."""
    if allocation.op is not Op.CALL:
        return False
    if allocation.callee.name in QUEUES:
        return allocation.argument(0, "maxsize") is not None
    return allocation.callee.name.endswith("deque") and allocation.argument(1, "maxlen") is not None
