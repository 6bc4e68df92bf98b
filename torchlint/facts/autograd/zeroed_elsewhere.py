"""Helpers that fill gradients with zeros, ``clear(optimizer)``, be it unless they are told otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.autograd.gradients import subject_of, zeroing_at, zeros_for
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.values.graph import Function, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

ZEROING = (EffectKind.ZEROES, EffectKind.ZEROES_UNTOLD)
"""What fills gradients with zeros."""


@dataclass(frozen=True)
class Zeroed:
    """A call fills gradients with zeros, and is no step itself.

    Attributes:
        subjects: whose: an optimizer, a model.
        asking: what says that they are kept; None where the call leaves that to a default.
    """

    subjects: tuple[Value, ...]
    asking: Value | None = None

    def told(self, function: Function, of: tuple[int, ...]) -> EffectSummary | None:
        """What callers of ``function``, which makes the call, have to know; None where they ask for it in other words.

        Args:
            function: the one around the call.
            of: the parameters from which the subjects come, from 0.
        """
        if self.asking in function.parameters:
            deciding = function.parameters.index(self.asking)
            return EffectSummary(EffectKind.ZEROES_UNTOLD, "zero_grad", (*of, deciding))
        behind = set(self.asking.computed_from()) if self.asking is not None else set()
        own = function.parameters[:1] if function.owner is not None else ()
        is_said_otherwise = any(one in behind and one not in own for one in function.parameters)
        return None if is_said_otherwise else EffectSummary(EffectKind.ZEROES, "zero_grad", of)


def zeroed_at(facts: Facts, call: Value, of: Callable[[Function], tuple[EffectSummary, ...]]) -> Zeroed | None:
    """What a CALL zeroes that is told to callers; ``of`` says what a function of the file does."""
    argument = zeros_for(facts, call)
    if argument is not None:
        return Zeroed((subject_of(call),), call.arguments[argument]) if zeroing_at(facts, call) is None else None
    for callee in facts.solution.functions_of(call):
        for done in of(callee):
            if done.kind in ZEROING:
                is_untold = done.kind is EffectKind.ZEROES_UNTOLD
                passed = [facts.solution.passed(call, callee, position) for position in done.of]
                subjects = passed[:-1] if is_untold else passed
                asking = passed[-1] if is_untold else None
                return Zeroed(tuple(one for one in subjects if one is not None), asking)
    return None
