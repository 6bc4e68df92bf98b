"""Carried states: what one step computes with a graph and feeds to the next one, so that the graphs form one chain.

A recurrent state or a cache goes through a module (or a function that runs one) and comes back into the variable or
attribute from which it was taken. Sums and running averages, which go through arithmetic alone, are told by
``accumulations.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property, partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.carried import Carried, Judgement, made_by
from torchlint.facts.autograd.chains import Chains
from torchlint.facts.autograd.cut_behind import is_cut_behind
from torchlint.facts.autograd.kept_to_itself import keeps_all_to_itself
from torchlint.facts.turns.forwards import is_made_within_forward, is_within_forward
from torchlint.facts.values.domain import Derived, Instance, Tensor
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Class, Function, Key, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.parameters import inputs_across_calls
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import text_of, written_key

if TYPE_CHECKING:
    from torchlint.facts import Facts


class CarriedStates:
    """Finds the carried states of a file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.steps, self.lifetimes = facts.steps, facts.lifetimes
        self.repetitions = facts.repetitions
        self.chains = Chains(facts)
        self.judgement = Judgement(facts, self.chains)

    def found(self) -> list[Carried]:
        """Every state that goes with its graph through a module and back into its variable or attribute."""
        of_loops = (carried for loop in self.solution.graph.loops for carried in self._in_loop(loop))
        kept = {store: c for store in self.solution.graph.stores if (c := self._in_place(store)) is not None}
        # Which field of a record goes on says more than that the record does.
        told = {store.function.owner for store in kept if not store.function.is_written}
        found = [carried for carried in (*of_loops, *kept.values()) if not self._is_one_of(carried.value, told)]
        return list({(carried.statement, carried.name): carried for carried in found}.values())

    def _is_one_of(self, value: Value, classes: Set[Class | None]) -> bool:
        return any(isinstance(atom, Instance) and atom.cls in classes for atom in self.solution.final(value))

    # -- variables of a loop --------------------------------------------------------------------------------------

    def _in_loop(self, loop: Loop) -> Iterable[Carried]:
        if not any(self.flows.carries(back) for phi in loop.phis for back in phi.inputs[1:]):
            return  # what a turn leaves for the next has no graph
        if not self._runs_over_steps(loop) and not self._trains_each_turn(loop):
            return
        for phi in loop.phis:
            for back in phi.inputs[1:]:
                if self.chains.reaches(back, frozenset([phi])) is None or self._is_cut(phi, loop):
                    continue
                statement = made_by(back).statement or loop.syntax
                carried = self.judgement.of(statement, phi.name, back, phi)
                if carried is None or (carried.breaks and not self._trains_each_turn(loop)):
                    continue
                # A backward after the loop runs over its turns as over one sequence, and retains none before it.
                if carried.breaks or not carried.retained or self.repetitions.trains(loop):
                    yield carried

    def _runs_over_steps(self, loop: Loop) -> bool:
        """Whether the turns of a loop are steps without end, and not the parts of one sequence."""
        if not self.repetitions.is_step(loop):
            return False
        around = loop.around()[1:]
        is_inner = any(map(self.repetitions.is_step, around)) or self._is_called_in_step(loop.function)
        return not is_inner or self._draws_batches(loop)

    def _trains_each_turn(self, loop: Loop) -> bool:
        """Whether each turn trains by a backward of its own: ``for i in range(0, len(text), length)``."""
        return self.repetitions.trains(loop) and any(
            not backward.inputs and backward.loop is loop for backward in self.solution.graph.backwards
        )

    def _is_called_in_step(self, function: Function) -> bool:
        """Whether a function is the part of a step: a forward, or called in a loop of steps."""
        if is_forward(function):
            return True
        calls = self.solution.callers.get(function, {})
        return any(c.loop is not None and any(map(self.repetitions.is_step, c.loop.around())) for c in calls)

    def _draws_batches(self, loop: Loop) -> bool:
        """Whether a loop runs over a loader, and not over a tensor, a range, or what a loop around it drew."""
        iterable = loop.iterable
        if iterable is None or (iterable.op is Op.CALL and iterable.callee.name == "builtins.range"):
            return False
        if self.steps.is_loader(iterable):
            return True
        values = reached([iterable], partial(inputs_across_calls, self.solution))
        return not any(map(self._is_drawn_or_tensor, values))

    def _is_drawn_or_tensor(self, value: Value) -> bool:
        atoms = self.solution.final(value)
        return value.op in (Op.ELEMENT, Op.SUBSCRIPT) or any(isinstance(atom, Tensor | Derived) for atom in atoms)

    # -- attributes and globals -----------------------------------------------------------------------------------

    def _in_place(self, store: Store) -> Carried | None:
        is_item, value = store.kind is Kind.INSERT and store.is_item, self._put(store)
        if not (is_item or store.kind is Kind.ASSIGN) or not self.flows.carries(value):
            return None
        if not store.function.is_written and all(is_forward(c.function) for c in self._makers(store)):
            return None  # what a network gives: whoever carries its state on is told
        if is_item and store.holder is not None:
            homes = homes_of(self.solution, store.holder)[1:]
            items = (item for home in homes for item in self._items_of.get(home, ()))
            reads = frozenset(item for item in items if _may_be_same(item.keys[0], store.key))
        else:
            targets = (target for target in targets_of(self.solution, store) if isinstance(target, Place))
            homes = [place for place in targets if not _is_set_by_method(place)]
            reads = frozenset(value for home in homes for value in self._reads_of.get(home, ()))
        if not homes or any(isinstance(h, Place) and h.owner is store.function for h in homes):
            return None
        if not any(isinstance(home, Place) for home in homes) and not self._is_in_steps(store.loop):
            return None
        old = self.chains.reaches(value, reads)
        if old is None or self._is_of_one_forward(store) or (is_item and is_cut_behind(self.facts, store, homes)):
            return None
        # The turns of a loop in a forward are the parts of one sequence.
        loop = None if store.function.name == "forward" else store.loop
        stays = self.lifetimes.outlives(homes, store.function, loop, chained=True, is_step=self.repetitions.is_step)
        if not stays and not self._infers_by_itself(store) and not self._goes_on_elsewhere(store, homes):
            return None
        statement, name = self._told_at(store)
        carried = self.judgement.of(statement, name + (written_key(store) if is_item else ""), value, old)
        if carried is None or not carried.retained or not stays:
            return carried
        # The turns between two backwards are the parts of one sequence: only what goes beyond these is carried.
        trains = self.repetitions.trains
        goes_on = self.lifetimes.outlives(homes, store.function, loop, chained=True, is_step=trains)
        return carried if goes_on else None

    def _makers(self, store: Store) -> Iterable[Value]:
        """The calls that make the records of which a store sets a field."""
        return self.solution.callers.get(store.function, ())

    def _told_at(self, store: Store) -> tuple[cst.CSTNode, str]:
        """Where a state is stored, and as what: in a field of a data class where an object of it is made."""
        callers = {} if store.function.is_written else self.solution.callers.get(store.function, {})
        given = ((call, passed.get(store.value)) for call, passed in callers.items())
        calls = (call for call, value in given if value is not None and self.flows.carries(value))
        made = min(calls, key=lambda call: call.index, default=None)
        if made is not None and made.statement is not None and store.function.owner is not None:
            return made.statement, f"{store.function.owner.name}.{store.attribute}"
        return store.statement, text_of(store.target, store.value)

    def _put(self, store: Store) -> Value:
        """What is stored, where a method only keeps what its one call passes: ``memory.swap(state)``."""
        given = self.solution.arguments_of(store.value) if store.value.op is Op.PARAMETER else []
        return given[0] if len(given) == 1 and store.function.name != "__init__" else store.value

    def _is_of_one_forward(self, store: Store) -> bool:
        """Whether a helper of a forward changes an attribute of an object that this forward has made."""
        if store.holder is None or not store.attribute or not is_within_forward(self.solution, store.function):
            return False
        roots = self.facts.identity.roots(store.holder)
        return all(is_made_within_forward(self.solution, root) for root in roots)

    def _is_in_steps(self, loop: Loop | None) -> bool:
        return loop is not None and any(map(self._runs_over_steps, loop.around()))

    def _goes_on_elsewhere(self, store: Store, homes: Sequence[Place | Value]) -> bool:
        """Whether a method that goes on with its object's state is called in a loop by another file of the run.

        It must run the network for its answer alone, as it shows itself or by what its callers make of that: what it
        keeps besides, a method of the object may train on. No method that gives the state up may be called in that
        loop, and the object must not be made there.
        """
        function, owner = store.function, store.function.owner
        if owner is None or is_forward(function) or self.solution.callers.get(function):
            return False
        is_read = function in self.facts.inferences.found or self.judgement.is_only_read(function)
        if not is_read and not keeps_all_to_itself(self.facts, made_by(store.value), store, homes):
            return False
        cutting = self.lifetimes.cut_by(homes)
        without = sorted({owner.name, *(one.name for one in cutting)})
        return function not in cutting and self.facts.repeats(function.asked_as, without)

    def _infers_by_itself(self, store: Store) -> bool:
        """Whether a function of which no caller is seen puts the module into evaluation mode and goes on with it."""
        made = made_by(store.value)
        is_reset = self.lifetimes.outlives([], store.function, store.loop)
        return made.evaluating and not is_reset and not self.solution.callers.get(store.function)

    @cached_property
    def _reads_of(self) -> dict[object, list[Value]]:
        """For each place the values that read it."""
        found: dict[object, list[Value]] = {}
        for value in self.solution.graph.of(Op.READ, Op.ATTRIBUTE, Op.SUBSCRIPT):
            for place in self.solution.read_from(value):
                found.setdefault(place, []).append(value)
        return found

    @cached_property
    def _items_of(self) -> dict[object, list[Value]]:
        """For each place and each container the values that are items of what is there."""
        found: dict[object, list[Value]] = {}
        for value in self.solution.graph.values:
            holder = _looked_up_in(value)
            for home in homes_of(self.solution, holder) if holder is not None else ():
                found.setdefault(home, []).append(value)
        return found

    # -- what becomes of the chain --------------------------------------------------------------------------------

    def _is_cut(self, phi: Value, loop: Loop) -> bool:
        """Whether something in the loop detaches the state in place: ``for part in state: part.detach_()``."""
        return any(
            call.callee.op is Op.ATTRIBUTE and call.callee.name == "detach_"
            and call.loop is not None and loop in call.loop.around()
            and phi.name in {value.name for value in call.computed_from()}
            for call in self.steps.calls_in(loop.function)
        )  # fmt: skip


def _looked_up_in(value: Value) -> Value | None:
    """That of which ``value`` is an item: ``states[key]``, ``states.get(key)``, ``states.pop(key, None)``."""
    if value.op is Op.SUBSCRIPT:
        return value.inputs[0]
    is_look = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ("get", "pop")
    return value.callee.inputs[0] if is_look and value.arguments else None


def _may_be_same(one: Key, other: Key) -> bool:
    return one is None or other is None or one == other


def _is_set_by_method(place: Place) -> bool:
    """Whether a property is assigned, whose object keeps what its setter makes of that."""
    return isinstance(place.owner, Class) and place.owner.setter(place.path) is not None
