"""Grad mode across functions: with which modes a function can be entered."""

from __future__ import annotations

from torchlint.facts.values.frameworks import runs_without_gradients
from torchlint.facts.values.graph import Function, Mode, Value
from torchlint.facts.values.solve import Solution

BOTH = frozenset([Mode.ON, Mode.OFF])


class Modes:
    """Answers whether gradients are recorded at a value, all callers in the file considered."""

    def __init__(self, solution: Solution) -> None:
        """Read the callers from ``solution``."""
        self.solution = solution
        self._entry: dict[Function, frozenset[Mode]] = {}

    def entry(self, function: Function) -> frozenset[Mode]:
        """The modes (ON, OFF) with which ``function`` can be entered; ON where no caller is seen."""
        if function not in self._entry:
            self._entry[function] = frozenset()  # a cycle of calls adds nothing to itself
            self._entry[function] = self._compute(function)
        return self._entry[function]

    def _compute(self, function: Function) -> frozenset[Mode]:
        if function.guard is not Mode.INHERITED and function.parent is not None:
            return BOTH if function.guard is Mode.MAYBE else frozenset([function.guard])
        if function.parent is None:
            return frozenset([Mode.ON])
        if runs_without_gradients(function):
            return frozenset([Mode.OFF])
        calls = self.solution.callers.get(function)
        if not calls:
            outside = self.solution.graph.module.guard
            return BOTH if outside is Mode.MAYBE else frozenset([outside])
        found: frozenset[Mode] = frozenset()
        for call in sorted(calls, key=lambda value: value.index):
            found |= self.at(call)
        return found or frozenset([Mode.ON])

    def at(self, value: Value) -> frozenset[Mode]:
        """The modes that are possible where ``value`` is computed."""
        if value.mode is Mode.INHERITED:
            return self.entry(value.function)
        return BOTH if value.mode is Mode.MAYBE else frozenset([value.mode])  # UNKNOWN is neither

    def records(self, value: Value) -> bool:
        """Whether gradients may be on where ``value`` is computed."""
        return Mode.ON in self.at(value)
