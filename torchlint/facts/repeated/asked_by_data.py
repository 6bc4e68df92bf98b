"""What a number of the step asks for: a branch that is taken whenever a loss or a score is large enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import paths_read
from torchlint.facts.turns.skipping import leaving_in
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.domain import Plain
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

HOPS = 3
"""Through so many functions of the file a number is followed to where it is read."""

NUMBERS = frozenset(["builtins.float", "builtins.int", "builtins.abs"])
"""Functions that give the number that they are given."""


class AskedByData:
    """Answers whether a number that each turn computes anew decides alone that a statement runs."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution

    def loop_of(self, at: Value, statement: cst.CSTNode) -> tuple[Loop, tuple[Value, ...]] | None:
        """The loop of steps in some turns of which a number of the turn asks for a statement.

        Args:
            at: what is computed there.
            statement: the statement, be it in a function that the loop calls.

        Returns:
            the loop, and the calls that lead to it, ``at`` first; None where nothing of the kind is seen.
        """
        return self._loop_of(at, statement, (at,), is_asked=False)

    def _loop_of(
        self, at: Value, statement: cst.CSTNode, chain: tuple[Value, ...], *, is_asked: bool
    ) -> tuple[Loop, tuple[Value, ...]] | None:
        for loop in at.loop.around() if at.loop is not None else ():
            turn = self.facts.repetitions.turn(loop)
            if turn is not Turn.OTHER:
                conditions = list(self._conditions(statement, loop.syntax))
                holds = all(one is not None and self._asks_number(one, loop) for one in conditions)
                return (loop, chain) if turn.is_step and holds and (is_asked or conditions) else None
        function = at.function
        if at.loop is not None or len(chain) > HOPS or function.name == "__init__" or is_forward(function):
            return None
        conditions = list(self._conditions(statement, function.syntax))
        callers = self.solution.callers.get(function, {})
        for caller in sorted(callers, key=lambda value: value.index):
            given, node = callers[caller], caller.syntax
            holds = all(one is not None and self._asks_number(one, None, given) for one in conditions)
            if node is None or not holds or caller in chain:
                continue
            found = self._loop_of(caller, node, (*chain, caller), is_asked=is_asked or bool(conditions))
            if found is not None:
                return found
        return None

    def _conditions(self, node: cst.CSTNode, around: cst.CSTNode) -> Iterator[cst.If | None]:
        """The conditions between a statement and what is around it; None for one that is no plain ``if``."""
        while node is not around and (parent := self.facts.parents.get(node)) is not None:
            if isinstance(parent, cst.If) and node is not parent.test:
                yield parent if node is parent.body else None
            elif isinstance(parent, cst.While | cst.ExceptHandler | cst.MatchCase) and parent is not around:
                yield None
            node = parent

    def tests_before(self, node: cst.CSTNode, function: Function) -> Iterator[cst.BaseExpression]:
        """All that is asked in a function before a statement runs: around it, or to leave the code around it."""
        parents = self.facts.parents
        while node is not function.syntax and (parent := parents.get(node)) is not None:
            if isinstance(parent, cst.If | cst.While) and node is not parent.test:
                yield parent.test
            elif isinstance(parent, cst.IndentedBlock):
                before = parent.body[: parent.body.index(node)]
                yield from (leaving.test for statement in before for leaving in leaving_in(statement))
            node = parent

    def _asks_number(
        self, condition: cst.If, loop: Loop | None, given: Mapping[Value, Value | None] | None = None
    ) -> bool:
        """``loss.item() > threshold``, be the number a variable; not where the branch changes what is asked for.

        ``loop`` is None in a function that each turn calls: what it computes is of the turn, and what it is ``given``.
        """
        compared = self._comparisons.get(condition.test)
        if compared is None or not self._assigned(condition.body).isdisjoint(paths_read(condition.test)):
            return False
        parts = reached(compared.inputs, lambda value: value.inputs if value.op is Op.OPERATION else ())
        for part in parts:
            number = (given or {}).get(part, part) or part
            is_of_turn = loop is None or (number.loop is not None and loop in number.loop.around())
            if is_of_turn and self._reads_number(number, HOPS):
                return True
        return False

    def _assigned(self, body: cst.CSTNode) -> frozenset[str]:
        return frozenset(self.facts.skipping.bindings.assigned(body))

    @cached_property
    def _comparisons(self) -> dict[cst.CSTNode | None, Value]:
        return {value.syntax: value for value in self.facts.graph.of(Op.COMPARISON)}

    def _reads_number(self, value: Value, hops: int) -> bool:
        """Whether a value is a number of a tensor: ``loss.item()``, ``float(loss)``, ``step(net, batch)``."""
        value = value.unnarrowed()
        if value.op is not Op.CALL:
            return False
        if value.callee.op is Op.ATTRIBUTE and value.callee.name == "item":
            return True
        if value.callee.op is Op.EXTERNAL and value.callee.name in NUMBERS and len(value.arguments) == 1:
            given = value.arguments[0]
            return self.facts.tensors.is_tensor(given) or self._reads_number(given, hops)
        functions = self.solution.functions_of(value)
        return bool(functions and hops) and all(self._gives_number(one, value, hops - 1) for one in functions)

    def _gives_number(self, function: Function, call: Value, hops: int) -> bool:
        """Whether a function gives a number that it reads of a tensor; of another file, one of what it trains."""
        if function.is_foreign:
            final = self.solution.final(call)
            return self.facts.steps.trains(function) and bool(final) and all(isinstance(a, Plain) for a in final)
        results: Sequence[Value] = function.result.inputs if function.result is not None else ()
        return bool(results) and not function.is_generator and all(self._reads_number(one, hops) for one in results)
