"""Files for torch before 0.4: what their text shows that they are, and what had a graph there and had none.

https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

from torchlint.facts.autograd.decided import needs_newer_torch
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import inputs_across_calls
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

DRAWS = frozenset(["multinomial", "bernoulli", "normal"])
"""Methods of a tensor, or of torch, that draw from it."""


class OlderTorch:
    """Answers what a file that is written for torch before 0.4 leaves to its data and its rewards."""

    def __init__(self, solution: Solution) -> None:
        """Work on a solved graph; what the file shows is looked for when it is first asked."""
        self.solution = solution

    def leaves_to_data(self, call: Value) -> bool:
        """Whether the data of a forward come as a ``Variable`` from elsewhere, in a file for torch before 0.4.

        A module took nothing else then, so that what makes the data says with ``volatile`` whether there is a graph;
        and the data for an evaluation were made so.
        """
        return self._is_needed and not _is_wrapped(self.solution, call)

    def reinforces(self, call: Value) -> bool:
        """Whether a forward feeds a draw that the program rewards: ``action.reinforce(reward)``.

        What was drawn had a graph, and a backward from it trained what gave the probabilities.
        """
        return call in self._rewarded

    @cached_property
    def _is_needed(self) -> bool:
        return _needs_older_torch(self.solution) and not needs_newer_torch(self.solution)

    @cached_property
    def _rewarded(self) -> frozenset[Value]:
        """All that a draw is computed from, where some draw is rewarded."""
        methods = [call for call in self.solution.graph.of(Op.CALL) if call.callee.op is Op.ATTRIBUTE]
        rewards = (value for value in methods if value.callee.name == "reinforce")
        if not any(len(one.arguments) == 1 and not self.solution.functions_of(one) for one in rewards):
            return frozenset()
        draws = (value for value in methods if value.callee.name in DRAWS)
        return frozenset(part for draw in draws for part in draw.computed_from())


def _needs_older_torch(solution: Solution) -> bool:
    """Whether a file reads a loss as torch before 0.4 gave it, a vector of one number: ``loss.data[0]``.

    Or it draws as one could before, by ``probabilities.multinomial()``.
    """
    if any(map(_draws_one, solution.graph.of(Op.CALL))):
        return True
    trained = {part for backward in solution.graph.backwards for part in _same_but_for_scale(backward.root)}
    read = [value.inputs[0] for value in solution.graph.of(Op.SUBSCRIPT) if value.keys[0] == 0]
    return any(one.op is Op.ATTRIBUTE and one.name == "data" and one.inputs[0] in trained for one in read)


def _draws_one(call: Value) -> bool:
    callee = call.callee
    return callee.op is Op.ATTRIBUTE and callee.name == "multinomial" and not call.arguments


def _same_but_for_scale(loss: Value) -> Iterator[Value]:
    """A loss, and what it is divided or multiplied from: ``loss.div(accumulated)``, ``loss / len(chunks)``."""
    yield loss
    if loss.op is Op.CALL and loss.callee.op is Op.ATTRIBUTE and loss.callee.name in ("div", "mul"):
        yield loss.callee.inputs[0]
    elif loss.op is Op.OPERATION and loss.name in ("Divide", "Multiply"):
        yield from loss.inputs


def _is_wrapped(solution: Solution, call: Value) -> bool:
    """Whether what goes into a call is made a ``Variable`` where that is seen: before it, or in what is called."""
    values = reached([*call.arguments, *_results(solution, call)], partial(_made_of, solution))
    called = (value.callee for value in values if value.op is Op.CALL)
    return any(callee.op is Op.EXTERNAL and callee.name == "torch.autograd.Variable" for callee in called)


def _made_of(solution: Solution, value: Value) -> Iterator[Value]:
    if value.op is Op.CALL:
        yield from value.callee.inputs
        yield from _results(solution, value)
    yield from inputs_across_calls(solution, value)


def _results(solution: Solution, call: Value) -> list[Value]:
    return [function.result for function in solution.functions_of(call) if function.result is not None]
