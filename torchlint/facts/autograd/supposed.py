"""Tensors that may well have a graph, where the file does not show who decides: a note says "if it has one".

Two things speak for a graph without proving it. What one call returns beside the loss that is trained on was computed
in the same breath: ``loss, parts = criterion(...)``. And what a layer computes from its input while it trains has the
graph of the layers before it, whoever they are. What averages the weights of a model that it is given has one unless
all who call it, of whom none is seen, switch gradients off.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.accumulations import Accumulation, Accumulations
from torchlint.facts.autograd.handovers import Handovers
from torchlint.facts.autograd.insertions import may_come_again
from torchlint.facts.autograd.liveness import ENDS
from torchlint.facts.autograd.returned_losses import ReturnedLosses, is_layer_input
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.values.domain import Carrier, Derived, is_graphless
from torchlint.facts.values.extents import is_loss_function
from torchlint.facts.values.frameworks import is_forward, watches_networks
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameter_lists import lists_parameters
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.returned_items import is_part_of_several, items_at, kept_in_field
from torchlint.syntax.tree import branches, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

FURTHEST = 200
"""How many values are looked at behind one."""

CALLERS = 2
"""So many functions may stand between ``if self.training:`` and what is done then."""


class Suppositions:
    """Answers for one file."""

    def __init__(self, facts: Facts) -> None:
        """Ask ``facts`` what is a tensor and what is trained on."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows

    def accumulations(self) -> list[Accumulation]:
        """Updates from tensors that may have a graph, where no operand surely brings one."""
        lifetimes = self.facts.lifetimes
        beside = Accumulations(lifetimes, self.comes_beside_loss).found if self.flows.spent_roots else []
        may_train = self._asks_whether_it_trains or self._returns_loss or self._watches_networks
        states = Accumulations(lifetimes, self.is_from_layer_input).found if may_train else []
        states = [state for state in states if state.is_state and self._is_for_training(state)]
        found = [*beside, *states, *self._averages()]
        once = {accumulation.statement: accumulation for accumulation in reversed(found)}
        return [once[statement] for statement in once if statement not in self.facts.accumulating]

    def _averages(self) -> list[Accumulation]:
        """``self.shadow[name] = self.shadow[name] * rate + param * (1 - rate)``, in a method without callers.

        A class that averages weights is called after each step, by whoever trains.
        """
        if not self._averaging:
            return []
        states = Accumulations(self.facts.lifetimes, comes_again=self._may_come_again).found
        return [state for state in states if state.is_state and state.update.function in self._averaging]

    def _may_come_again(self, function: Function) -> bool:
        """Whether a method may be called in each step by whoever makes objects of its class, of whom none is seen."""
        owner = function.owner
        if owner is None or not may_come_again(function):
            return False
        is_made = bool(self.facts.lifetimes.births.objects_of.get(owner.root()))
        return not is_made and not self.facts.others_mention(owner.name)

    @cached_property
    def _averaging(self) -> frozenset[Function]:
        """The methods that go through the parameters of a model that they are given."""
        lists = filter(lists_parameters, self.facts.calls())
        given = (call for call in lists if call.callee.inputs[0] in call.function.parameters[1:])
        return frozenset(call.function for call in given if call.function.owner is not None)

    def _is_for_training(self, state: Accumulation) -> bool:
        """Whether a state is updated where a layer trains, or by what only a loss that the layer returns is made of.

        An observer is called with the activations of a network, also while that trains.
        """
        if watches_networks(state.update.function):
            return True
        if self._is_training(state.update):
            return True
        return any(self._losses.train_through(use.value, state.held) for use in state.added)

    def records(self) -> list[KeptElsewhere]:
        """What a layer that trains hands to a function of another file, be it one it inherits, for a running state."""
        handed = (
            (kept for kept in kept_elsewhere(self.facts) if kept.keep.is_state) if self._asks_whether_it_trains else ()
        )
        return [
            kept
            for kept in handed
            if self.is_from_layer_input(kept.given.value)
            and self._is_training(kept.call)
            and self._handovers.keeps_graph(kept.call, kept.keep)
            and kept.outlives(self.facts)
            and not self._handovers.is_used(kept.given.value, kept)
        ]

    @cached_property
    def _handovers(self) -> Handovers:
        return Handovers(self.facts)

    @cached_property
    def _losses(self) -> ReturnedLosses:
        return ReturnedLosses(self.facts, self._behind)

    @cached_property
    def _returns_loss(self) -> bool:
        forwards = (f for f in self.facts.graph.functions if f.owner is not None and is_forward(f))
        return any(is_loss_function(call) for one in forwards for call in self.facts.steps.calls_in(one))

    @cached_property
    def _watches_networks(self) -> bool:
        return any(map(watches_networks, self.facts.graph.functions))

    @cached_property
    def _asks_whether_it_trains(self) -> bool:
        return any(value.name == "training" for value in self.facts.graph.of(Op.ATTRIBUTE))

    def comes_beside_loss(self, value: Value) -> bool:
        """Whether ``value`` is computed from a tensor that a call returns beside one over which a backward runs."""
        return bool(self._beside(value, set()))

    def _beside(self, value: Value, seen: set[Value]) -> bool | None:
        """Whether a tensor lies on the way from ``value`` back to what stands beside a loss; None without a way."""
        if value in seen or len(seen) > FURTHEST or all(map(is_graphless, self.solution.final(value))):
            return None
        seen.add(value)
        ways = [way for source in self._operands(value) if (way := self._beside(source, seen)) is not None]
        if not ways and not self._is_beside_loss(value):
            return None
        return any(ways) or self._is_derived(value) or self.facts.tensors.is_used_as_tensor(value)

    def _is_derived(self, value: Value) -> bool:
        """Whether a function computes a tensor of what it is given: nobody knows here whether that has a graph."""
        return self.solution.may_be(value, Derived)

    def is_from_layer_input(self, value: Value) -> bool:
        """Whether ``value`` is a tensor that is computed from what a layer is called with."""
        return self.facts.tensors.is_tensor(value) and any(map(is_layer_input, self._behind(value)))

    def _is_training(self, value: Value, depth: int = CALLERS) -> bool:
        """Whether it is computed in training, or all who call its function do so there."""
        if value in self.facts.graph.training or self._is_asked_for(self.facts.statement_of(value)):
            return True
        calls = self.solution.callers.get(value.function, ()) if depth else ()
        return bool(calls) and all(self._is_training(call, depth - 1) for call in calls)

    def _is_asked_for(self, statement: cst.CSTNode) -> bool:
        """Whether it stands under a condition that training may fulfil: ``if self.training or not self.frozen:``."""
        around = branches(self.facts.parents, statement)
        return any(branch is test.body and _asks_for_training(test.test) for test, branch in around)

    def _behind(self, value: Value) -> list[Value]:
        """What ``value`` is computed from as far as a graph may come along: nothing behind ``.detach()``."""
        pending, seen = [value], dict[Value, None]()
        while pending and len(seen) < FURTHEST:
            current = pending.pop()
            if current in seen or all(map(is_graphless, self.solution.final(current))):
                continue
            seen[current] = None
            pending += self._operands(current)
        return list(seen)

    def _operands(self, value: Value) -> list[Value]:
        if value.op in (Op.PHI, Op.CONTAINER):
            return list(value.inputs)
        if value.op is Op.OPERATION:
            return list(value.inputs) if self.facts.modes.records(value) else []
        if value.op is Op.ATTRIBUTE:
            kept = kept_in_field(self.solution, value)
            return kept or (list(value.inputs) if is_part_of_several(self.solution, value) else [])
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            whole = value.inputs[0]
            if whole.op is Op.CALL and not self.facts.modes.records(whole):
                return []
            return items_at(self.solution, value) or ([] if whole.op is Op.CONTAINER else [whole])
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        if value.op is not Op.CALL or not self.facts.modes.records(value):
            return []
        if (value.callee.op is Op.ATTRIBUTE and value.callee.name in ENDS) or _is_number_within(value):
            return []
        results = [f.result for f in self.solution.functions_of(value) if f.result is not None]
        receiver = list(value.callee.inputs[:1]) if value.callee.op is Op.ATTRIBUTE else []
        return results or [*receiver, *value.arguments]

    def _is_beside_loss(self, value: Value) -> bool:
        """Whether ``value`` is an item of what a call returns of which another item is trained on."""
        call = value.inputs[0].unnarrowed() if value.op in (Op.ELEMENT, Op.SUBSCRIPT) else value
        key = value.keys[0] if call is not value else None
        if key is None or call.op is not Op.CALL:
            return False
        if items_at(self.solution, value):
            return False  # what the file's own function gives there is known
        if not self._is_derived(value) and not self.solution.may_be(call, Carrier):
            return False
        others = (user for user in call.users if user.op in (Op.ELEMENT, Op.SUBSCRIPT) and user.keys[0] != key)
        return self.facts.modes.records(call) and any(other in self._spent_losses for other in others)

    @cached_property
    def _spent_losses(self) -> frozenset[Value]:
        """What losses are made of with their graphs, up to the networks: what these are given need have none."""
        ways = reached([backward.root for backward in self.solution.graph.all_backwards()], self._up_to_networks)
        return self.flows.spent_roots.intersection(ways)

    def _up_to_networks(self, value: Value) -> Iterable[Value]:
        is_end = self.facts.steps.calls_module(value) or all(map(is_graphless, self.solution.final(value)))
        return () if is_end else self.flows.ancestry.sources(value)


def _is_number_within(call: Value) -> bool:
    """``max(count, 1)``: whether a CALL is Python's own for the larger or smaller of numbers, one of them written."""
    is_pick = call.callee.op is Op.EXTERNAL and call.callee.name in ("builtins.max", "builtins.min")
    return is_pick and any(given.op is Op.CONSTANT for given in call.arguments)


def _asks_for_training(test: cst.BaseExpression) -> bool:
    """Whether a condition holds in training: it names ``.training``, and not to deny it."""
    denied = {
        inner for node in walk(test) if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
        for inner in walk(node.expression)
    }  # fmt: skip
    return any(
        isinstance(node, cst.Attribute) and node.attr.value == "training" and node not in denied for node in walk(test)
    )
