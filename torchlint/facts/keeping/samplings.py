"""Turns that make one output in many steps of their own, as an epoch does not.

Samplings run a network on what their last step has left: ``for t in times: x = step(net, x, t)``, the denoising of a
batch of pictures, the tokens of a text. Others run it over what they were given, piece by piece: a volume, a long text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint.facts.turns.changing import is_computed_with
from torchlint.facts.turns.data_passes import cuts_pieces, cutting
from torchlint.facts.turns.handoffs import runs_forward
from torchlint.facts.turns.repetition import HOPS
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.graph import Function, Loop, Mode, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Samplings:
    """Answers which loops of one file make an output in each of their turns."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution, self.steps = facts, facts.solution, facts.steps

    def makes_one_each_turn(self, loop: Loop) -> bool:
        """Whether all that holds steps of its own in a turn of ``loop`` makes one output: its turns are no epochs."""
        own = self.facts.graph.loops_in(loop.function)
        inner = [one for one in self._repeating(own) if one is not loop and loop in one.around()]
        calls = self._holding(self.steps.calls_within(loop))
        return bool(inner or calls) and (
            all(self._is_sampling(one) or _cuts_what_is_of(one, loop) for one in inner)
            and all(self._makes_one(call, HOPS, is_given=_is_given_anew(call, loop)) for call in calls)
        )

    def _makes_one(self, call: Value, hops: int, *, is_given: bool) -> bool:
        """Whether the functions that a CALL runs make one output each, of what it ``is_given``, or by themselves."""
        functions = self.solution.functions_of(call)
        return hops > 0 and all(self._is_of_one(function, hops - 1, is_given=is_given) for function in functions)

    def _is_of_one(self, function: Function, hops: int, *, is_given: bool) -> bool:
        if function.is_foreign or self.steps.trains(function):
            return False
        own = self._repeating(self.facts.graph.loops_in(function))
        return all(self._is_sampling(loop) or (is_given and _cuts(loop)) for loop in own) and all(
            self._makes_one(call, hops, is_given=is_given) for call in self._holding(self.steps.calls_in(function))
        )

    def _repeating(self, loops: Iterable[Loop]) -> list[Loop]:
        return [loop for loop in loops if self.facts.repetitions.turn(loop) is not Turn.OTHER]

    def _holding(self, calls: Iterable[Value]) -> list[Value]:
        """The calls that run functions with steps of their own."""
        holds = self.facts.repetitions.holds
        return [call for call in calls if any(map(holds, self.solution.functions_of(call)))]

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


def _cuts(loop: Loop) -> bool:
    """``for start in range(0, len(grid), size)``, ``for part in volume.split(size)``"""
    return loop.iterable is not None and (cuts_pieces(loop) or cutting(loop.iterable) is not None)


def _cuts_what_is_of(inner: Loop, loop: Loop) -> bool:
    """Whether a loop goes through the pieces of what the turn of ``loop`` is about."""
    return inner.iterable is not None and _cuts(inner) and is_computed_with(inner.iterable, loop)


def _is_given_anew(call: Value, loop: Loop) -> bool:
    """Whether each turn gives a CALL something else."""
    return any(is_computed_with(given, loop) for given in call.arguments)
