"""Carried states: what one step computes with a graph and feeds to the next one, so that the graphs form one chain.

A recurrent state or a cache goes through a module (or a function that runs one) and comes back into the variable or
attribute from which it was taken. Sums and running averages, which go through arithmetic alone, are told by
``accumulations.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.chains import DEPTH, PAIR_STATES, TENSOR_STATES, Chains, items_under
from torchlint.facts.autograd.cut_behind import is_cut_behind
from torchlint.facts.autograd.decided import is_volatile, needs_newer_torch
from torchlint.facts.autograd.gradient_ends import ends_in_its_step
from torchlint.facts.autograd.kept_to_itself import keeps_all_to_itself
from torchlint.facts.repeated.builders import builders
from torchlint.facts.turns.counters import counts_its_turns
from torchlint.facts.turns.forwards import is_made_within_forward, is_within_forward
from torchlint.facts.values.domain import Derived, Instance, Tensor
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Backward, Class, Function, Key, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.parameters import inputs_across_calls
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import text_of, written_key

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Carried:
    """A state that is carried from step to step with its graph.

    Attributes:
        statement: where the new state comes from the old one.
        name: the variable or attribute, as the program writes it.
        value: the new state.
        old: the old state where it goes into the new one.
        retained: True when a backward runs over the chain in each step and retains it; False where none does.
        bounded: True where a loop makes a number of steps that is given, as a decoder does.
        breaks: True where a backward of each step frees the chain, so that the next one raises.
        kind: "tensor", "pair" of tensors, or "" where it is not known: how it is detached.
        is_supposed: True where code that is not seen makes it, which may hand the old one back as it is.
    """

    statement: cst.CSTNode
    name: str
    value: Value
    old: Value
    retained: bool
    bounded: bool
    kind: str
    breaks: bool = False
    is_supposed: bool = False


class CarriedStates:
    """Finds the carried states of a file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.steps, self.lifetimes = facts.steps, facts.lifetimes
        self.repetitions = facts.repetitions
        self.chains = Chains(facts)

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
                carried = self._judged(statement, phi.name, back, phi)
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
        carried = self._judged(statement, name + (written_key(store) if is_item else ""), value, old)
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
        is_read = function in self.facts.inferences.found or self._is_only_read(function)
        if not is_read and not keeps_all_to_itself(self.facts, made_by(store.value), store, homes):
            return False
        cutting = self.lifetimes.cut_by(homes)
        without = sorted({owner.name, *(one.name for one in cutting)})
        return function not in cutting and self.facts.repeats(function.asked_as, without)

    def _is_only_read(self, function: Function) -> bool:
        """Whether only other files of the run are seen to call a function, and make numbers of what it gives."""
        return not self.solution.callers.get(function) and self.facts.others_only_read(function.name)

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

    def _judged(self, statement: cst.CSTNode, name: str, new: Value, old: Value) -> Carried | None:
        """The finding, unless the chain is trained through, may be so elsewhere, or could not even run."""
        made = made_by(new)
        if made.op is Op.CALL and is_volatile(self.solution, made) and not needs_newer_torch(self.solution):
            return None  # nothing that such an input goes into has a graph
        if self._is_handed_back(made, old):
            return None
        backwards = (b for b in self.solution.graph.all_backwards() if not ends_in_its_step(self.facts, b, old))
        over = [b for b in backwards if old in self.flows.ancestry.of(b.root) and not self._is_beside(b, new, old)]
        # A second backward through the first step's part raises unless the first has retained it: a program that runs
        # cuts the chain where that is not seen.
        breaks = any(backward.by_contract or not backward.retains for backward in over)
        is_known = old in self.solution.loop_variables or self._is_known_whole(old)
        if breaks and (any(b.by_contract or b.inputs for b in over) or not is_known or not self._is_seen(new)):
            return None
        gone = self.flows.escaped | self.flows.shown | self.flows.kept_by_others
        leaves = new in gone or old in gone
        if not over and leaves and not self._infers(new):
            return None
        loop = made_by(new).loop
        bounded = loop is not None and counts_its_turns(loop)
        kind = "" if leaves and not over else self._kind_of(new)  # what others are given is left to a person
        is_supposed = made.op is Op.CALL and not self.solution.functions_of(made) and not self._is_seen(new)
        return Carried(statement, name, new, old, bool(over), bounded, kind, breaks, is_supposed)

    def _is_known_whole(self, old: Value) -> bool:
        """Whether all that becomes of an attribute is seen: its class stands here, and no other file speaks of it."""
        places = self.solution.read_from(old) if old.op is Op.ATTRIBUTE else []
        return bool(places) and all(
            isinstance(place.owner, Class) and not place.owner.is_foreign and not self.facts.others_mention(place.path)
            for place in places
        )

    def _is_seen(self, new: Value) -> bool:
        """Whether all that makes a state is seen: a recurrent module of torch, or functions that run one."""
        if made_by(new).op is not Op.CALL:
            return False
        states = self._returned_as(new, DEPTH)
        of_modules = all(made_by(state).op is Op.CALL and self._kind_of(state) for state in states)
        return of_modules or self._is_of_other_file(new)

    def _is_of_other_file(self, new: Value) -> bool:
        """Whether a state comes back through a network of another file, which tells so."""
        chains, functions = self.solution.graph.foreign.chains, self.solution.functions_of(made_by(new))
        return bool(functions) and all(function in chains for function in functions)

    def _is_beside(self, backward: Backward, new: Value, old: Value) -> bool:
        """Whether a backward runs over other items of what makes the new state, none of which comes of the old one.

        ``out, memory = net(x, memory)`` where the network reads ``memory.detach()`` for ``out``.
        """
        if new in self.solution.loop_variables and new is not old:
            return all(self._is_beside(backward, back, new) for back in new.inputs[1:])  # what an inner loop carries on
        made = made_by(new)
        if made.op is not Op.CALL or not self.solution.functions_of(made):
            return False
        items = [part for part in made.users if part.op in (Op.ELEMENT, Op.SUBSCRIPT)]
        before = self.flows.ancestry.of_all([backward.root], unread={made})
        if len(items) < len(made.users) or old in before:
            return False
        return not any(item in before and self.chains.comes_of(item, old) for item in items)

    def _is_handed_back(self, made: Value, old: Value) -> bool:
        """Whether a module may give the old state back as it is, to be spared computing it again.

        One that is not seen is supposed to be like those of the file that take the same arguments by name.
        """
        if made.op is not Op.CALL:
            return False
        functions = self.solution.functions_of(made)
        if functions:
            given = [(f, *pair) for f in functions for pair in self.solution.callers.get(f, {}).get(made, {}).items()]
            return any(
                one is not None and _is_of(old, one) and self.chains.hands_back(function, parameter)
                for function, parameter, one in given
            )
        named = {str(key): given for key, given in zip(made.keys[1:], made.arguments, strict=True) if _is_name(key)}
        taken = [name for name, given in named.items() if _is_of(old, given)]
        forwards = filter(is_forward, self.solution.graph.functions)
        taking = ({parameter.name: (one, parameter) for parameter in one.parameters} for one in forwards)
        alike = [parameters for parameters in taking if named.keys() <= parameters.keys()]
        return bool(taken and alike) and all(self.chains.hands_back(*one[name]) for one in alike for name in taken)

    def _infers(self, new: Value) -> bool:
        """Whether the forward that makes a state is for its answer alone: evaluated, detached at once, only read."""
        if made_by(new).evaluating or self._is_only_read(made_by(new).function):
            return True
        states = self._returned_as(new, DEPTH)
        return bool(states) and all(map(self._is_detached_beside, states))

    def _returned_as(self, state: Value, depth: int) -> list[Value]:
        """The states that a forward makes, behind the functions of the file that return them."""
        functions = self.solution.functions_of(made_by(state)) if made_by(state).op is Op.CALL else []
        results = [result for f in functions if f.result is not None for result in f.result.inputs]
        items = [item for result in results for item in items_under(result, _key_of(state))]
        if not functions or depth == 0:
            return [state]
        return [found for item in items for found in self._returned_as(item, depth - 1)]

    def _is_detached_beside(self, state: Value) -> bool:
        """``out, state = net(x, state)`` where nothing but ``out.detach()`` is used of the answer."""
        made, key = made_by(state), _key_of(state)
        others = [part for part in made.users if part.op in (Op.ELEMENT, Op.SUBSCRIPT) and part.keys[0] != key]
        return bool(others) and all(part in self.flows.detached and part not in self.flows.leaving for part in others)

    def _kind_of(self, new: Value) -> str:
        """Whether a state is one tensor or a pair of them, by the module of torch that makes it."""
        call = made_by(new)
        if call.op is Op.OPERATION:
            return "tensor"
        if call.op is not Op.CALL:
            return ""
        names = {made.callee.name for made in builders(self.facts, call.callee)}
        if new is not call and new.inputs[0] is not call:  # `y, (h, c) = lstm(x)`: one of a pair
            return "tensor" if names and names <= PAIR_STATES.keys() else ""
        item = None if new is call else new.keys[0]
        if names and all(name in TENSOR_STATES and TENSOR_STATES[name] == item for name in names):
            return "tensor"
        if names and all(name in PAIR_STATES and PAIR_STATES[name] == item for name in names):
            return "pair"
        return "tensor" if names == {"torch.nn.LSTMCell"} and item is not None else ""


def made_by(state: Value) -> Value:
    """The call that makes a state, behind the item that is taken of what it returns."""
    while state.op in (Op.ELEMENT, Op.SUBSCRIPT):
        state = state.inputs[0]
    return state


def _is_of(old: Value, given: Value) -> bool:
    return given is old or old in given.computed_from()


def _looked_up_in(value: Value) -> Value | None:
    """That of which ``value`` is an item: ``states[key]``, ``states.get(key)``, ``states.pop(key, None)``."""
    if value.op is Op.SUBSCRIPT:
        return value.inputs[0]
    is_look = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ("get", "pop")
    return value.callee.inputs[0] if is_look and value.arguments else None


def _may_be_same(one: Key, other: Key) -> bool:
    return one is None or other is None or one == other


def _key_of(state: Value) -> Key:
    """Which item of what a forward returns a state is."""
    return state.keys[0] if state.op in (Op.ELEMENT, Op.SUBSCRIPT) else None


def _is_name(key: Key) -> bool:
    return isinstance(key, str)


def _is_set_by_method(place: Place) -> bool:
    """Whether a property is assigned, whose object keeps what its setter makes of that."""
    return isinstance(place.owner, Class) and place.owner.setter(place.path) is not None
