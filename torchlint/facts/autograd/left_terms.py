"""Terms of a loss that a forward leaves on its object, where nothing but an inference runs that forward.

``labels = predict(model, x)``, and then ``model.balance.backward()``: who switches gradients off around the prediction
takes the graph of ``balance``. Where the training runs the forward as well, it is that one's term which is read.
"""

from __future__ import annotations

from functools import cached_property

from torchlint.facts.autograd.left_behind import LeftBehind
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.graph import Function, Kind, Value
from torchlint.facts.values.running import run_by


class LeftTerms:
    """Answers for the calls of one file whether a backward needs what they leave behind."""

    def __init__(self, steps: Steps, project: Imports) -> None:
        """Look when first asked; ``project``: what other files do."""
        self.steps, self.flows, self.solution = steps, steps.flows, steps.solution
        self._left_behind = LeftBehind(steps, project)
        self._run: dict[Value, frozenset[Function]] = {}

    def has(self, call: Value) -> bool:
        """Whether a CALL leaves on an object what a backward elsewhere starts from, and no other call leaves it.

        Or on the object that is made of it: whoever makes one may train on that.
        """
        if call.function.name == "__init__" and self._left_behind.is_trained(call.function):
            return True
        left = self._leaving.intersection(self._run_by(call)) if self._leaving else ()
        return any(not self._is_left_by_another(function, call) for function in left)

    def are_wanted(self, function: Function, calls: list[Value]) -> bool:
        """Whether a backward may go over what ``function`` leaves behind by some CALLs, or begins and goes on with.

        What asks whether gradients are on wants them as well.
        """
        left = self._left_behind
        return any(map(self._remembers, calls)) or left.is_trained(function) or left.asks_for_mode(function)

    def _remembers(self, call: Value) -> bool:
        """Whether a CALL may be the first to set what later ones go on with, and a backward runs over that.

        ``if self.known is None: self.known = self.encode(x)``: without gradients it would be known without a graph.
        """
        return bool(self._remembering) and not self._remembering.isdisjoint(self._run_by(call))

    @cached_property
    def _remembering(self) -> frozenset[Function]:
        """The functions that begin an attribute, or an item of one, with what flows into a backward."""
        begun = (store for store in self.solution.graph.stores if store.value in self.solution.graph.beginnings)
        return frozenset(
            store.function
            for store in begun
            if (store.attribute or store.is_item) and store.value in self.flows.trained
            if self.flows.live_parts(store.value)
        )

    def _is_left_by_another(self, function: Function, call: Value) -> bool:
        """Whether a call elsewhere that records a graph as well runs the ``function``, and not by way of ``call``."""
        within = {call.function, *self._run_by(call)}
        return any(
            other.function not in within and not other.evaluating and self.flows.modes.records(other)
            for other in self.solution.callers.get(function, {})
        )

    @cached_property
    def _leaving(self) -> frozenset[Function]:
        """The functions that set attributes to what another one's backward starts from, or add it to one's list."""
        trained = self._left_behind.trained_reads
        return frozenset(
            store.function
            for store in (self.solution.graph.stores if trained else ())
            if store.kind is Kind.INSERT or (store.kind is Kind.ASSIGN and store.attribute)
            if not surely_graphless(self.solution.final(store.value))
            for place in self._left_behind.places(store)
            if any(read.function is not store.function for read in trained.get(place, ()))
        )

    def _run_by(self, call: Value) -> frozenset[Function]:
        """The functions that a CALL runs, however deep."""
        if call not in self._run:
            self._run[call] = frozenset(run_by(self.steps, [call]))
        return self._run[call]
