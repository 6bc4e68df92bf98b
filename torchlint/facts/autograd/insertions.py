"""Insertions: values that are put into a container which outlives the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.autograd.drained import Yielded, drained, yielded
from torchlint.facts.autograd.filled_objects import FilledObjects
from torchlint.facts.autograd.gone_before import is_gone_before_backward
from torchlint.facts.autograd.keys import Keys
from torchlint.facts.autograd.replaced_items import ReplacedItems
from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.turns.queues import is_handed_over
from torchlint.facts.turns.rounds import is_left_over
from torchlint.facts.turns.windows import Windows
from torchlint.facts.values.collecting import COLLECTING
from torchlint.facts.values.dictionaries import begins_part
from torchlint.facts.values.domain import Container
from torchlint.facts.values.events import is_told_once
from torchlint.facts.values.externals import QUEUES
from torchlint.facts.values.framework_objects import keeps_no_graph
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import (
    allocations_of,
    homes_of,
    is_data_of_tensor,
    is_handed_to_method,
)
from torchlint.facts.values.writing import Use, text_of
from torchlint.facts.values.writing import parts as uses_of


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
        self.keys = Keys(lifetimes.solution, lifetimes.steps)

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
        overwrites = self.keys.overwrites(store) and not self.keys.is_of_new_part(store.holder, store.loop)
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

    def _is_made_anew(self, holder: Value) -> bool:
        """Whether an attribute gets another container as the program goes on: ``self.row = {}``."""
        return holder.op is Op.ATTRIBUTE and any(one.value.op is Op.CONTAINER for one in self.keys.set_later(holder))

    def _is_handed_on(self, homes: list[Place | Value]) -> bool:
        """Whether a container that is set anew goes into one that outlives the step: ``rows.append(self.row)``."""
        around = self.lifetimes.homes_around(homes)
        if not around or self.windows.has(around) or any(is_bounded(one) for one in around if isinstance(one, Value)):
            return False
        filling = [
            store
            for store in self.solution.graph.stores
            if store.kind is Kind.INSERT and store.holder is not None and not self.keys.overwrites(store)
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
        homes = self.homes_beyond_step(store)
        if homes and is_gone_before_backward(self.steps, self.flows, store, homes, parts):
            return None
        return self._insertion(store, parts, homes)

    def of_unseen_callers(self, store: Store, parts: list[Value]) -> Insertion | None:
        """What ``store`` adds to an attribute of the object, in a method that is called who knows how often."""
        owner, holder = store.function.owner, store.holder
        if owner is None or holder is None or not may_come_again(store.function):
            return None
        if store.is_item and not (store.index is not None and self.keys.is_told_counter(store.index)):
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
        return is_own and not self.keys.set_later(receiver)

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

    def is_bounded(self, store: Store, allocation: Value | None) -> bool:
        """Whether a container that outlives the step holds no more than it has places for."""
        if allocation is not None and is_bounded(allocation):
            return True
        return store.is_item and (self.keys.is_ring(store) or self.keys.is_drawn_place(store))


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
