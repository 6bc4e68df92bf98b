"""Losses that a layer returns: what they are computed of alone has a graph, or nothing could be trained by them.

``return F.cross_entropy(scores, labels) + pull(features, self.means)``: the second term would be of no use if the
features, of which alone it is computed, had no graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.extents import Size, is_loss_function
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Op, Place, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

SUMS = frozenset(["Add", "Subtract", "AddAssign", "SubtractAssign"])
SCALINGS = frozenset(["Multiply", "Divide", "MultiplyAssign", "DivideAssign", "Minus"])


class ReturnedLosses:
    """Answers for the layers of one file."""

    def __init__(self, facts: Facts, behind: Callable[[Value], list[Value]]) -> None:
        """Ask ``behind`` what a value is computed of, as far as a graph may come along."""
        self.facts, self.solution = facts, facts.solution
        self._behind = behind
        self._known: dict[Function, tuple[frozenset[Value], ...]] = {}

    def train_through(self, value: Value, state: Value) -> bool:
        """Whether a layer returns a loss of which a term is computed of nothing but what ``value`` is computed of.

        Args:
            value: what a state is updated by.
            state: the state after that; a layer that returns a loss of it as it is would train through it.
        """
        inputs = self._inputs(value)
        forwards = {one.function for one in inputs}
        return len(forwards) == 1 and any(
            term <= inputs and not self._gives_on(forward, state) for forward in forwards for term in self._of(forward)
        )

    def _of(self, forward: Function) -> tuple[frozenset[Value], ...]:
        """The inputs of each term of the loss that a forward returns; none where it returns no loss of torch."""
        if forward not in self._known:
            terms = list(self._terms(forward))
            is_loss = any(self._is_loss(part) for term in terms for part in self._behind(term))
            kept = (term for term in terms if is_loss and self._is_of_inputs_alone(term))
            self._known[forward] = tuple(filter(None, map(self._inputs, kept)))
        return self._known[forward]

    def _terms(self, forward: Function) -> Iterator[Value]:
        """What a forward returns, or adds up to return it."""
        pending, seen = list(forward.result.inputs if forward.result is not None else ()), set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value.op in (Op.PHI, Op.CONTAINER) or (value.op is Op.OPERATION and value.name in SUMS):
                pending += value.inputs
                continue
            parts = [one for one in value.inputs if self._inputs(one)] if value.op is Op.OPERATION else []
            if len(parts) == 1 and value.name in SCALINGS:
                pending += parts
            elif self.facts.extents.of(value) is Size.REDUCED:
                yield value

    def _is_loss(self, value: Value) -> bool:
        return value.op is Op.CALL and (is_loss_function(value) or self.facts.extents.is_loss(value))

    def _is_of_inputs_alone(self, term: Value) -> bool:
        """Whether no network of the layer is run for a term: its weights would be what is trained."""
        return not any(self.facts.steps.calls_module(part) and not self._is_loss(part) for part in self._behind(term))

    def _inputs(self, value: Value) -> frozenset[Value]:
        return frozenset(filter(is_layer_input, self._behind(value)))

    def _gives_on(self, forward: Function, state: Value) -> bool:
        """Whether a forward returns what is computed of the state with the graph that it has."""
        results = forward.result.inputs if forward.result is not None else ()
        return any(not self._places(result).isdisjoint(self._places(state)) for result in results)

    def _places(self, value: Value) -> frozenset[Place]:
        reads = (part for part in self._behind(value) if part.op is Op.ATTRIBUTE)
        return frozenset(place for read in reads for place in self.solution.read_from(read))


def is_layer_input(value: Value) -> bool:
    """Whether ``value`` is what the forward of a layer of this file is called with from elsewhere."""
    return value.op is Op.PARAMETER and is_forward(value.function) and value in value.function.parameters[1:]
