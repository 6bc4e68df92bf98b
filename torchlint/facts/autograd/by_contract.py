"""Which forwards nobody trains on because a framework says so: those of the call of a pipeline, or of what scores."""

from __future__ import annotations

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.framework_objects import contract_of
from torchlint.facts.values.frameworks import is_for_inference
from torchlint.facts.values.graph import Function, Loop, Mode, Value
from torchlint.facts.values.parameters import is_frozen
from torchlint.frameworks import Holds


class InferringMethods:
    """Answers what of a method that is for inference alone may be told."""

    def __init__(self, flows: Flows, steps: Steps) -> None:
        """Work on the flows and steps of a file."""
        self.flows = flows
        self.steps = steps
        self._steered: dict[Function, frozenset[Value]] = {}

    def infers(self, call: Value) -> bool:
        """Whether nobody trains on what a CALL computes, by the method in which it stands.

        Such a method may steer what it makes by a gradient: what runs in a loop with a backward, or goes into a forward
        there, is left alone, since a loss may be made of what layers keep and not of what they return.
        """
        if not is_for_inference(call.function):
            return False
        if not self.steps.trains(call.function):
            return True
        if call.function not in self._steered:
            self._steered[call.function] = self._steered_in(call.function)
        return call not in self._steered[call.function]

    def scores(self, call: Value) -> bool:
        """Whether a CALL runs the models that it is given, and gives a number of what they compute."""
        if contract_of(self.flows.solution, call, Holds.SCORES) is None:
            return False
        return not any(is_frozen(self.flows.solution, given) for given in call.arguments)

    def runs_network(self, call: Value) -> bool:
        """Whether a network of the project is run whose output is not seen whole, such as lists of tensors."""
        functions = self.flows.solution.functions_of(call)
        if not functions or any(function.guard is not Mode.INHERITED for function in functions):
            return False
        return self.steps.calls_network(call) and not surely_graphless(self.flows.solution.final(call))

    def _steered_in(self, function: Function) -> frozenset[Value]:
        """The calls that run beside a backward with gradients on, and all that flows into them."""
        solution, calls = self.flows.solution, self.steps.calls_in(function)
        training = {_outermost(b.loop) for b in solution.graph.all_backwards() if b.function is function}
        training |= {
            _outermost(call.loop) for call in calls if any(map(self.steps.trains, solution.functions_of(call)))
        }
        beside = [
            call for call in calls
            if call.mode is not Mode.OFF and (None in training or _outermost(call.loop) in training)
        ]  # fmt: skip
        return self.flows.ancestry.of_all(given for call in beside for given in call.arguments) | frozenset(beside)


def _outermost(loop: Loop | None) -> Loop | None:
    return loop.around()[-1] if loop is not None else None
