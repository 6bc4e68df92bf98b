"""Methods of modules of which their callers know what the graph is for: forwards, and what helps them."""

from __future__ import annotations

from functools import cached_property

from torchlint.facts.autograd.written import written_into
from torchlint.facts.turns.forwards import is_within_forward
from torchlint.facts.turns.steps import Steps, asks_itself
from torchlint.facts.values.domain import PLAIN, surely_graphless
from torchlint.facts.values.frameworks import is_for_inference, is_module_class
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

FORWARDS = ("forward", "__call__", "__init__")
"""Methods of a module that say nothing of inference, whatever they return."""

HOLDING = (Op.PHI, Op.CONTAINER, Op.NARROWED)
"""What gives what it is made of."""


class LeftToCallers:
    """Answers which functions say nothing of what becomes of their graphs."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Work on a solved graph."""
        self.solution = solution
        self.steps = steps

    def has(self, function: Function) -> bool:
        """Whether a function is the forward of a module, or a method or a helper of one that gives a graph on.

        One that trains, or puts a model into evaluation mode, says itself what its graphs are for.
        """
        if function.name == "<lambda>":
            return True
        owner = function.owner
        is_method = owner is not None and is_module_class(owner)
        if is_for_inference(function) or not (is_method or is_within_forward(self.solution, function)):
            return False
        if is_method and function.name in FORWARDS:
            return True
        if self.steps.trains(function) or any(call.evaluating for call in self.steps.calls_in(function)):
            return False
        return self._may_return_graph(function)

    def _may_return_graph(self, function: Function) -> bool:
        result = function.result
        if result is None or not result.inputs:
            return False
        returned = self.solution.final(result)
        if not surely_graphless(returned):
            return not self._gives_back(result)
        return not returned <= PLAIN and not self._filled.isdisjoint(result.computed_from())

    def _gives_back(self, result: Value) -> bool:
        """Whether all that a function returns is what it was given, and nothing was written into that."""
        values = reached([result], lambda value: value.inputs if value.op in HOLDING else ())
        given = (value for value in values if value.op not in HOLDING)
        return all(value.op is Op.PARAMETER and value not in self._filled for value in given)

    @cached_property
    def _filled(self) -> frozenset[Value]:
        """What something with a graph may be written into: ``rows = zeros_like(x)``, then ``rows[:n] = layer(x)``."""
        return frozenset(written_into(self.solution))


def asks_whole_network(call: Value) -> bool:
    """Whether a CALL in a method is of an argument of that, or, in one that is no forward, of the module itself."""
    if call.callee.unnarrowed() in call.function.parameters[1:]:
        return True
    return call.function.name not in FORWARDS and asks_itself(call)
