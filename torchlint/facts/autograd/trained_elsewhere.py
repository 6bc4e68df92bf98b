"""What leaves a function by its result, for other files that run a backward over it."""

from __future__ import annotations

from collections.abc import Callable

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Function, Value


class TrainedElsewhere:
    """Answers for the values of one file whether other files differentiate what is computed from them."""

    def __init__(self, flows: Flows, others_train_on_result: Callable[[str], bool]) -> None:
        """Ask no file yet; ``others_train_on_result``: whether another file does so with what a function gives."""
        self.flows, self.solution = flows, flows.solution
        self._asked = others_train_on_result
        self._trained: dict[Function, bool] = {}

    def has(self, value: Value) -> bool:
        """Whether a value goes into what a function that runs for it returns, and others differentiate that."""
        around = (value.function, *self.solution.callers_above([value.function]))
        return any(
            function.result is not None
            and value in self.flows.ancestry.of(function.result)
            and self._is_trained_on(function)
            for function in around
        )

    def _is_trained_on(self, function: Function) -> bool:
        if function not in self._trained:
            own = not function.is_foreign and function.parent is not None
            self._trained[function] = own and self._asked(function.name)
        return self._trained[function]
