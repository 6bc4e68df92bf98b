"""Evaluation mode across functions: which calls run after ``.eval()``, be it the caller that called it."""

from __future__ import annotations

from collections.abc import Callable

from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.overrides import may_be_called_by_base
from torchlint.facts.values.solve import Solution


class Evaluating:
    """Answers whether a model was put into evaluation mode, all callers in the file considered."""

    def __init__(self, solution: Solution, does_more: Callable[[Function], bool]) -> None:
        """Read the callers from ``solution``; ``does_more`` says of a function that it trains, or is a whole script."""
        self.solution = solution
        self._does_more = does_more
        self._entered: dict[Function, bool] = {}

    def at(self, call: Value) -> bool:
        """Whether a CALL concerns a model in evaluation mode: ``.eval()`` came before it, or before its function."""
        return call.evaluating or self.is_entered(call.function)

    def is_entered(self, function: Function) -> bool:
        """Whether ``function`` is the evaluation of functions that do more: each calls it after ``.eval()``.

        Of a caller that does nothing else it is said itself. A model's own methods may be called from elsewhere while
        it trains, and say nothing.
        """
        if function not in self._entered:
            self._entered[function] = False  # a cycle of calls adds nothing to itself
            self._entered[function] = self._compute(function)
        return self._entered[function]

    def _compute(self, function: Function) -> bool:
        if function.parent is None or (function.owner is not None and is_module_class(function.owner)):
            return False
        if may_be_called_by_base(function):
            return False  # and it may train there
        calls = sorted(self.solution.callers.get(function, ()), key=lambda call: call.index)
        return bool(calls) and all(
            (call.evaluating and self._does_more(call.function)) or self.is_entered(call.function) for call in calls
        )
