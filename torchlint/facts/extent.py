"""How long loops run: a handful of turns that are counted out in the program, or as long as there is data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.graph import Function, Loop, Op, Value
from torchlint.facts.literals import literal
from torchlint.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

FEW = 100
"""So many turns are a handful: what each of them leaves is bounded and small."""

WRAPPERS = frozenset(["builtins.enumerate", "builtins.iter", "builtins.list", "builtins.reversed", "tqdm.tqdm"])
"""Functions that yield as many items as their first argument."""


class Extents:
    """Says of the loops of one file how long they run."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self._values = {v.syntax: v for v in facts.graph.values if v.syntax is not None}

    def is_short(self, loop: Loop) -> bool:
        """Whether ``loop`` ends after a few turns that the program counts out."""
        if loop.iterable is not None and self._yields_few(loop.iterable):
            return True
        return any(self._is_small(node) for test in _tests_that_leave(loop.syntax) for node in walk(test))

    def _yields_few(self, iterable: Value) -> bool:
        if iterable.op is Op.CONTAINER:
            return not isinstance(iterable.syntax, cst.ListComp | cst.SetComp | cst.DictComp)
        if iterable.op is not Op.CALL or iterable.callee.op is not Op.EXTERNAL:
            return False
        name, arguments = iterable.callee.name, iterable.arguments
        if name in WRAPPERS or name.startswith("tqdm."):
            return bool(arguments) and self._yields_few(arguments[0])
        if name == "builtins.range":
            return bool(arguments) and all(self._is_few(argument) for argument in arguments)
        if name == "itertools.islice":
            return len(arguments) > 1 and all(self._is_few(argument) for argument in arguments[1:])
        return name == "builtins.zip" and any(map(self._yields_few, arguments))

    def _is_small(self, node: cst.CSTNode) -> bool:
        """Whether an expression of a test that leaves a loop is a small number that the program sets."""
        if not isinstance(node, cst.Comparison):
            return False
        sides = (node.left, *(target.comparator for target in node.comparisons))
        return any(side in self._values and self._is_few(self._values[side], least=1) for side in sides)

    def _is_few(self, value: Value, least: int = 0) -> bool:
        number = literal(self.facts.solution, value)
        return isinstance(number, int) and not isinstance(number, bool) and least <= number <= FEW

    def long_loops(self, function: Function, within: cst.CSTNode | None = None, depth: int = 4) -> Iterator[Loop]:
        """Loops of steps without a counted end that run in ``function``, or in what it calls.

        Args:
            function: whose own code is looked at.
            within: the part of it that counts; all of it for None.
            depth: how many calls deep.
        """
        inside = set(walk(within)) if within is not None else None
        for loop in self.facts.graph.loops:
            if loop.function is function and (inside is None or loop.syntax in inside):
                turn = self.facts.repetitions.turn(loop)
                if turn.is_step and not self.is_short(loop):
                    yield loop
        for call in self.facts.steps.calls_in(function):
            if depth and (inside is None or call.syntax in inside):
                for callee in self.facts.solution.functions_of(call):
                    yield from self.long_loops(callee, None, depth - 1)


def _tests_that_leave(loop: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The conditions under which the body of a loop leaves it."""
    body = loop.body if isinstance(loop, cst.For | cst.While) else None
    if body is None:
        return
    for node in walk(body, lambda child: not isinstance(child, cst.For | cst.While | cst.FunctionDef | cst.Lambda)):
        if isinstance(node, cst.If) and _leaves(node.body):
            yield node.test


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Break | cst.Return)
