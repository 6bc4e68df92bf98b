"""Methods that a subclass has of its own: what a method calls on its object may differentiate there.

Whoever switches gradients off around ``self.scores(x)`` in a base class does so for each subclass as well, for one
whose ``scores`` takes a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchlint.facts.summaries.imports import Found
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Class, Function, Op, Value

DEPTH = 4
"""So many calls deep, and so many classes down, is looked."""


class Overridden:
    """Answers for the calls of one file whether they run a training in a subclass of their object's class."""

    def __init__(self, steps: Steps, derived_elsewhere: Callable[[str], Sequence[Found]]) -> None:
        """Ask no file yet; ``derived_elsewhere``: the classes of others that derive from one of this file."""
        self.steps, self.solution = steps, steps.solution
        self._derived = derived_elsewhere
        self._known: dict[tuple[Class, str], bool] = {}
        self._within: dict[Function, bool] = {}

    def trains(self, call: Value, depth: int = DEPTH) -> bool:
        """Whether a CALL runs a method of its own object that trains or differentiates in a subclass, however deep."""
        callee, owner = call.callee, call.function.owner
        if callee.op is Op.ATTRIBUTE and owner is not None and callee.inputs[0] in call.function.parameters[:1]:
            if self._trains_below(owner, callee.name):
                return True
        return depth > 0 and any(self.trains_in(function, depth - 1) for function in self.solution.functions_of(call))

    def trains_in(self, function: Function, depth: int = DEPTH) -> bool:
        """Whether a call in a function does."""
        if function.is_foreign:
            return False
        if function not in self._within:
            self._within[function] = False  # a function that calls itself
            self._within[function] = any(self.trains(call, depth) for call in self.steps.calls_in(function))
        return self._within[function]

    def _trains_below(self, cls: Class, name: str) -> bool:
        key = (cls, name)
        if key not in self._known:
            below = (one for one in self.solution.graph.classes if cls in one.lineage()[1:] and name in one.methods)
            self._known[key] = any(self.steps.trains(one.methods[name]) for one in below) or any(
                method.name == name and method.trains
                for found in self._derived_from(cls)
                if (summary := found.summarise()) is not None
                for one in summary.classes
                if one.name == found.name
                for method in one.methods
            )
        return self._known[key]

    def _derived_from(self, cls: Class) -> list[Found]:
        """The classes of other files that derive from one of this file, and those that derive from these."""
        found = latest = list(self._derived(cls.name))
        for _ in range(DEPTH):
            latest = [below for one in latest for below in one.imports.subclasses(one.name)]
            found = [*found, *latest]
        return found
