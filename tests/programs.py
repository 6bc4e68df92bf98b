"""Small programs for tests of the facts: from a source string to the facts, and to the values that it speaks of."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import libcst as cst

from torchlint.facts import Facts
from torchlint.facts.domain import (
    Argument, ClassReference, Container, Derived, External, FunctionReference, History, Instance, Module, Plain, Tensor,
    Tool,
)  # fmt: skip
from torchlint.facts.graph import Function, Loop, Mode, Op, Value

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
"""
"""What every program begins with."""

TRAINING = """
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(dataset)
"""
"""What most of them need besides."""


class Program:
    """The facts of a source string, and its values by how they are written.

    Attributes:
        text: the whole source.
        facts: its facts.
    """

    def __init__(self, source: str, *, head: str = HEAD) -> None:
        """Parse ``source`` behind the imports of ``head``; a slip in it is a SyntaxError here."""
        self.text = head + dedent(source)
        ast.parse(self.text)
        self.facts = Facts(cst.parse_module(self.text))

    # -- looking up -----------------------------------------------------------------------------------------------

    def value(self, text: str) -> Value:
        """The last value (in the order of the walk) of an expression that is written ``text``."""
        found = [v for v in self.facts.graph.values if v.syntax is not None and self._wrote(v) == text]
        assert found, f"nothing is computed by `{text}`"
        return found[-1]

    def _wrote(self, value: Value) -> str:
        assert value.syntax is not None
        if value.op in (Op.PARAMETER, Op.FUNCTION, Op.CLASS, Op.ELEMENT):
            return ""
        return self.facts.code(value.syntax)

    def printed(self) -> list[Value]:
        """What the program prints: the way to name the value of a variable at a point."""
        calls = [v for v in self.facts.calls() if v.callee.op is Op.EXTERNAL and v.callee.name == "builtins.print"]
        return [argument for call in calls for argument in call.arguments]

    def shown(self) -> Value:
        """The only thing that the program prints."""
        (value,) = self.printed()
        return value

    def function(self, name: str) -> Function:
        """The function or method called ``name``."""
        (found,) = [function for function in self.facts.graph.functions if function.name == name]
        return found

    def loop(self, header: str) -> Loop:
        """The loop whose first line begins with ``header``."""
        (found,) = [loop for loop in self.facts.graph.loops if self.facts.code(loop.syntax).startswith(header)]
        return found

    # -- asking ---------------------------------------------------------------------------------------------------

    def modes(self, value: Value) -> frozenset[Mode]:
        """The grad modes that are possible where ``value`` is computed."""
        return self.facts.modes.at(value)

    def accumulated(self) -> list[str]:
        """The names of what is accumulated beyond a step, running states included."""
        return sorted(found.name for found in self.facts.accumulations)

    def inserted(self) -> list[str]:
        """The names of the unbounded containers into which graphs are put beyond a step."""
        return sorted(found.name for found in self.facts.insertions if not found.bounded)

    def leaks(self) -> list[str]:
        """The names of holders that keep graphs from step to step which no backward needs."""
        keeps = self.facts.retention
        sums = [found.name for found in self.facts.accumulations if keeps(found.held, found.added) is not None]
        unbounded = [found for found in self.facts.insertions if not found.bounded]
        lists = [i.name for i in unbounded if keeps(i.allocation or i.holder, i.parts) is not None]
        return sorted(sums + lists)

    def infers(self) -> list[str]:
        """The names of functions that infer with gradients on."""
        return sorted(function.name for function in self.facts.inferences.found)

    def kinds(self, value: Value) -> set[str]:
        """What ``value`` may be, in the words of :func:`kind_in_torch`; "unknown" stands for all that is not known."""
        return self._kinds(value, set())

    def _kinds(self, value: Value, seen: set[Value]) -> set[str]:
        if value in seen:
            return set()
        found: set[str] = set()
        for atom in self.facts.solution.final(value):
            if isinstance(atom, Tensor):
                found.add(self._kind_of(atom))
            elif isinstance(atom, Argument | Derived):
                found |= self._kinds_of_argument(atom, seen | {value})
            else:
                found.add("no tensor" if isinstance(atom, OBJECTS) else "unknown")
        return found

    def _kind_of(self, atom: Tensor) -> str:
        if atom.history is History.LIVE:
            return "live" if self._may_record(atom.inherits) else "without graph"
        return {History.LEAF: "leaf", History.NONE: "without graph"}.get(atom.history, "unknown")

    def _kinds_of_argument(self, atom: Argument | Derived, seen: set[Value]) -> set[str]:
        """What the calls of the file pass, or what is computed from it."""
        parameter = atom.parameter
        bindings = self.facts.solution.callers.get(parameter.function, {}).values()
        given = {argument for binding in bindings if (argument := binding.get(parameter)) is not None}
        if any(binding.get(parameter) is None for binding in bindings):
            given |= set(parameter.inputs)
        kinds = {kind for argument in given for kind in self._kinds(argument, seen)} or {"unknown"}
        if isinstance(atom, Derived):
            computed = "live" if self._may_record(atom.inherits) else "without graph"
            kinds = {computed if kind in ("live", "leaf") else kind for kind in kinds}
        return kinds

    def _may_record(self, function: Function | None) -> bool:
        return function is None or Mode.ON in self.facts.modes.entry(function)


OBJECTS = (Plain, Module, Tool, Instance, FunctionReference, ClassReference, External, Container)
"""Alternatives that are no tensor."""


def kind_in_torch(value: object) -> str:
    """What a real object is: "live" (with a graph), "leaf" (requires grad), "without graph" or "no tensor"."""
    import torch

    if not isinstance(value, torch.Tensor):
        return "no tensor"
    if value.grad_fn is not None:
        return "live"
    return "leaf" if value.requires_grad else "without graph"


def inside_a_function(body: str, result: str) -> str:
    """The statements of ``body`` as a function of their own that returns ``result``, and prints it before."""
    lines = f"{dedent(body).strip()}\nprint({result})\nreturn {result}"
    return f"def run():\n{indent(lines, '    ')}\n"
