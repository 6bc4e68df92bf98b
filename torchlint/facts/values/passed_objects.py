"""Objects that calls pass for parameters: modules, containers and the like, never tensors."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import (
    BOTTOM,
    Argument,
    ClassReference,
    Container,
    Differentiable,
    External,
    FrameworkObject,
    FunctionReference,
    History,
    Instance,
    Module,
    Partial,
    Tensor,
    Tool,
)
from torchlint.facts.values.frameworks import is_told_number
from torchlint.facts.values.graph import Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

PASSED = frozenset(
    [Module, Tool, Instance, FunctionReference, Partial, ClassReference, External, Container, Differentiable,
     FrameworkObject]
)  # fmt: skip
"""Alternatives that flow from arguments into parameters as they are; tensors stay symbolic (:class:`Argument`)."""


class PassedObjects:
    """What the calls that are run pass, as far as it is an object."""

    def __init__(self, solution: Solution) -> None:
        """Tell ``solution`` what parameters are; nothing is passed yet."""
        self._solution = solution
        self._passing: dict[Value, set[Value]] = defaultdict(set)

    def begin(self) -> None:
        """Forget what calls pass: all values are computed anew."""
        self._passing.clear()

    def give(self, parameter: Value, argument: Value | None) -> None:
        """Let the objects that ``argument`` may be reach a parameter."""
        given = self._solution.of(argument) if argument is not None else BOTTOM
        objects = [atom for atom in given if atom.__class__ in PASSED]
        if any(a.__class__ is Tensor and a.history is History.LIVE for a in given) and is_told_number(parameter):
            objects.append(Argument(parameter))  # what is passed counts for more than the annotation
        if objects:
            old = self._solution.objects.get(parameter, BOTTOM)
            if not old.issuperset(objects):
                self._solution.objects[parameter] = old.union(objects)
        self._solution.revisit_if_stale(parameter)

    def note(self, call: Value, parameter: Value, argument: Value | None) -> None:
        """Note whether a call passes an object for a parameter.

        All calls of a function would be gone through for each of them else: thousands, in a generated file.
        """
        given = self._solution.of(argument) if argument is not None else BOTTOM
        if given and PASSED.issuperset(map(type, given)):
            self._passing[parameter].add(call)
        else:
            self._passing[parameter].discard(call)

    def are_all(self, parameter: Value) -> bool:
        """Whether every call in this file passes an object for ``parameter`` and never a tensor."""
        calls = len(self._solution.callers.get(parameter.function, ()))
        return calls > 0 and len(self._passing.get(parameter, ())) == calls
