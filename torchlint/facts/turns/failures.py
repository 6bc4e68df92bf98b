"""What says that something failed: names that handlers of exceptions set, or that get what a function says of it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import target_names
from torchlint.facts.turns.bindings import Bindings
from torchlint.facts.values.graph import Function, Loop, Value
from torchlint.syntax.conditions import last_of
from torchlint.syntax.tree import dotted, walk_statements

if TYPE_CHECKING:
    from torchlint.facts import Facts

WHOLE = -1
"""The position of what is no tuple."""

SAID = frozenset(["True", "False", "None"])
"""What a function returns to say whether it failed."""


class Failures:
    """Says by which names the code of one file knows that something failed; each answer is remembered."""

    def __init__(self, facts: Facts, bindings: Bindings) -> None:
        """Work on ``facts``; what their code binds is asked of ``bindings``."""
        self.facts, self.bindings = facts, bindings
        self._names: dict[Loop | Function, Set[str]] = {}
        self._told: dict[Function, Set[int]] = {}

    def names_in(self, within: Loop | Function) -> Set[str]:
        """The names that say in a loop or a function that something failed."""
        if within not in self._names:
            function = within.function if isinstance(within, Loop) else within
            self._names[within] = {*self._set_by_handlers(within.syntax), *self._given_by_calls(function)}
        return self._names[within]

    def _set_by_handlers(self, node: cst.CSTNode) -> Iterator[str]:
        for handler in _handlers_in(node):
            yield from self.bindings.assigned(handler.body)

    def _given_by_calls(self, function: Function) -> Iterator[str]:
        """``out, failed = attempt(batch)``: what gets the part of a result by which a function says that it failed."""
        for call in self.facts.steps.calls_in(function):
            target = self._target_of(call)
            if target is not None:
                told = (one for callee in self.facts.solution.functions_of(call) for one in self._positions(callee))
                yield from (name for position in told for name in target_names(_part(target, position)))

    def _target_of(self, call: Value) -> cst.BaseExpression | None:
        """To what the result of a call is assigned, be it that it is waited for."""
        around = self.facts.parents.get(call.syntax) if call.syntax is not None else None
        if isinstance(around, cst.Await):
            around = self.facts.parents.get(around)
        return around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None

    def _positions(self, function: Function) -> Set[int]:
        """The parts of what a function returns that say whether it failed, or :data:`WHOLE`."""
        if function not in self._told:
            self._told[function] = set() if function.is_foreign else set(self._told_by(function.syntax))
        return self._told[function]

    def _told_by(self, syntax: cst.CSTNode) -> Iterator[int]:
        names = set(self._set_by_handlers(syntax))
        handled = {node for part in _run_after_failures(syntax) for node in walk_statements(part)}
        for node in walk_statements(syntax) if handled else ():
            if isinstance(node, cst.Return) and node.value is not None:
                for position, part in _parts(node.value):
                    name = dotted(part)
                    if name in names or (node in handled and name in SAID):
                        yield position


def _handlers_in(node: cst.CSTNode) -> list[cst.ExceptHandler]:
    return [inner for inner in walk_statements(node) if type(inner) is cst.ExceptHandler]


def _run_after_failures(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What runs only when something failed: the handlers, and what stands behind a ``try`` that leaves where not."""
    yield from (handler.body for handler in _handlers_in(node))
    for block in walk_statements(node):
        if isinstance(block, cst.IndentedBlock):
            tries = (at for at, one in enumerate(block.body) if leaves_if_done(one))
            yield from block.body[next(tries, len(block.body)) + 1 :]


def leaves_if_done(statement: cst.CSTNode) -> bool:
    """Whether a statement is a ``try`` that leaves where nothing fails: what stands behind it is for failures."""
    if type(statement) is not cst.Try or not statement.handlers:
        return False
    done = statement.orelse.body if statement.orelse is not None else statement.body
    return isinstance(last_of(done), cst.Return | cst.Continue | cst.Break)


def _parts(returned: cst.BaseExpression) -> list[tuple[int, cst.BaseExpression]]:
    if isinstance(returned, cst.Tuple):
        return [(position, element.value) for position, element in enumerate(returned.elements)]
    return [(WHOLE, returned)]


def _part(target: cst.BaseExpression, position: int) -> cst.BaseExpression:
    """What of the target of an assignment gets the part of a tuple at ``position``; all where that is not written."""
    if position == WHOLE or not isinstance(target, cst.Tuple | cst.List) or position >= len(target.elements):
        return target
    return target.elements[position].value
