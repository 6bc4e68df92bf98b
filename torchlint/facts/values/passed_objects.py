"""Objects that calls pass for parameters: modules, containers and the like, never tensors."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import (
    BOTTOM,
    Abstract,
    Argument,
    Atom,
    ClassReference,
    Container,
    Differentiable,
    External,
    FrameworkObject,
    FunctionReference,
    Instance,
    Module,
    Partial,
    Tool,
    is_live,
)
from torchlint.facts.values.frameworks import is_told_number
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import spread_into, star_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

PASSED = frozenset(
    [Module, Tool, Instance, FunctionReference, Partial, ClassReference, External, Container, Differentiable,
     FrameworkObject]
)  # fmt: skip
"""Alternatives that flow from arguments into parameters as they are; tensors stay symbolic (:class:`Argument`)."""

CALLED = (FunctionReference, Partial, External)
"""What a program passes to have it called."""


class PassedObjects:
    """What the calls that are run pass, as far as it is an object."""

    def __init__(self, solution: Solution) -> None:
        """Tell ``solution`` what parameters are; nothing is passed yet."""
        self._solution = solution
        self._passing: dict[Value, set[Value]] = defaultdict(set)
        self._told: dict[Value, bool] = {}

    def begin(self) -> None:
        """Forget what calls pass: all values are computed anew."""
        self._passing.clear()

    def hand(self, call: Value, parameter: Value, argument: Value | None) -> None:
        """Let the objects that a call passes reach a parameter, and note whether it passes any.

        All calls of a function would be gone through for each of them else: thousands, in a generated file.
        """
        if argument is not None and star_of(parameter) == "*":
            self._gather(call, parameter)
            return
        if star_of(parameter) == "**":
            self._gather_named(call, parameter)
        given = self._solution.of(argument) if argument is not None else BOTTOM
        if given and PASSED.issuperset(map(type, given)):
            self._passing[parameter].add(call)
        else:
            self._passing[parameter].discard(call)
        self.give(parameter, given)

    def _gather(self, call: Value, parameter: Value) -> None:
        """Let the objects of the project's classes that a call passes be items of ``*meters``, which takes them."""
        solution, spread = self._solution, spread_into(call)
        given = (one for one in solution.given_by(call, parameter) if one not in spread)
        objects = frozenset(atom for one in given for atom in solution.of(one) if atom.__class__ is Instance)
        if objects:
            solution.set_field(parameter, None, objects)
            self.give(parameter, frozenset([Container(parameter)]))

    def _gather_named(self, call: Value, parameter: Value) -> None:
        """Let the functions that a call passes by name, and lists of them, be items of ``**handlers``."""
        solution = self._solution
        others = {other.name for other in parameter.function.parameters}
        for key, given in zip(call.keys[1:], call.arguments, strict=True) if call.op is Op.CALL else ():
            if isinstance(key, str) and key not in others:
                functions = frozenset(atom for atom in solution.of(given) if self._is_function(atom, call))
                if functions:
                    solution.set_field(parameter, key, functions)
                    self.give(parameter, frozenset([Container(parameter)]))

    def _is_function(self, atom: Atom, call: Value) -> bool:
        """Whether something is called, or a list of nothing else; ``call`` is run again when its items are known."""
        if not isinstance(atom, Container):
            return isinstance(atom, CALLED)
        items = [item for _, item in self._solution.held.get(atom.allocation, ())]
        for item in items:
            self._solution.watch(item, call)
        kinds = [one for item in items for one in self._solution.of(item)]
        return bool(kinds) and all(isinstance(one, CALLED) for one in kinds)

    def give(self, parameter: Value, given: Abstract) -> None:
        """Let the objects among ``given`` reach a parameter."""
        solution = self._solution
        objects = [atom for atom in given if atom.__class__ in PASSED]
        if any(map(is_live, given)) and is_told_number(parameter):
            objects.append(Argument(parameter))  # what is passed counts for more than the annotation
        old = solution.objects.get(parameter, BOTTOM)
        is_new = not old.issuperset(objects)
        if is_new:
            solution.objects[parameter] = old.union(objects)
        if is_new or self._may_be_stale(parameter):
            solution.revisit_if_stale(parameter)

    def _may_be_stale(self, parameter: Value) -> bool:
        """Whether a parameter may come out otherwise though no other objects reach it."""
        told = self._told.get(parameter)
        is_told_otherwise = told is not None and told != self._are_all(parameter)
        solution = self._solution
        # Evidence stands beside what is computed, and what other files pass may have been linked meanwhile.
        return is_told_otherwise or parameter in solution.evidence or parameter in solution.graph.foreign.passed

    def are_all(self, parameter: Value) -> bool:
        """Whether every call in this file passes an object for ``parameter`` and never a tensor."""
        told = self._told[parameter] = self._are_all(parameter)
        return told

    def _are_all(self, parameter: Value) -> bool:
        calls = len(self._solution.callers.get(parameter.function, ()))
        return calls > 0 and len(self._passing.get(parameter, ())) == calls
