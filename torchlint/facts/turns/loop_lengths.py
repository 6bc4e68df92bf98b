"""How long loops run: a handful of turns that are counted out in the program, or as long as there is data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.frameworks import is_framework_training
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

FEW = 30
"""Fewer turns than so many are a handful: what each of them leaves is bounded and small."""

DEPTH = 4
"""How many calls down and callers up a training is looked for."""

WRAPPERS = frozenset(["builtins.enumerate", "builtins.iter", "builtins.list", "builtins.reversed", "tqdm.tqdm"])
"""Functions that yield as many items as their first argument."""


class LoopLengths:
    """Says of the loops of one file how long they run."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts

    @cached_property
    def _values(self) -> dict[cst.CSTNode, Value]:
        """The value of each expression."""
        return {v.syntax: v for v in self.facts.graph.values if v.syntax is not None}

    def is_short(self, loop: Loop) -> bool:
        """Whether ``loop`` ends after a few turns that the program counts out."""
        return (loop.iterable is not None and self._yields_few(loop.iterable)) or self.leaves_early(loop)

    def leaves_early(self, loop: Loop) -> bool:
        """Whether ``loop`` is left after a few turns, by a test for a small number that the program sets."""
        return any(self._is_small(node) for test in _tests_that_leave(loop.syntax) for node in walk(test))

    def is_trial(self, loop: Loop) -> bool:
        """Whether ``loop`` is short and steps no optimizer: a measurement, a few samples, and no training."""
        if not self.is_short(loop):
            return False
        calls = self.facts.steps.calls_within(loop)
        return not any(map(self._trains, calls))

    def _trains(self, call: Value) -> bool:
        """Whether a CALL steps an optimizer, by a function of another file as well."""
        if self.facts.repetitions.steps_optimizer(call):
            return True
        return any(f.is_foreign and self.facts.steps.trains(f) for f in self.facts.solution.functions_of(call))

    def _yields_few(self, iterable: Value) -> bool:
        if iterable.op is Op.CONTAINER:
            return not isinstance(iterable.syntax, cst.ListComp | cst.SetComp | cst.DictComp)
        if iterable.op is not Op.CALL or iterable.callee.op is not Op.EXTERNAL:
            return iterable.op is Op.CALL and self._generates_few(iterable)
        name, arguments = iterable.callee.name, iterable.arguments
        if name in WRAPPERS or name.startswith("tqdm."):
            return bool(arguments) and self._yields_few(arguments[0])
        if name == "builtins.range":
            return bool(arguments) and all(self._is_few(argument) for argument in arguments)
        if name == "itertools.islice":
            return len(arguments) > 1 and all(self._is_few(argument) for argument in arguments[1:])
        return name == "builtins.zip" and any(map(self._yields_few, arguments))

    def _generates_few(self, call: Value) -> bool:
        """Whether a CALL is of generators of the file that yield in a short loop: ``for x in batches(3)``."""
        functions = self.facts.solution.functions_of(call)
        return bool(functions) and all(one.is_generator and self._is_short_for(one, call) for one in functions)

    def _is_short_for(self, generator: Function, call: Value) -> bool:
        given = self.facts.solution.callers.get(generator, {}).get(call, {})
        loops = [loop for loop in self.facts.graph.loops_in(generator) if loop.parent is None]
        counted = [loop.iterable for loop in loops if loop.iterable is not None]
        return len(counted) == len(loops) > 0 and all(
            over.op is Op.CALL
            and over.callee.name == "builtins.range"
            and all(self._is_few(given.get(number) or number) for number in over.arguments)
            for over in counted
        )

    def _adds_up(self, loop: Loop, counts: Callable[[cst.CSTNode], bool]) -> bool:
        """Whether a short loop that only counts runs again and again in others: 200 epochs of 100 steps."""
        around = [self._counted(one) for one in loop.around() if counts(one.syntax)]
        return None not in around and math.prod(number for number in around if number is not None) >= FEW

    def _counted(self, loop: Loop) -> int | None:
        """How many turns a loop counts out; None for any other loop, and for one that is left before."""
        over = loop.iterable
        if over is None or over.op is not Op.CALL or over.callee.name != "builtins.range":
            return None
        number = literal(self.facts.solution, over.argument(0)) if len(over.arguments) == 1 else None
        leaves = any(True for _ in _tests_that_leave(loop.syntax))
        return number if isinstance(number, int) and not leaves else None

    def _gets_few(self, loop: Loop, caller: Value | None) -> bool:
        """Whether ``loop`` runs over a parameter for which ``caller`` passes a few items."""
        source = loop.iterable
        while source is not None and source.op is Op.CALL and source.callee.name in WRAPPERS and source.arguments:
            source = source.arguments[0]
        if source is None or caller is None:
            return False
        given = self.facts.solution.callers.get(loop.function, {}).get(caller, {}).get(source)
        return given is not None and self._yields_few(given)

    def _is_small(self, node: cst.CSTNode) -> bool:
        """Whether an expression of a test that leaves a loop is a small number that the program sets."""
        compared = self._values.get(node) if isinstance(node, cst.Comparison) else None
        return compared is not None and any(self._is_few(side, least=1) for side in compared.inputs)

    def _is_few(self, value: Value, least: int = 0) -> bool:
        number = literal(self.facts.solution, value)
        return isinstance(number, int) and not isinstance(number, bool) and least <= number < FEW

    def training_within(self, block: cst.CSTNode, function: Function) -> cst.CSTNode | None:
        """A long training that runs in a part of ``function``: its loop, or the call that has a framework run it."""
        inside = set(walk(block))
        return self._training(function, lambda node: node in inside, DEPTH)

    def trains_long(self, function: Function) -> bool:
        """Whether a long training runs in ``function``, or in what it calls."""
        return self._training(function, lambda _: True, DEPTH) is not None

    def training_after(self, call: Value, ends: Sequence[Value] = ()) -> cst.CSTNode | None:
        """A long training that begins after ``call``, or around it: in its function, else in those that led to it.

        None where the function of the call runs a few steps by itself: it is about these.

        Args:
            call: after which.
            ends: calls of the same function behind which nothing counts.
        """
        if ends:
            last = max(self._order.get(end.syntax, 0) for end in ends if end.syntax is not None)
            return self._training(
                call.function, lambda node: self._is_later(node, call) and self._order.get(node, 0) < last, DEPTH
            )
        frontier, seen = [call], {call.function}
        for _ in range(DEPTH):
            for at in frontier:
                found = self._training(at.function, lambda node, at=at: self._is_later(node, at), DEPTH)  # type: ignore[misc]
                if found is not None:
                    return found
                if any(loop.function is at.function and self._steps_few(loop) for loop in self.facts.graph.loops):
                    return None
            callers = [c for at in frontier for c in self.facts.solution.callers.get(at.function, ())]
            frontier = [c for c in callers if c.function not in seen]
            seen.update(c.function for c in frontier)
        return None

    @cached_property
    def has_few_steps(self) -> bool:
        """Whether the file runs a few steps somewhere: a measurement, for which a program may ask for more."""
        return any(map(self._steps_few, self.facts.graph.loops))

    def _steps_few(self, loop: Loop) -> bool:
        return self.facts.repetitions.turn(loop).is_step and self.is_short(loop)

    def _is_later(self, node: cst.CSTNode, at: Value) -> bool:
        """Whether a loop or call of the function of ``at`` stands after it, or around it."""
        if at.syntax is None or self._order.get(node, 0) > self._order.get(at.syntax, 0):
            return True
        return any(loop.syntax is node for loop in (at.loop.around() if at.loop is not None else ()))

    @cached_property
    def _order(self) -> dict[cst.CSTNode, int]:
        return {node: position for position, node in enumerate(walk(self.facts.module))}

    def _training(
        self, function: Function, counts: Callable[[cst.CSTNode], bool], depth: int, caller: Value | None = None
    ) -> cst.CSTNode | None:
        """The first long loop of steps among the nodes that count, or in what is called there."""
        for loop in self.facts.graph.loops:
            if loop.function is function and counts(loop.syntax):
                is_step = self.facts.repetitions.turn(loop).is_step or self.facts.repetitions.makes_step(loop)
                is_long = not self.is_short(loop) and not self._gets_few(loop, caller)
                if is_step and (is_long or self._adds_up(loop, counts)):
                    return loop.syntax
        for call in self.facts.steps.calls_in(function):
            if call.syntax is None or not counts(call.syntax):
                continue
            if is_framework_training(call):
                return call.syntax
            callees = self.facts.solution.functions_of(call)
            if not self.facts.graph.foreign.trainings.isdisjoint(callees):
                return call.syntax
            for callee in callees if depth else ():
                found = self._training(callee, lambda _: True, depth - 1, call)
                if found is not None:
                    return found
        return None


def is_entered_by_stack(facts: Facts, call: Value) -> bool:
    """``stack.enter_context(call)``: what is entered there stays so until the stack ends."""
    argument = facts.parents.get(call.syntax) if call.syntax is not None else None
    outer = facts.parents.get(argument) if isinstance(argument, cst.Arg) else None
    return (
        isinstance(outer, cst.Call)
        and isinstance(outer.func, cst.Attribute)
        and outer.func.attr.value in ("enter_context", "enter_async_context")
    )


_INNER = frozenset([cst.For, cst.While, cst.FunctionDef, cst.Lambda])
"""In these another loop is left, or none."""


def _tests_that_leave(loop: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The conditions under which the body of a loop leaves it."""
    body = loop.body if isinstance(loop, cst.For | cst.While) else None
    if body is None:
        return
    for node in walk(body, lambda child: child.__class__ not in _INNER):
        if type(node) is cst.If and _leaves(node.body):
            yield node.test


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Break | cst.Return)
