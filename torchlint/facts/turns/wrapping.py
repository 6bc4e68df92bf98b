"""Functions that a decorator puts in the place of others: who calls ``step`` runs what ``@timed`` has made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import FunctionReference
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.threads import FOR_EACH_ITEM, run_in_thread


class Wrapping:
    """Answers which calls run a function, be it in the place of another one."""

    def __init__(self, solution: Solution) -> None:
        """Read the decorators of a solved graph when first asked."""
        self.solution = solution

    def callers(self, function: Function) -> list[Value]:
        """The calls that run ``function``, in the order of the walk, be it in another thread."""
        calls = {*self.solution.callers.get(function, ()), *self._in_threads.get(function, ())}
        for decorated in self._stands_for.get(function, ()):
            calls.update(self.solution.callers.get(decorated, ()))
        return sorted(calls, key=lambda value: value.index)

    def wrapped(self, call: Value) -> list[Function]:
        """The functions that a wrapper runs by a CALL of what its decorator was given: ``function(*args)``."""
        place, wrapper = call.callee.place, call.function
        if place is None or wrapper.parent is None or place.owner is not wrapper.parent:
            return []
        is_given = any(parameter.name == place.path for parameter in wrapper.parent.parameters)
        return self._stands_for.get(wrapper, []) if is_given else []

    @cached_property
    def _in_threads(self) -> dict[Function, list[Value]]:
        """The calls that hand a function to another thread, once each: ``loop.run_in_executor(None, f, x)``."""
        table: dict[Function, list[Value]] = defaultdict(list)
        for call in self.solution.graph.of(Op.CALL):
            if call.callee.name not in FOR_EACH_ITEM:
                for function in run_in_thread(self.solution, call):
                    table[function].append(call)
        return table

    @cached_property
    def _stands_for(self) -> dict[Function, list[Function]]:
        """For each function that a decorator of the file makes, those that it stands for."""
        table: dict[Function, list[Function]] = defaultdict(list)
        for value, decorated in self.solution.graph.decorated:
            for decorator in self._decorators(value):
                for wrapper in self._returned(decorator):
                    table[wrapper].append(decorated)
        return table

    def _decorators(self, value: Value) -> Iterator[Function]:
        """``timed`` of ``@timed``, and what it returns of ``@timed("step")``."""
        if value.op is Op.CALL:
            for maker in self.solution.functions_of(value):
                yield from self._returned(maker)
        for atom in self.solution.final(value) if value.op is not Op.CALL else ():
            if isinstance(atom, FunctionReference):
                yield atom.function

    def _returned(self, function: Function) -> Iterator[Function]:
        """The functions of the file that a function may return."""
        for value in choices(function.result):
            atoms = self.solution.final(value)
            yield from (atom.function for atom in atoms if isinstance(atom, FunctionReference))
