"""Accumulations: values that are updated from themselves and outlive the step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.drained import SUMMING, Yielded, drained
from torchlint.facts.autograd.objectives import Objectives
from torchlint.facts.autograd.owned_tensors import owned_tensor
from torchlint.facts.autograd.sums_in_calls import Handed, sums_in_calls
from torchlint.facts.autograd.used_up import is_used_up_elsewhere
from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.values.arithmetic import Arithmetic
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.library_calls import read_from
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.writing import Use, operands, text_of

CASTS = frozenset(["float", "half", "double", "bfloat16", "type", "to", "cuda", "cpu", "contiguous"])
"""Methods of a tensor that change its type, its place or its layout."""

ITEMS = frozenset(["items", "values", "get"])
"""Methods of a dictionary that give what is in it."""


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


class Accumulations:
    """Finds the accumulations of a file."""

    def __init__(
        self,
        lifetimes: Lifetimes,
        brings: Callable[[Value], bool] | None = None,
        comes_again: Callable[[Function], bool] | None = None,
    ) -> None:
        """Ask ``lifetimes`` how long holders live.

        Args:
            lifetimes: of the file.
            brings: what has a graph; without it, only the proven.
            comes_again: which functions run in each step of which no caller is seen; see :meth:`Lifetimes.outlives`.
        """
        self.brings = brings or lifetimes.flows.brings_graph
        self.comes_again = comes_again
        self.lifetimes = lifetimes
        self.solution = lifetimes.solution
        self.flows = lifetimes.flows
        self.steps = lifetimes.steps
        self.arithmetic = Arithmetic(lifetimes.flows)
        self._loops: dict[Value, list[Loop]] = defaultdict(list)  # by the update of a local variable, what adds it up

    @cached_property
    def found(self) -> list[Accumulation]:
        """Every update of a holder from itself and a tensor with a graph that outlives a step, each once."""
        return [one for one in self._updates.values() if not self._is_held_anyway(one)]

    @cached_property
    def objectives(self) -> Objectives:
        """The sums that one backward behind their loop trains on."""
        return Objectives(
            self.flows, {update: self._loops[update] for update in self._updates if update in self._loops}
        )

    def _is_held_anyway(self, accumulation: Accumulation) -> bool:
        """Whether a variable holds no more than the objective of its loop, until the backward over that."""
        update = accumulation.update
        if update not in self._loops or update in self.flows.trained or update in self.flows.leaving:
            return False
        return self.objectives.hold([use.value for use in accumulation.added], self._loops[update])

    @cached_property
    def _updates(self) -> dict[Value, Accumulation]:
        found: dict[Value, Accumulation] = {}
        for loop in self.solution.graph.loops:
            for phi in loop.phis:
                for accumulation in self._of_variable(loop, phi):
                    found.setdefault(accumulation.update, accumulation)
                    self._loops[accumulation.update].append(loop)
        for store in self.solution.graph.stores:
            if (store.kind is not Kind.INSERT or store.is_item) and store.value not in found:
                for accumulation in self._of_place(store):
                    found.setdefault(accumulation.update, accumulation)
        for call in self.solution.graph.of(Op.CALL):
            if call not in found and (owned := self._of_owned(call)) is not None:
                found[call] = owned
        for call, one in drained(self.steps, SUMMING):
            if call not in found and (summed := self._of_iterator(call, one)) is not None:
                found[call] = summed
        return found

    def _of_iterator(self, call: Value, one: Yielded) -> Accumulation | None:
        """``sum(step(batch) for batch in loader)``: each item joins the sum of those before it."""
        if call.statement is None or not self.flows.modes.records(call) or not self.brings(one.item):
            return None
        name = text_of(call.syntax, call).removeprefix("builtins.")
        return Accumulation(call, (Use(one.item, one.written),), name, call, call.statement, None, is_state=False)

    def _of_variable(self, loop: Loop, phi: Value) -> list[Accumulation]:
        if len(phi.inputs) < 2 or self._is_reset_inside(phi, phi.inputs[1:]):
            return []
        updates: dict[Value, bool] = {}
        for back in phi.inputs[1:]:
            self.arithmetic.trace(back, phi, updates)
        added = {update: self._added(update, phi) for update in updates}
        if not any(added.values()):
            updates, added = self._in_calls(loop, phi)
        found = [
            Accumulation(
                update,
                added[update],
                phi.name,
                update,
                update.statement or loop.syntax,
                phi.inputs[0],
                is_state=scales or added[update][0].value is phi,
            )
            for update, scales in updates.items()
            if added[update] and self._counts(update, loop)
        ]
        return _without_steps_between(found)

    def _in_calls(self, loop: Loop, phi: Value) -> tuple[dict[Value, bool], dict[Value, tuple[Use, ...]]]:
        """The updates of a variable by functions that are handed it, whether each scales it, and what each adds."""
        found: dict[Value, bool] = {}
        added: dict[Value, tuple[Use, ...]] = {}
        for handed in sums_in_calls(self.solution, Handed(phi, phi.inputs[1:])):
            if self._is_reset_inside(handed.before, handed.after):
                continue
            updates: dict[Value, bool] = {}
            for after in handed.after:
                self.arithmetic.trace(after, handed.before, updates)
            is_only_call = len(self.solution.callers[handed.before.function]) == 1
            for update, scales in updates.items():
                uses = self._added(update, handed.before)
                if uses and (is_only_call or all(self._is_passed_in(loop, use.value) for use in uses)):
                    found[update], added[update] = scales, uses
        return found, added

    def _is_passed_in(self, loop: Loop, value: Value) -> bool:
        """Whether what a function adds has a graph of its own, or that which a call in the loop passes."""
        passing, taken = self.flows.passed_by(value), _taken_of(value)
        if taken.op is Op.PARAMETER:  # of what each call passes
            calls = self.solution.callers.get(taken.function, {}).items()
            passed = [given.get(taken) for call, given in calls if call.loop is not None and loop in call.loop.around()]
            return any(one is not None and self.flows.live_parts(one) for one in passed)
        return passing is None or (passing.loop is not None and loop in passing.loop.around())

    def _counts(self, update: Value, loop: Loop) -> bool:
        """Whether a loop between the update and the holder's birth is a step."""
        around = update.loop.around() if update.loop is not None else []
        inside = around[: around.index(loop) + 1] if loop in around else [loop]
        return any(self.steps.is_step(one) and not self._is_handful(one) for one in inside)

    def _is_handful(self, loop: Loop) -> bool:
        """Whether a loop that trains nothing runs over a few things written in the program: ``for scale in (1, 2)``."""
        over = loop.iterable
        if over is not None and over.op is Op.PARAMETER and over.inputs and not self.solution.arguments_of(over):
            over = over.inputs[0]
        is_written = over is not None and over.op is Op.CONTAINER and isinstance(over.syntax, cst.Tuple | cst.List)
        backwards = self.solution.graph.backwards
        return is_written and not any(b.loop is not None and loop in b.loop.around() for b in backwards)

    def _is_reset_inside(self, before: Value, after: Sequence[Value]) -> bool:
        """Whether a branch of a loop sets the variable anew: a window that is flushed now and then.

        Or whether a function does so with what it is handed.
        """
        pending, seen = list(after), set()
        while pending:
            value = pending.pop()
            if value in seen or value is before:
                continue
            seen.add(value)
            if value in self.solution.graph.beginnings:
                continue
            if value.op is Op.PHI and value.name == before.name:
                pending.extend(value.inputs)
            elif value.op is Op.CONTAINER and not value.inputs and not self.solution.held.get(value):
                return True  # an empty list
            elif value.op in (Op.CONSTANT, Op.CALL, Op.CONTAINER) and surely_graphless(self.solution.final(value)):
                if before not in value.computed_from():
                    return True
        return False

    def _added(self, update: Value, source: Value, reads: Sequence[Value] = ()) -> tuple[Use, ...]:
        """The operands of ``update`` that bring a graph and do not come from the holder itself.

        Where there are none and the holder requires grad itself, it is what brings the graph.

        Args:
            update: the operation.
            source: the holder's old content.
            reads: all values that are that, where it is read several times: ``self.mean += (x - self.mean) / n``.
        """
        if not self.flows.modes.records(update):
            return ()
        written = {use.value: use for use in (*self.arithmetic.written_into(update), *operands(update))}
        added = [
            written.get(operand, Use(operand, None))
            for operand in self.arithmetic.operands(update)
            if operand.op is not Op.CONTAINER
            and not any(self.arithmetic.comes_from(operand, one) for one in (source, *reads))
            and self.brings(operand)
        ]
        if not added and self.flows.is_leaf(source) and self.flows.live(update) is not None and not _is_cast(update):
            added = [Use(source, None)]
        return tuple(added)

    def _of_place(self, store: Store) -> list[Accumulation]:
        """An update of an attribute, a global or an item: ``self.total += loss``, ``self.avg = m * self.avg + x``."""
        places = targets_of(self.solution, store)
        if store.is_item and store.holder is not None:
            places = homes_of(self.solution, store.holder)[1:]
        elif places and isinstance(places[0], Place) and places[0].owner is store.function:
            return []  # a local variable, which its loop's PHI tells more of
        if not places:
            return []
        reads = self._reads_of(store, places)
        found = []
        for read in reads:
            updates: dict[Value, bool] = {}
            self.arithmetic.trace(store.value, read, updates)
            for update, scales in updates.items():
                added = self._added(update, read, reads)
                if added and self._is_state_of_a_layer(update, places):
                    continue
                if added and is_used_up_elsewhere(self.lifetimes, store.function, places):
                    continue
                if added and self.lifetimes.outlives(places, store.function, store.loop, comes_again=self.comes_again):
                    is_state = (
                        scales or added[0].value is read or any(home in self.lifetimes.buffers for home in places)
                    )
                    name = text_of(store.target, read)
                    found.append(Accumulation(update, added, name, store.value, store.statement, None, is_state))
        return _as_one(found)

    def _is_state_of_a_layer(self, update: Value, places: list[Place | Value]) -> bool:
        """Whether a layer gives on what it carries on, and is told from outside when a sample ends: a spiking neuron.

        The graph then goes back through the sample's own time, on purpose; a buffer holds statistics instead.
        """
        function = update.function
        if function.owner is None or not is_module_class(function.owner) or function.result is None:
            return False
        if any(place in self.lifetimes.buffers for place in places) or update not in function.result.computed_from():
            return False
        return self.lifetimes.is_ended_from_outside(places, function)

    def _reads_of(self, store: Store, places: list[Place | Value]) -> list[Value]:
        """Values under ``store.value`` that are the holder's old content."""
        pending, seen, found = [store.value], set(), []
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            is_read = any(place in places for place in self.solution.read_from(value))
            if (is_read and not _is_of_another(value, store)) or (store.is_item and _item_owner(value) is store.holder):
                found.append(value)
            else:
                pending.extend(self.arithmetic.operands(value) or self.arithmetic.parts(value))
                if value.op is Op.PHI:
                    pending.extend(value.inputs)
        return found

    def _of_owned(self, call: Value) -> Accumulation | None:
        """``t.mul_(m).add_(s)`` on a parameter or buffer that a module owns: the copy becomes part of a graph."""
        name = owned_tensor(self.lifetimes, call)
        added = tuple(use for use in operands(call)[1:] if self.brings(use.value)) if name is not None else ()
        if name is None or not added or call.statement is None or not self.flows.modes.records(call):
            return None
        if not self.lifetimes.outlives([], call.function, call.loop):
            return None
        return Accumulation(call, added, name, call, call.statement, None, is_state=True)


def _taken_of(value: Value) -> Value:
    """What a value is an item of: ``parts`` for ``part`` in ``for name, part in parts.items()``."""
    while value.inputs:
        item = unpacked(value)
        if item is not value:
            value = item
        elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ITEMS:
            value = value.callee.inputs[0]
        elif value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            value = value.inputs[0]
        else:
            break
    return value


def _is_of_another(value: Value, store: Store) -> bool:
    """``self.loss += other.loss``: whether an attribute is that of another object than the one that is updated."""
    owners = [value.inputs[0] if value.op is Op.ATTRIBUTE else None, store.holder if store.attribute else None]
    return owners[0] is not owners[1] and all(one is not None and one.op is Op.PARAMETER for one in owners)


def _as_one(found: Sequence[Accumulation]) -> list[Accumulation]:
    """The updates that lead to one store as one, which adds what each of them does: ``decay * v + x - spike``."""
    if not found:
        return []
    added = {use.value: use for one in found for use in one.added}
    return [replace(found[0], added=tuple(added.values()), is_state=any(one.is_state for one in found))]


def _without_steps_between(found: Sequence[Accumulation]) -> list[Accumulation]:
    """Of a state that is computed anew in several steps the last one, which adds what each of them does.

    ``start = (x - s * noise) / a``, then ``x = b * start + c * noise``: it is one state, and one word is enough.
    """
    later = [one for one in found if one.is_state]
    into = {one.update: [other for other in later if other is not one and _goes_into(one, other)] for one in found}
    last = [one for one in found if not into[one.update]]
    return [_as_one([one, *(other for other in found if one in into[other.update])])[0] for one in last]


def _goes_into(one: Accumulation, other: Accumulation) -> bool:
    """Whether an update is a step on the way to another one in the same turn, and not one of the variable itself."""
    if isinstance(one.statement, cst.AugAssign) or one.update.function is not other.update.function:
        return False
    return one.update.index < other.update.index and one.update in other.update.computed_from()


def _is_cast(update: Value) -> bool:
    """``self.weight = self.weight.float()``: the same numbers, and nothing that is done again in each step."""
    return update.op is Op.CALL and update.callee.op is Op.ATTRIBUTE and update.callee.name in CASTS


def _item_owner(value: Value) -> Value | None:
    """The container from which ``d[k]``, ``d.get(k, 0)`` or ``d.pop(k)`` reads an item."""
    if value.op is Op.SUBSCRIPT:
        return value.inputs[0]
    return read_from(value)
