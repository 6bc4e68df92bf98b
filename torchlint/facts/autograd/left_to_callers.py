"""Methods of modules of which their callers know what the graph is for: forwards, and what helps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from torchlint.facts.autograd.written import written_into
from torchlint.facts.turns.forwards import is_within_forward
from torchlint.facts.turns.steps import Steps, asks_itself
from torchlint.facts.values.domain import PLAIN, surely_graphless
from torchlint.facts.values.frameworks import is_for_inference, is_module_class
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.torch_calls import contents_of

FORWARDS = ("forward", "__call__", "__init__")
"""Methods of a module that say nothing of inference, whatever they return."""

HOLDING = (Op.PHI, Op.CONTAINER, Op.NARROWED)
"""What gives what it is made of."""

DEPTH = 2
"""So many containers, one in another, are looked into."""

TAKING = (Op.SUBSCRIPT, Op.ELEMENT)
"""What takes an item of it."""


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
        return not all(self._is_without(part) or self._is_given(part) for part in self._parts_of(result))

    def _parts_of(self, result: Value) -> Iterator[Value]:
        """What a function returns: the results, and what is in the tuples and dictionaries among them."""
        values = reached([result], self._held_in)
        return (value for value in values if value.op not in HOLDING)

    def _held_in(self, value: Value) -> Sequence[Value]:
        later = [item for _, item in self.solution.held.get(value, ())] if value.op is Op.CONTAINER else []
        return [*value.inputs, *later] if value.op in HOLDING else ()

    def _is_without(self, part: Value) -> bool:
        """Whether nothing in a part of what is returned has a graph, and nothing with one was written into it."""
        atoms = self.solution.final(part)
        for _ in range(DEPTH):  # of a list that is filled later only its items tell
            atoms = contents_of(self.solution, part, atoms)
        return surely_graphless(atoms) and (atoms <= PLAIN or self._filled.isdisjoint(part.computed_from()))

    def _is_given(self, part: Value) -> bool:
        """Whether a part is what the function was given, or lies in that, and nothing was written into it."""
        while part.op in TAKING and part not in self._filled:
            part = part.inputs[0]
        return part.op is Op.PARAMETER and part not in self._filled

    @cached_property
    def _filled(self) -> frozenset[Value]:
        """What something with a graph may be written into: ``rows = zeros_like(x)``, then ``rows[:n] = layer(x)``."""
        return frozenset(written_into(self.solution))


def asks_whole_network(call: Value) -> bool:
    """Whether a CALL in a method is of an argument of that, or, in one that is no forward, of the module itself."""
    if call.callee.unnarrowed() in call.function.parameters[1:]:
        return True
    return call.function.name not in FORWARDS and asks_itself(call)
