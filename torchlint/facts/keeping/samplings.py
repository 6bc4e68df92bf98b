"""Samplings: loops that run a network on what their last turn has left, until one output is there.

``for t in times: x = step(net, x, t)``: the denoising of a batch of pictures, the tokens of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.turns.handoffs import runs_forward
from torchlint.facts.turns.repetition import HOPS
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.graph import Function, Loop, Mode, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Samplings:
    """Answers which loops of one file make a sample in each of their turns."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution, self.steps = facts, facts.solution, facts.steps

    def makes_one_each_turn(self, loop: Loop) -> bool:
        """Whether all that holds steps of its own in a turn of ``loop`` is a sampling: its turns are no epochs."""
        inner = [one for one in self.facts.graph.loops if one is not loop and loop in one.around()]
        return self._are_samplings(inner, self.steps.calls_within(loop), HOPS)

    def _are_samplings(self, loops: list[Loop], calls: list[Value], hops: int) -> bool:
        repeating = [one for one in loops if self.facts.repetitions.turn(one) is not Turn.OTHER]
        called = dict.fromkeys(function for call in calls for function in self.solution.functions_of(call))
        holding = [function for function in called if self.facts.repetitions.holds(function)]
        if hops == 0 or not (repeating or holding):
            return False
        return all(map(self._is_sampling, repeating)) and all(self._samples(one, hops - 1) for one in holding)

    def _samples(self, function: Function, hops: int) -> bool:
        if function.is_foreign or self.steps.trains(function):
            return False
        own = [loop for loop in self.facts.graph.loops if loop.function is function]
        return self._are_samplings(own, self.steps.calls_in(function), hops)

    def _is_sampling(self, loop: Loop) -> bool:
        """Whether each turn of a loop gives a network what the last one has left."""
        if self.facts.repetitions.turn(loop) is not Turn.INFERS:
            return False
        if loop.iterable is not None and self.steps.is_loader(loop.iterable):
            return False
        left = set(loop.phis)
        return any(
            self._runs_network(call) and any(not left.isdisjoint(given.computed_from()) for given in call.arguments)
            for call in self.steps.calls_within(loop)
        )

    def _runs_network(self, call: Value) -> bool:
        modes = frozenset(Mode)
        functions = self.solution.functions_of(call)
        return self.steps.runs_module(call) or any(runs_forward(self.facts, one, modes=modes) for one in functions)
