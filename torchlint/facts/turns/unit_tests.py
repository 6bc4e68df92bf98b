"""Unit tests: what a test runner calls once, on a few rows.

A forward there costs next to nothing and is gone with the test. A test that goes over a loader is an evaluation like
any other, where no runner collects it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import libcst as cst

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.syntax.tree import walk

RUNNERS = frozenset(["pytest", "unittest"])
"""Packages that run tests."""

CHECKS = ("assertEqual", "assertTrue", "assertFalse", "assertIs", "assertIn", "assertAlmostEqual", "assertList")
"""How methods of ``unittest.TestCase`` begin, which helpers of tests call on the case they are given."""

PREFIXES = ("test_", "_test_")
"""How functions are called that a runner collects, and what they have in common."""

TOOLS = ("pytest", "unittest", "torch.testing", "hypothesis")
"""What files of tests import."""

WRAPPING = ("builtins.", "tqdm", "itertools.")
"""Functions that loops run over, and that take what they yield from their first argument."""

OF_NUMBERS = (*WRAPPING, "torch.", "numpy.")
"""Functions that make no data set."""


class UnitTests:
    """Answers what only unit tests run."""

    def __init__(self, steps: Steps) -> None:
        """Read the callers from what ``steps`` knows."""
        self.steps = steps
        self.solution = steps.solution
        self._known: dict[Function, bool] = {}

    def is_brief(self, value: Value) -> bool:
        """Whether ``value`` is computed in a unit test: one that a runner collects, or not for each batch of data."""
        around = value.loop.around() if value.loop is not None else []
        goes_over_data = any(loop.iterable is not None and self._is_data(loop.iterable) for loop in around)
        is_collected = self._has_runner and value.function.name.startswith(PREFIXES)
        return (value.is_bare or is_collected or not goes_over_data) and self.has(value.function)

    def _is_data(self, iterable: Value) -> bool:
        """Whether a loop runs over a loader, or over what code that is not seen makes."""
        if self.steps.is_loader(iterable):
            return True
        while iterable.op is Op.CALL and iterable.callee.name.startswith(WRAPPING) and iterable.arguments:
            iterable = iterable.arguments[0]
        is_made = iterable.op is Op.CALL and iterable.callee.op is Op.EXTERNAL
        return is_made and not iterable.callee.name.startswith(OF_NUMBERS)

    def has(self, function: Function) -> bool:
        """Whether ``function`` is a unit test, a fixture of one, or what only such functions call."""
        if function not in self._known:
            self._known[function] = False  # functions that only call each other are no tests
            self._known[function] = self._compute(function)
        return self._known[function]

    def may_have(self, function: Function) -> bool:
        """Whether ``function`` is named like a test, or stands in a file of tests: nobody trains with it."""
        return function.name.startswith("test") or self._has_tools

    def makes_all(self, cls: Class) -> bool:
        """Whether only unit tests make instances of ``cls``, as far as is seen, and some do."""
        made = self._made.get(cls, ())
        return bool(made) and all(self.has(call.function) for call in made)

    @cached_property
    def _made(self) -> dict[Class, list[Value]]:
        """The calls that make instances of a class, or of one that inherits from it."""
        table: dict[Class, list[Value]] = defaultdict(list)
        for call in self.solution.graph.of(Op.CALL):
            named = [a.cls for a in self.solution.final(call.callee) if isinstance(a, ClassReference)]
            for cls in dict.fromkeys(above for one in named for above in one.lineage()):
                table[cls].append(call)
        return table

    def _compute(self, function: Function) -> bool:
        if function.parent is None:
            return False
        if any(name.partition(".")[0] == "pytest" for name in function.decorators):
            return True
        if function.parent.parent is not None and self.has(function.parent):
            return True
        callers = self.solution.callers.get(function, ())
        # `if __name__ == "__main__": test_shapes()`
        ours = [call for call in callers if call.function.parent is not None or call.arguments]
        if ours:
            return all(self.has(call.function) for call in ours)
        if function.owner is not None and (_is_test_case(function.owner) or self.makes_all(function.owner)):
            return True  # whoever calls a method of what only tests make is a test, or a framework for one
        if self._has_runner and _checks(function):
            return True
        if not function.name.startswith(PREFIXES):
            return False
        if function.owner is None or _is_named(function.owner):
            return self._has_runner or self._asserts(function) or _checks(function)
        # A mixin's, of which test cases are made: a trainer's own `test_epoch` is given a loader, or runs no tests.
        return self._has_runner and len(function.parameters) == 1

    def _asserts(self, function: Function) -> bool:
        """Whether a function says what it expects, or calls one of the file that does."""
        called = (inner for call in self.steps.calls_in(function) for inner in self.solution.functions_of(call))
        return any(map(_asserts, (function, *(inner for inner in called if not inner.is_foreign))))

    @cached_property
    def _has_runner(self) -> bool:
        """Whether the file imports what runs tests."""
        return any(name.partition(".")[0] in RUNNERS for name in self._imported)

    @cached_property
    def _has_tools(self) -> bool:
        return any(name.startswith(TOOLS) for name in self._imported)

    @cached_property
    def _imported(self) -> set[str]:
        """The dotted names of other packages that the file uses."""
        return {value.name for value in self.solution.graph.of(Op.EXTERNAL)}


def _is_test_case(cls: Class) -> bool:
    return cls.name.endswith("TestCase") or any(base.endswith("TestCase") for base in cls.all_bases())


def _is_named(cls: Class) -> bool:
    """Whether a class is named as one of tests, or as what such classes inherit: ``RoundTripTesterMixin``."""
    is_mixin = "Test" in cls.name and cls.name.endswith("Mixin")
    return cls.name.lstrip("_").startswith("Test") or is_mixin or _is_test_case(cls)


def _checks(function: Function) -> bool:
    """Whether a function calls what test cases alone have: ``self.parent.assertEqual(y.shape, (2, 3))``."""
    calls = (node.func for node in walk(function.syntax) if isinstance(node, cst.Call))
    return any(isinstance(f, cst.Attribute) and f.attr.value.startswith(CHECKS) for f in calls)


def _asserts(function: Function) -> bool:
    """Whether a function says what it expects: ``assert y.shape == (2, 3)``."""
    return any(isinstance(node, cst.Assert) for node in walk(function.syntax))
