"""Grad mode across functions: with which modes a function can be entered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from torchlint.facts.building.guards import SWITCHES
from torchlint.facts.values.frameworks import ran_without_gradients, runs_without_gradients
from torchlint.facts.values.graph import Class, Function, Mode, Op, Value
from torchlint.facts.values.solve import Solution
from torchlint.guarding import Guarding

HOOK = "__init_subclass__"
"""What runs for each class that derives from one, and may put a guard around its methods."""

BOTH = frozenset([Mode.ON, Mode.OFF])

OFF_ELSEWHERE = (Guarding.ALWAYS, Guarding.MIXED, Guarding.ESCAPED)
"""Where one caller guards and another does not, the other one is to be told; of an unknown one nothing can be said."""


class Modes:
    """Answers whether gradients are recorded at a value, all callers in the file considered."""

    def __init__(self, solution: Solution, guarding: Callable[[str], Guarding] = lambda _: Guarding.UNSEEN) -> None:
        """Read the callers from ``solution``; ``guarding`` says how other files call a function of a name."""
        self.solution = solution
        self._guarding = guarding
        self._entry: dict[Function, frozenset[Mode]] = {}
        self._guarded_by_base: dict[Class, bool] = {}

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
        if function.owner is not None and self.may_be_guarded_by_base(function.owner):
            return frozenset([Mode.UNKNOWN])
        calls: Iterable[Value] | None = self.solution.callers.get(function)
        if not calls and function.owner is not None:
            calls = self._called_by_name.get(function.name)
        if not calls and self._from_elsewhere(function) in OFF_ELSEWHERE:
            return frozenset([Mode.OFF])
        if not calls:
            outside = self.solution.graph.module.guard
            return BOTH if outside is Mode.MAYBE else frozenset([outside])
        found: frozenset[Mode] = frozenset()
        for call in sorted(calls, key=lambda value: value.index):
            found |= self.at(call)
        return found or frozenset([Mode.ON])

    def may_be_guarded_by_base(self, cls: Class) -> bool:
        """Whether a class from which one derives may put guards around the methods of all that do."""
        if cls not in self._guarded_by_base:
            hooks = [base.methods[HOOK] for base in cls.lineage()[1:] if HOOK in base.methods]
            named = (value.function for value in self.solution.graph.of(Op.EXTERNAL) if value.name in SWITCHES)
            guarding = frozenset(named) if hooks else frozenset()
            self._guarded_by_base[cls] = any(hook.is_foreign or hook in guarding for hook in hooks)
        return self._guarded_by_base[cls]

    def _from_elsewhere(self, function: Function) -> Guarding:
        """How other files call a function; nobody finds one without a name but in what the file's body makes.

        A method of a base in another file they call on objects of this one. They make an object by its class.
        """
        name = function.owner.name if function.owner is not None and function.name == "__init__" else function.name
        is_hidden = function.name == "<lambda>" and function.parent is not self.solution.graph.module
        is_elsewhere = function.is_foreign and function.owner is None
        return Guarding.UNSEEN if is_elsewhere or is_hidden else self._guarding(name)

    @cached_property
    def _called_by_name(self) -> Mapping[str, list[Value]]:
        """Calls of methods on objects that nobody knows, ``TUNERS[kind](model).tune()``, by the method's name.

        They stand in for the callers of a method that has no other; what a file says of no caller at all is that it
        may be called with gradients on.
        """
        resolved = {call for calls in self.solution.callers.values() for call in calls}
        found: dict[str, list[Value]] = {}
        for value in self.solution.graph.of(Op.CALL):
            if value.callee.op is Op.ATTRIBUTE and value not in resolved:
                found.setdefault(value.callee.name, []).append(value)
        return found

    def is_doubtful(self, function: Function) -> bool:
        """Whether some who call a function switch gradients off, and others do not.

        Other files call something of this name both ways, or it depends on the release of the framework that does.
        """
        if function.is_foreign or self.solution.callers.get(function):
            return False
        return self._from_elsewhere(function) is Guarding.DOUBTFUL or ran_without_gradients(function)

    def at(self, value: Value) -> frozenset[Mode]:
        """The modes that are possible where ``value`` is computed."""
        if value.mode is Mode.INHERITED:
            return self.entry(value.function)
        return BOTH if value.mode is Mode.MAYBE else frozenset([value.mode])  # UNKNOWN is neither

    def records(self, value: Value) -> bool:
        """Whether gradients may be on where ``value`` is computed."""
        return Mode.ON in self.at(value)
