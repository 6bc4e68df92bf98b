"""Searches for good settings: what they run once in each trial, by the function that they are given to call."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import FunctionReference, Partial
from torchlint.facts.values.framework_objects import contract_of
from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.partials import tasks
from torchlint.frameworks import Holds

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Searches:
    """Answers it for the calls of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def trial_of(self, call: Value) -> Function | None:
        """The function in each call of which ``call`` runs once, and which is called for each trial of a search."""
        pending, seen = [call], {call}
        while pending and self._tried:
            at = pending.pop(0)
            if at.loop is not None or self.facts.skipping.is_skipped(at, at.function):
                continue
            if at.function in self._tried:
                return at.function
            callers = sorted(self.solution.callers.get(at.function, ()), key=lambda value: value.index)
            further = [one for one in callers if one not in seen]
            pending += further
            seen.update(further)
        return None

    @cached_property
    def _tried(self) -> frozenset[Function]:
        """What searches are given to call: ``study.optimize(objective, n_trials=300)``, or a partial of it."""
        rows = ((call, contract_of(self.solution, call, Holds.EACH_TRIAL)) for call in self.facts.calls())
        given = (call.argument(*row.argument) for call, row in rows if row is not None)
        atoms = [atom for one in given if one is not None for atom in self.solution.final(one)]
        partials = [atom for atom in atoms if isinstance(atom, Partial)]
        atoms += [bound.atom for partial in partials for bound in tasks(self.solution, partial)]
        return frozenset(atom.function for atom in atoms if isinstance(atom, FunctionReference))
