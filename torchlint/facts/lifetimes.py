"""What outlives a step: accumulations and insertions, their holders, and what resets or bounds them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from torchlint.facts.domain import Container, sorted_values, surely_graphless
from torchlint.facts.externals import COLLECTIONS
from torchlint.facts.flows import Flows
from torchlint.facts.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.solve import Solution
from torchlint.facts.steps import Steps
from torchlint.facts.writing import Use, operands
from torchlint.facts.writing import parts as uses_of

HOPS = 4
"""How many callers up a holder's life is followed."""

DEPTH = 60
"""How many operations deep an expression is followed."""

SCALING = ("Multiply", "Divide", "mul", "lerp", "div")
"""Operations after which old content counts less: running averages."""


@dataclass(frozen=True)
class Accumulation:
    """A value that is updated from itself and outlives the step.

    Attributes:
        update: the operation: ``total + loss``.
        added: the operands that bring a graph, as they are written there.
        name: how the program names the holder.
        held: the holder's content after the update.
        statement: where it stands.
        first: what a local variable was before the loop; None for an attribute, a global or an item.
        is_state: True when this is a running state and not a sum: the old content is scaled (a decayed average), the
            holder is a buffer of a module, or nothing is added and the holder itself requires grad.
    """

    update: Value
    added: tuple[Use, ...]
    name: str
    held: Value
    statement: cst.CSTNode
    first: Value | None
    is_state: bool


@dataclass(frozen=True)
class Insertion:
    """A value that is put into a container which outlives the step.

    Attributes:
        statement: where it is put in.
        holder: the container.
        parts: the live tensors that go in, as they are written there.
        name: how the program names the container.
        allocation: where the container was made, if that is seen.
        bounded: True for a ``deque(maxlen=...)`` and the like.
    """

    statement: cst.CSTNode
    holder: Value
    parts: tuple[Use, ...]
    name: str
    allocation: Value | None
    bounded: bool


@dataclass(frozen=True)
class _Position:
    function: Function
    loop: Loop | None


class Lifetimes:
    """Finds accumulations and insertions that outlive a step."""

    def __init__(self, solution: Solution, flows: Flows, steps: Steps) -> None:
        """Collect where places are set anew."""
        self.solution = solution
        self.flows = flows
        self.steps = steps
        self._combining = 0
        self._resets: dict[Place | Value, list[_Position]] = defaultdict(list)
        for store in solution.graph.stores:
            if store.kind is Kind.ASSIGN and not flows.live_parts(store.value):
                targets = self._targets(store)
                if self._reads_of(store, targets):
                    continue
                for target in targets:
                    self._resets[target].append(_Position(store.function, store.loop))
        self._buffers = {
            place for holder, name in solution.graph.buffers for place in solution.places(holder, name)
        }
        for reset in solution.graph.resets:
            for target in self._homes(reset.holder):
                self._resets[target].append(_Position(reset.function, reset.loop))

    def _targets(self, store: Store) -> list[Place | Value]:
        if store.place is not None:
            return [store.place]
        if store.attribute and store.holder is not None:
            return list(self.solution.places(store.holder, store.attribute))
        return []

    def _homes(self, holder: Value) -> list[Place | Value]:
        found: list[Place | Value] = [holder]
        if holder.place is not None:
            found.append(holder.place)
        elif holder.op is Op.ATTRIBUTE:
            found += self.solution.places(holder.inputs[0], holder.name)
        found += [a.allocation for a in sorted_values(self.solution.final(holder)) if isinstance(a, Container)]
        return found

    # -- accumulations --------------------------------------------------------------------------------------------

    def accumulations(self) -> list[Accumulation]:
        """Every update of a holder from itself and a tensor with a graph that outlives a step, each once."""
        found: dict[Value, Accumulation] = {}
        for loop in self.solution.graph.loops:
            for phi in loop.phis:
                for accumulation in self._of_variable(loop, phi):
                    found.setdefault(accumulation.update, accumulation)
        for store in self.solution.graph.stores:
            if (store.kind is not Kind.INSERT or store.is_item) and store.value not in found:
                for accumulation in self._of_place(store):
                    found.setdefault(accumulation.update, accumulation)
        for value in self.solution.graph.values:
            if value not in found and (owned := self._of_owned(value)) is not None:
                found[value] = owned
        return list(found.values())

    def _of_owned(self, value: Value) -> Accumulation | None:
        """``t.mul_(m).add_(s)`` on a parameter or buffer that a module owns: the copy becomes part of a graph."""
        in_place = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.name.endswith("_")
        if not in_place or not self.flows.is_arithmetic(value):
            return None
        owner = value.callee.inputs[0]
        while owner.op is Op.CALL and owner.name.endswith("_") and owner.callee.op is Op.ATTRIBUTE:
            if owner.name == "detach_":
                return None  # each turn begins without the history of the last one
            owner = owner.callee.inputs[0]
        if owner.op is not Op.ELEMENT or not self._is_owned_by_module(owner):
            return None
        added = tuple(use for use in operands(value)[1:] if self.flows.brings_graph(use.value))
        statement = value.statement
        if not added or statement is None or not self.flows.modes.records(value):
            return None
        if not self.outlives([], value.function, value.loop):
            return None
        name = _written(owner.syntax if isinstance(owner.syntax, cst.Name) else None, owner)
        return Accumulation(value, added, name, value, statement, None, is_state=True)

    def _is_owned_by_module(self, element: Value) -> bool:
        base = element.inputs[0]
        while base.op is Op.CONTAINER:  # the pair that `zip` makes
            items = [item for key, item in zip(base.keys, base.inputs, strict=True) if key == element.keys[0]]
            if not items or items[0].op is not Op.ELEMENT:
                return False
            element = items[0]
            base = element.inputs[0]
        names = ("parameters", "named_parameters", "buffers", "named_buffers", "values", "items")
        return base.op is Op.CALL and base.callee.op is Op.ATTRIBUTE and base.callee.name in names

    def _of_variable(self, loop: Loop, phi: Value) -> list[Accumulation]:
        if len(phi.inputs) < 2 or self._is_reset_inside(phi):
            return []
        updates: dict[Value, bool] = {}
        for back in phi.inputs[1:]:
            self._trace(back, phi, updates, set())
        return [
            Accumulation(
                update, added, phi.name, update, update.statement or loop.syntax, phi.inputs[0],
                is_state=scales or added[0].value is phi,
            )  # fmt: skip
            for update, scales in updates.items()
            if (added := self._added(update, phi)) and self._counts(update, loop)
        ]

    def _counts(self, update: Value, loop: Loop) -> bool:
        """Whether a loop between the update and the holder's birth is a step."""
        around = update.loop.around() if update.loop is not None else []
        inside = around[: around.index(loop) + 1] if loop in around else [loop]
        return any(self.steps.is_step(one) for one in inside)

    def _is_reset_inside(self, phi: Value) -> bool:
        """Whether a branch of the loop sets the variable anew: a window that is flushed now and then."""
        pending, seen = list(phi.inputs[1:]), set()
        while pending:
            value = pending.pop()
            if value in seen or value is phi:
                continue
            seen.add(value)
            if value.op is Op.PHI and value.name == phi.name:
                pending.extend(value.inputs)
            elif value.op in (Op.CONSTANT, Op.CALL, Op.CONTAINER) and surely_graphless(self.solution.final(value)):
                if not self._reaches(value, phi):
                    return True
        return False

    def _reaches(self, value: Value, phi: Value) -> bool:
        pending, seen = [value], set()
        while pending:
            current = pending.pop()
            if current is phi:
                return True
            if current not in seen:
                seen.add(current)
                pending.extend(current.inputs)
        return False

    def _trace(self, value: Value, source: Value, updates: dict[Value, bool], path: set[Value]) -> bool | None:
        """Follow arithmetic from ``value`` back to ``source``; collect the operations on the way.

        Args:
            value: where to begin.
            source: the holder's old content.
            updates: takes each operation on the way, and whether the old content is scaled before it or by it.
            path: what has been followed to get here.

        Returns:
            None when ``value`` does not come from ``source``, else whether it is scaled on the way.
        """
        if value is source:
            return False
        if value in path or len(path) > DEPTH:
            return None
        path = path | {value}
        if value.op is Op.PHI:
            steps = list(value.inputs)
        else:
            steps = self._operands(value) or self._parts(value)
        arrived = [scaled for step in steps if (scaled := self._trace(step, source, updates, path)) is not None]
        if not arrived:
            return None
        scales = any(arrived)
        if value.op is not Op.PHI and self._operands(value):
            scales = scales or value.name.rpartition(".")[2].startswith(SCALING) or self._scales_inside(value)
            updates[value] = updates.get(value, False) or scales
        return scales

    def _scales_inside(self, call: Value) -> bool:
        """Whether a helper of this file multiplies what it is given."""
        return any(self._combination(function) for function in self.flows.functions_of(call))

    def _combination(self, function: Function) -> bool | None:
        """Whether a function computes its result from a parameter by arithmetic, scaling it; None if it does not."""
        if function.result is None or self._combining > 2:
            return None
        self._combining += 1
        found = None
        for parameter in function.parameters:
            updates: dict[Value, bool] = {}
            if self._trace(function.result, parameter, updates, set()) is not None and updates:
                found = bool(found) or any(updates.values())
        self._combining -= 1
        return found

    def _parts(self, value: Value) -> list[Value]:
        """What a value is taken from or built of without arithmetic: an item, a tuple, ``tuple(...)``."""
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.CONTAINER):
            return list(value.inputs)
        if value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in COLLECTIONS:
            return list(value.arguments)
        return []

    def _operands(self, value: Value) -> list[Value]:
        """What arithmetic combines in ``value``; nothing for calls that are no arithmetic of torch."""
        if value.op is Op.OPERATION:
            return list(value.inputs)
        if value.op is Op.ELEMENT and value.inputs[0].op is Op.CONTAINER:
            return [v for k, v in zip(value.inputs[0].keys, value.inputs[0].inputs, strict=True) if k == value.keys[0]]
        if value.op is not Op.CALL:
            return []
        if any(self._combination(function) is not None for function in self.flows.functions_of(value)):
            return list(value.arguments)
        if not self.flows.is_arithmetic(value):
            return []
        receiver = [value.callee.inputs[0]] if value.callee.op is Op.ATTRIBUTE else []
        items = [item for argument in value.arguments for item in (argument, *_literal_items(argument))]
        return receiver + items

    def _added(self, update: Value, source: Value) -> tuple[Use, ...]:
        """The operands of ``update`` that bring a graph and do not come from the holder itself.

        Where there are none and the holder requires grad itself, it is what brings the graph.
        """
        if not self.flows.modes.records(update):
            return ()
        written = {use.value: use for use in operands(update)}
        added = [
            written.get(operand, Use(operand, None))
            for operand in self._operands(update)
            if operand is not source
            and operand.op is not Op.CONTAINER
            and self._trace(operand, source, {}, set()) is None
            and self.flows.brings_graph(operand)
        ]
        if not added and self.flows.is_leaf(source) and self.flows.live(update) is not None:
            added = [Use(source, None)]
        return tuple(added)

    def _of_place(self, store: Store) -> list[Accumulation]:
        """An update of an attribute, a global or an item: ``self.total += loss``, ``self.avg = m * self.avg + x``."""
        places = self._targets(store)
        if store.is_item and store.holder is not None:
            places = self._homes(store.holder)
        elif not places or (isinstance(places[0], Place) and places[0].owner is store.function):
            return []
        reads = self._reads_of(store, places)
        found = []
        for read in reads:
            updates: dict[Value, bool] = {}
            self._trace(store.value, read, updates, set())
            for update, scales in updates.items():
                added = self._added(update, read)
                if added and self.outlives(places, store.function, store.loop):
                    is_state = scales or added[0].value is read or any(home in self._buffers for home in places)
                    name = _written(store.target, read)
                    found.append(Accumulation(update, added, name, store.value, store.statement, None, is_state))
        return found

    def _reads_of(self, store: Store, places: list[Place | Value]) -> list[Value]:
        """Values under ``store.value`` that are the holder's old content."""
        pending, seen, found = [store.value], set(), []
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value.place in places or (
                value.op is Op.ATTRIBUTE and any(p in places for p in self.solution.places(value.inputs[0], value.name))
            ):
                found.append(value)
            elif value.op is Op.SUBSCRIPT and store.is_item and value.inputs[0] is store.holder:
                found.append(value)
            else:
                pending.extend(self._operands(value))
                if value.op is Op.PHI:
                    pending.extend(value.inputs)
        return found

    # -- insertions -----------------------------------------------------------------------------------------------

    def insertions(self) -> list[Insertion]:
        """Every insertion of a live tensor into a container that outlives a step."""
        found = [i for store in self.solution.graph.stores if (i := self._of_store(store)) is not None]
        found += [i for value in self.solution.graph.values if (i := self._of_comprehension(value)) is not None]
        return found

    def _of_store(self, store: Store) -> Insertion | None:
        if store.kind is not Kind.INSERT or store.holder is None or self._overwrites(store):
            return None
        parts = self.flows.live_parts(store.value)
        if not parts:
            return None
        homes = self._homes_of_root(store.holder)
        if not homes or not self.outlives(homes, store.function, store.loop):
            return None
        made = [home for home in homes if isinstance(home, Value)]
        allocation = made[0] if made else None
        return Insertion(
            store.statement, store.holder, tuple(uses_of(store.value, store.syntax, parts)), _written(store.target, store.holder), allocation,
            allocation is not None and is_bounded(allocation),
        )  # fmt: skip

    def _of_comprehension(self, value: Value) -> Insertion | None:
        """``[step(x) for x in loader]``: the list outlives the loop in it."""
        if value.op is not Op.CONTAINER or not isinstance(value.syntax, cst.ListComp | cst.SetComp | cst.DictComp):
            return None
        item = value.inputs[0]
        parts = self.flows.live_parts(item)
        loop = item.loop if item.loop is not value.loop else None
        if not parts or loop is None or not self.steps.is_step(loop):
            return None
        written = value.syntax.value if isinstance(value.syntax, cst.DictComp) else value.syntax.elt
        name = _written(value.syntax, value)
        statement = value.statement or value.syntax
        return Insertion(statement, value, tuple(uses_of(item, written, parts)), name, value, False)

    def _homes_of_root(self, holder: Value) -> list[Place | Value]:
        """Where the container behind ``holder`` is kept; that of the outer one for a container in a container."""
        while True:
            homes = [home for home in self._homes(holder) if home is not holder or holder.op is Op.CONTAINER]
            if homes:
                return homes
            if holder.op in (Op.SUBSCRIPT, Op.ELEMENT):
                holder = holder.inputs[0]
            elif holder.op is Op.CALL and holder.callee.op is Op.ATTRIBUTE and holder.callee.name in ("setdefault", "get"):
                holder = holder.callee.inputs[0]
            else:
                return []

    def _overwrites(self, store: Store) -> bool:
        """Whether a later insertion replaces this one: a constant key, or one that a loop over names gives."""
        if not store.is_item:
            return False
        if store.key is not None:
            return True
        if store.index is None:
            return False
        loop = store.loop
        while loop is not None:
            if self.steps.is_step(loop) and self._depends_on(store.index, loop):
                return False
            loop = loop.parent
        return True

    def _depends_on(self, value: Value, loop: Loop) -> bool:
        """Whether ``value`` changes with each turn of ``loop`` by its own variable (or a counter of the loop)."""
        pending, seen = [value], set()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if current in loop.phis or (current.loop is loop and current.op in (Op.ELEMENT, Op.CONSTANT) and current.syntax is None):
                return True
            if current.op is Op.ELEMENT and current.loop is loop:
                return True
            pending.extend(current.inputs)
        return False

    # -- how long a holder lives ----------------------------------------------------------------------------------

    def outlives(self, homes: list[Place | Value], function: Function, loop: Loop | None) -> bool:
        """Whether a holder, changed at this position, lives through a step without being set anew in it."""
        resets = [position for home in homes for position in self._resets.get(home, ())]
        at = _Position(function, loop)
        births = [self._births(home, set()) for home in homes if isinstance(home, Value)]
        return any(self._outlives(at, self._lifted([*resets, *born]), HOPS, set()) for born in births or [[]])

    def _births(self, allocation: Value, seen: set[Value]) -> list[_Position]:
        """Where a container was made; for one that is kept in another, where that one was made."""
        seen.add(allocation)
        outer = [container for container in self._kept_in.get(allocation, ()) if container not in seen]
        if outer:
            return [position for container in outer for position in self._births(container, seen)]
        return [_Position(allocation.function, allocation.loop)] if allocation.op in (Op.CONTAINER, Op.CALL) else []

    @cached_property
    def _kept_in(self) -> dict[Value, list[Value]]:
        """For each container, the containers into which it is put."""
        table: dict[Value, list[Value]] = defaultdict(list)
        for container, items in self.solution.held.items():
            for _, item in items:
                for atom in sorted_values(self.solution.final(item)):
                    if isinstance(atom, Container) and atom.allocation is not container:
                        table[atom.allocation].append(container)
        return table

    def _outlives(self, at: _Position, resets: set[_Position], hops: int, seen: set[Function]) -> bool:
        around = at.loop.around() if at.loop is not None else []
        levels = [around.index(r.loop) if r.loop in around else len(around) for r in resets if _encloses(r, at)]
        inside = around[: min(levels)] if levels else around
        if any(self.steps.is_step(loop) for loop in inside):
            return True
        if levels or hops == 0 or at.function in seen:
            return False
        callers = self.solution.callers.get(at.function, {})
        if not callers:
            return self.steps.is_repeated(at.function)
        return any(
            self._outlives(_Position(call.function, call.loop), resets, hops - 1, seen | {at.function})
            for call in sorted(callers, key=lambda value: value.index)
        )

    def _lifted(self, resets: list[_Position]) -> set[_Position]:
        """The positions of resets, and of the calls that lead to them."""
        found: set[_Position] = set()
        frontier = set(resets)
        for _ in range(HOPS):
            found |= frontier
            frontier = {
                _Position(call.function, call.loop)
                for position in frontier
                for call in self.solution.callers.get(position.function, {})
            } - found
        return found


def _encloses(reset: _Position, at: _Position) -> bool:
    """Whether a reset runs in the same turn of the loops around it as ``at``."""
    if reset.function is not at.function:
        return False
    return reset.loop is None or (at.loop is not None and reset.loop in at.loop.around())


def is_bounded(allocation: Value) -> bool:
    """Whether a container drops old items by itself: ``deque(maxlen=n)``, ``deque([], n)``."""
    if allocation.op is not Op.CALL or not allocation.callee.name.endswith("deque"):
        return False
    return allocation.argument(1, "maxlen") is not None


def _literal_items(value: Value) -> tuple[Value, ...]:
    return value.inputs if value.op is Op.CONTAINER else ()


def _written(target: cst.CSTNode | None, value: Value) -> str:
    """How the program writes a holder, on one line and at most 40 characters."""
    if target is None:
        return value.name or "it"
    text = " ".join(cst.Module([]).code_for_node(target).split())
    return text if len(text) <= 40 else text[:37] + "..."
