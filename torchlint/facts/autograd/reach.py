"""What one backward runs over: the recorded values behind its root, call by call, and whether another needs them too.

``flows.py`` asks whether a value can reach a backward, and errs towards yes. Here the question is whether two backwards
run over the *same* graph, and a graph is made anew by each call of a module and each turn of a loop: what lies inside a
callee belongs to that call alone and is not compared, what stands outside the loop of the backward is met again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import (
    ClassReference,
    Container,
    Differentiable,
    FunctionReference,
    History,
    Instance,
    Module,
    Tensor,
    is_graphless,
    sorted_values,
)
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Backward, Function, Loop, Op, Place, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.library_calls import LIKE_ANOTHER
from torchlint.facts.values.literals import literal
from torchlint.facts.values.loss_forms import is_moved
from torchlint.facts.values.parameters import spread_into
from torchlint.facts.values.reaching import ends, reached

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.values.solve import Solution

MOST_CALLERS = 4
"""So many calls of one function are followed."""

OBJECTS = (Module, Instance, FunctionReference, ClassReference, Differentiable)


@dataclass(frozen=True)
class Reach:
    """The graph of one backward.

    Attributes:
        values: what is recorded in it, in the function of the backward, in its callers and behind attributes.
        containers: lists and the like (not made by a call within it) in which parts of it are.
        places: attributes, globals and captured variables by which it gets parts of it.
        positions: the functions in which values are looked at, with the loop around the backward there.
        is_open: True when a part comes from callers that are not seen, or from one of several, a container that was
            made elsewhere holds parts, or it goes through gradients.
    """

    values: frozenset[Value]
    containers: frozenset[Value]
    places: frozenset[Place]
    positions: tuple[tuple[Function, Loop | None], ...]
    is_open: bool

    def is_met_again(self) -> bool:
        """Whether a part of it is older than the present turn of a loop around the backward."""
        for function, loop in self.positions:
            if loop is None:
                continue
            around = loop.around()
            for value in self.values | self.containers:
                if value.function is not function:
                    continue
                if value.loop is None or loop not in value.loop.around():
                    return True
                if any(value in one.phis for one in around):
                    return True
        return False


def reach_of(facts: Facts, backward: Backward, call: Value | None = None) -> Reach:
    """The graph over which ``backward`` runs, where its function is called from several places by ``call``."""
    return _Walk(facts, backward, call).reach()


def reaches_of(facts: Facts, backward: Backward) -> list[Reach]:
    """The graphs over which ``backward`` runs, one for each place from which its function is called."""
    calls = sorted(facts.solution.callers.get(backward.function, ()), key=lambda call: call.index)
    return [reach_of(facts, backward, call) for call in calls] or [reach_of(facts, backward)]


def _taken_out_of(item: Value) -> Sequence[Value]:
    """What an item is taken out of, be that by a method, or the item itself where it is written beside others."""
    if item.op is Op.CALL:
        return item.callee.inputs if item.callee.op is Op.ATTRIBUTE and not item.arguments else ()
    if item.op not in (Op.ELEMENT, Op.SUBSCRIPT):
        return ()
    row, key = item.inputs[0], item.keys[0]
    if row.op is not Op.CONTAINER:
        return [row]
    return [one for place, one in zip(row.keys, row.inputs, strict=True) if place == key]


def _is_of_turn(part: Value) -> bool:
    """``batch.labels``: whether a value is a part of what a loop draws in each turn."""
    while part.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT) and part.inputs:
        if part.op is Op.ELEMENT and part.loop is not None:
            return True
        part = part.inputs[0]
    return False


def _is_number(parameter: Value) -> bool:
    """``queries=15``: whether a whole number is what a parameter is by default; at 0 a sum of losses may begin."""
    default = parameter.inputs[0].syntax if parameter.inputs else None
    return isinstance(default, cst.Integer) and default.evaluated_value != 0


def _is_of_tensor(call: Value) -> bool:
    return call.callee.op is Op.ATTRIBUTE and torch_api.method(call.callee.name) is not None


def may_be_recorded(solution: Solution, value: Value) -> bool:
    """Whether ``value`` may be computed with gradients on, or hold what is: no number, no module, no parameter."""
    atoms = solution.final(value)
    leaf = Tensor(History.LEAF)
    nothing = all(is_graphless(atom) or isinstance(atom, OBJECTS) or atom == leaf for atom in atoms)
    return not nothing or (value.op is Op.CONTAINER and not all(map(is_graphless, atoms)))


class _Walk:
    """One walk from the root of a backward."""

    def __init__(self, facts: Facts, backward: Backward, call: Value | None) -> None:
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.backward, self.call = backward, call
        self.positions: list[tuple[Function, Loop | None]] = [(backward.function, backward.loop)]
        self.values: set[Value] = set()
        self.containers: set[Value] = set()
        self.places: set[Place] = set()
        self.forked: set[Function] = set()  # those one of which leads to this backward, who knows which
        self.is_open = False
        self.roots = {backward.root}

    def reach(self) -> Reach:
        seen: dict[Value, bool] = {}
        pending = [(self.backward.root, False)]
        while pending:
            value, inside = pending.pop()
            if value in seen and (inside or not seen[value]):
                continue
            # A gradient's own graph is that of the backward that made it, which may lie a while back.
            self.is_open |= value.op is Op.ATTRIBUTE and value.name == "grad"
            if not may_be_recorded(self.solution, value):
                continue
            seen[value] = inside
            if not inside and value.op is not Op.CONTAINER and self._is_recorded(value):
                self.values.add(value)
            if not inside:
                filled = self._filled(value)
                self.containers.update(filled)
                # What is read from an attribute and was made elsewhere may be older than this step.
                is_place = bool(filled) and value.op in (Op.READ, Op.ATTRIBUTE)
                self.is_open |= is_place and any(c.function is not value.function for c in filled)
            self.is_open |= not inside and self._begins_unseen(value)
            pending.extend(self._next(value, inside))
        self.is_open |= any(value.function in self.forked for value in (*self.values, *self.containers))
        return Reach(
            frozenset(self.values),
            frozenset(self.containers),
            frozenset(self.places),
            tuple(self.positions),
            self.is_open,
        )

    def _is_recorded(self, value: Value) -> bool:
        """Whether a value has a graph; what a network gives may have one whatever is known of its forward."""
        if self.flows.live(value) is not None:
            return True
        return value.op is Op.CALL and self.facts.steps.calls_module(value) and self.flows.modes.records(value)

    def _begins_unseen(self, value: Value) -> bool:
        """Whether ``value`` has its graph, by all that is seen, from an attribute that is set elsewhere."""
        if value.op is not Op.CALL or not self.flows.is_arithmetic(value):
            return False
        receiver = [value.callee.inputs[0]] if _is_of_tensor(value) else []
        given = () if is_moved(value) else value.arguments  # a move is given a device
        operands = [one for one in (*receiver, *given) if may_be_recorded(self.solution, one)]
        return bool(operands) and all(
            one.op is Op.ATTRIBUTE
            and not _is_of_turn(one)
            and all(
                kept.op is Op.GIVEN for p in self.solution.read_from(one) for kept in self.solution.stored.get(p, ())
            )
            and self.flows.live(one) is None
            for one in operands
        )

    def _filled(self, value: Value) -> list[Value]:
        """The containers that ``value`` may be into which graphs are put after they were made."""
        made = allocations_of(self.solution, value)
        return [
            allocation
            for allocation in made
            if any(
                held not in allocation.inputs and self.flows.live(held) is not None
                for _, held in self.solution.held.get(allocation, ())
            )
        ]

    def _next(self, value: Value, inside: bool) -> Iterator[tuple[Value, bool]]:
        """The values behind ``value``, each with whether it belongs to a call of another function."""
        if value.op is Op.PARAMETER:
            if not inside:
                given = self._ascend(value)
                self.roots.update(given if value in self.roots else ())
                yield from ((one, False) for one in given)
        elif value.op is Op.CALL:
            yield from ((f.result, True) for f in self.solution.functions_of(value) if f.result is not None)
            if value.callee.op is Op.EXTERNAL and meaning_of(value.callee.name) in (Meaning.ITEM, Meaning.COLLECTS):
                for argument in value.arguments:
                    yield from self._taken_from(argument, inside)
            elif not (value.callee.op is Op.ATTRIBUTE and value.callee.name in LIKE_ANOTHER):
                given, unyielded, drawn = self.flows.ancestry.given_to(value), *self._given_to_generator(value)
                yield from ((one, inside) for one in value.arguments if one in given and one not in unyielded)
                for argument in drawn:
                    yield from self._taken_from(argument, inside)
            if value.callee.op is Op.ATTRIBUTE and (_is_of_tensor(value) or self.flows.carries(value.callee.inputs[0])):
                yield value.callee.inputs[0], inside  # also `outputs.log_prob(action)`, of what a network made
            yield from self._held(value, inside)
        elif value.op in (Op.READ, Op.ATTRIBUTE) and (places := self.solution.read_from(value)):
            for place in places:
                stored = self.solution.stored.get(place, ())
                self.places.update([place] if any(may_be_recorded(self.solution, kept) for kept in stored) else [])
                yield from ((kept, False) for kept in stored)
            yield from self._held(value, inside)
        elif value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            self.is_open |= value in self.roots and self._is_handed_in(value)
            yield from self._taken_from(value.inputs[0], inside)
        elif value.op is not Op.COMPARISON:
            yield from ((source, inside) for source in self.flows.ancestry.sources(value))

    def _held(self, value: Value, inside: bool) -> Iterator[tuple[Value, bool]]:
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Container):
                is_own = self._makes(value, atom.allocation)
                if is_own and not self.flows.modes.records(value):
                    continue  # targets that a network gave under `no_grad` lie in the same list of its forward
                items = [held for _, held in self.solution.held.get(atom.allocation, ())]
                if is_own and not inside and any(map(self._is_recorded, items)):
                    self.values.add(value)  # in place of what it holds
                yield from ((held, inside or is_own) for held in items)

    def _makes(self, call: Value, container: Value) -> bool:
        """Whether a container is made by the function that ``call`` runs, anew each time, and kept nowhere else."""
        if call.op is not Op.CALL or container.function not in self.solution.functions_of(call):
            return False
        kept = (store for store in self.facts.graph.stores if store.place is not None or store.holder is not None)
        return not any(container in allocations_of(self.solution, store.value) for store in kept)

    def _is_handed_in(self, loss: Value) -> bool:
        """``for name, loss in losses.items()``: whether callers that are not seen hand over what is differentiated."""
        values = ends([loss], lambda value: _taken_out_of(value) or self._given(value))
        return any(value.op is Op.PARAMETER for value in values)

    def _taken_from(self, source: Value, inside: bool) -> Iterator[tuple[Value, bool]]:
        """What an item is taken from, if that may hold a graph; an item of anything else is a part of a batch."""
        if source.op is not Op.PARAMETER and not self._given_there(source):
            is_computed = source.op is not Op.CALL or bool(self.solution.functions_of(source)) or _is_of_tensor(source)
            if is_computed or self.flows.carries(source) or self._holds_unknown(source):
                yield source, inside
        elif not inside:
            for value in ends([source], self._given):
                if value.op is not Op.PARAMETER:  # however far up; where that ends at a parameter, it is a batch
                    self.is_open |= self._holds_older(value)
                    yield value, False

    def _given(self, source: Value) -> list[Value]:
        """What calls pass for a parameter, or the parameters that an attribute was set to."""
        return self.solution.arguments_of(source) if source.op is Op.PARAMETER else self._given_there(source)

    def _given_to_generator(self, call: Value) -> tuple[list[Value], list[Value]]:
        """What a CALL gives to a generator of the file that does not yield it, and of which of that it yields items."""
        unyielded, drawn = [], []
        for function in self.solution.functions_of(call):
            loops = function.yielding_loops if not function.is_foreign else []
            for parameter, argument in self.solution.callers[function].get(call, {}).items() if loops else ():
                if argument is None:
                    continue
                if any(one.iterable is not None and parameter in one.iterable.computed_from() for one in loops):
                    drawn.append(argument)
                if parameter not in self._behind(function):
                    unyielded.append(argument)
        return unyielded, drawn

    def _behind(self, function: Function) -> set[Value]:
        """All that is behind what a function returns or yields, its own parameters among it."""
        results = [function.result] if function.result is not None else []
        return set(reached(results, lambda value: [source for source, _ in self._next(value, True)]))

    def _given_there(self, source: Value) -> list[Value]:
        """The parameters that an attribute was set to, ``self.loader = loader``, where nothing else is kept there."""
        places = self.solution.read_from(source) if source.op in (Op.READ, Op.ATTRIBUTE) else []
        stored = [kept for place in places for kept in self.solution.stored.get(place, ())]
        if not stored or not all(kept.op is Op.PARAMETER for kept in stored):
            return []
        inserted = (store.holder for store in self.facts.graph.stores if store.holder is not None)
        return [] if any(one in places for holder in inserted for one in self.solution.read_from(holder)) else stored

    def _holds_older(self, source: Value) -> bool:
        """Whether a container holds graphs and was made outside all loops: no turn of one makes it anew."""
        items = reached(self._held_outside(source), self._held_outside)
        return any(self.flows.live(item) is not None for item in items)

    def _held_outside(self, value: Value) -> list[Value]:
        """What is in the containers that a value may be and that are made outside all loops."""
        made = [one for one in allocations_of(self.solution, value) if self._loop_of(one, value) is None]
        return [item for one in made for _, item in self.solution.held.get(one, ())]

    def _loop_of(self, container: Value, value: Value) -> Loop | None:
        """The loop in whose turns a container is made; what a called function makes is made anew by each call."""
        return value.loop if self._makes(value, container) else container.loop

    def _holds_unknown(self, source: Value) -> bool:
        """Whether a container is known, and what is put into it is not all known to have no graph."""
        made = (a.allocation for a in self.solution.final(source) if isinstance(a, Container))
        return any(may_be_recorded(self.solution, held) for m in made for _, held in self.solution.held.get(m, ()))

    def _ascend(self, parameter: Value) -> list[Value]:
        """What the calls of the function pass; open where there is none, or too many to follow."""
        calls = self.solution.callers.get(parameter.function, {})
        if _is_number(parameter) or (not calls and (self._is_setting(parameter) or self._is_batch(parameter))):
            return []
        chosen = [self.call] if self.call in calls else list(calls)
        if not 0 < len(chosen) <= MOST_CALLERS:
            self.is_open = True
            return []
        if len(chosen) > 1 or parameter.function in self.forked:
            self.forked.update(call.function for call in chosen)
        return [one for call in chosen for one in self._given_by(call, parameter)]

    def _given_by(self, call: Value, parameter: Value) -> list[Value]:
        """What one call passes."""
        position = (call.function, call.loop)
        if position not in self.positions:
            self.positions.append(position)
        given = self.solution.callers[parameter.function][call].get(parameter)
        if given is not None:
            return [given]
        spread = spread_into(call)
        if not spread and not parameter.inputs:
            self.is_open = True
        return spread

    def _is_setting(self, parameter: Value) -> bool:
        """``weight=100.0``: whether a parameter is a number or a word by default, and no tensor."""
        return isinstance(literal(self.solution, parameter), int | float | str)

    def _is_batch(self, parameter: Value) -> bool:
        """Whether other files alone call a function, and pass batches for this parameter."""
        function = parameter.function
        position = function.parameters.index(parameter) - (function.owner is not None)
        return not {position, parameter.name}.isdisjoint(self.facts.others_pass_batches(function.asked_as))
