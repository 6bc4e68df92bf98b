"""Work that may fail: which calls compute with tensors, in a ``try`` or in its handlers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.holders import Holders
from torchlint.facts.values.domain import Argument, ClassReference, Container, External, Instance, Plain, Tool
from torchlint.facts.values.framework_objects import contract_of
from torchlint.facts.values.frameworks import is_module, may_be_module
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.overriding import is_left_open
from torchlint.frameworks import Holds
from torchlint.syntax.tree import dotted, walk_scope, walk_statements

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 4
"""How many calls deep a module is looked for."""


class TriedWork:
    """Looks at the ``try`` statements of one file."""

    def __init__(self, facts: Facts, holders: Holders) -> None:
        """Prepare to look up calls by where they are written; ``holders`` says what an object is part of."""
        self.facts = facts
        self.solution = facts.solution
        self.steps = facts.steps
        self.holders = holders

    def is_unknown_work(self, call: Value, depth: int = DEPTH, *, may_be_bare: bool = False) -> bool:
        """Whether an object of unknown type is called, or a method of one, with something, for its result.

        Be it for no result where it ``may_be_bare``.

        A function of the file works as little as what it calls: it may only choose a smaller batch.
        """
        functions = [one for one in self.solution.functions_of(call) if not is_left_open(one)]  # of a protocol
        inside = (inner for function in functions for inner in self.steps.calls_in(function))
        runs = any(function in self.solution.graph.foreign.running for function in functions)
        if functions and not runs and not (depth and any(self.is_unknown_work(one, depth - 1) for one in inside)):
            return False
        if (call.is_bare and not may_be_bare) or not call.arguments:
            return False
        if path_of_call(call) is None or call.callee.op is Op.EXTERNAL:
            return False
        callee = call.callee
        subject = callee.inputs[0] if callee.op is Op.ATTRIBUTE else callee
        known = Plain | Tool | External | Container | ClassReference
        return not self.solution.may_be(subject, known)

    def works(self, call: Value) -> set[object]:
        """The modules and functions that a call runs, where it computes with tensors; empty for any other call."""
        reached = self._reached(call, DEPTH, set())
        if any(not isinstance(one, Function) for one in reached):
            return reached
        return reached if any(map(self._is_computed_with, call.arguments)) else set()

    def _is_computed_with(self, argument: Value) -> bool:
        """Whether an argument is or holds tensors; a trainer does, too, but whoever is given it may ask it anything."""
        atoms = self.solution.final(argument)
        objects = [atom for atom in atoms if isinstance(atom, Instance) and not is_module(atom)]
        is_object = bool(objects) and all(atom in objects or isinstance(atom, Argument) for atom in atoms)
        return not is_object and self.facts.tensors.holds_tensors(argument)

    def _reached(self, call: Value, depth: int, seen: set[Function]) -> set[object]:
        found: set[object] = set()
        if self._runs_module(call):
            found |= self.holders.objects(call.callee)
        elif self._may_compute(call):
            found.add(call.callee)
        for function in self.solution.functions_of(call):
            if function in seen or function.name == "__init__":
                continue
            seen.add(function)
            found.add(function)
            if function in self.solution.graph.foreign.running:
                found.add(function.name)
            if depth > 0:
                for inner in self.steps.calls_in(function):
                    found |= self._reached(inner, depth - 1, seen)
        return found

    def _runs_module(self, call: Value) -> bool:
        callee = call.callee
        if callee.op is Op.ATTRIBUTE and callee.name in ("forward", "__call__", "generate"):
            callee = callee.inputs[0]
        if contract_of(self.solution, call, Holds.GUARDED) is not None:
            return True  # a pipeline
        return may_be_module(self.solution, callee)

    def _may_compute(self, call: Value) -> bool:
        """Whether code that is not seen gets tensors: by what is handed in, ``run(x)``, or beside a network to run."""
        given = call.arguments
        if call.callee.op is not Op.PARAMETER:
            given = tuple(one for one in given if not self.facts.tensors.is_module(one))
            if len(given) == len(call.arguments) or self.solution.functions_of(call):
                return False
        return any(map(self.facts.tensors.holds_tensors, given))

    def clears_frames(self, handler: cst.ExceptHandler | cst.FunctionDef) -> bool:
        """Whether a handler drops the traceback, or the variables of its frames."""
        for node in walk_scope(handler.body):
            if isinstance(node, cst.Call) and (dotted(node.func) or "").endswith(("clear_frames", "with_traceback")):
                return True
            if isinstance(node, cst.AssignTarget) and (dotted(node.target) or "").endswith("__traceback__"):
                return True
        return False

    @cached_property
    def _calls(self) -> dict[cst.CSTNode, Value]:
        return {call.syntax: call for call in self.facts.calls() if call.syntax is not None}

    def calls_under(self, node: cst.CSTNode) -> Iterator[Value]:
        """The calls that are made where ``node`` runs, not in functions that it defines."""
        for inner in walk_scope(node):
            if inner in self._calls:
                yield self._calls[inner]

    @cached_property
    def tries(self) -> list[cst.Try]:
        """The ``try`` statements of the file."""
        return [node for node in walk_statements(self.facts.module) if type(node) is cst.Try]


def path_of_call(call: Value) -> str | None:
    """What a call calls, where it is written as a chain of names: ``self.task.valid_step``."""
    return dotted(call.syntax.func) if isinstance(call.syntax, cst.Call) else None
