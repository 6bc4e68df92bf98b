"""Small programs for tests of the facts: from a source string to the facts, and to the values that it speaks of."""

from __future__ import annotations

import ast
import contextlib
import io
from textwrap import dedent, indent
from typing import Any

import libcst as cst
import pytest

from torchlint.facts import Facts
from torchlint.facts.values.domain import (
    Argument,
    ClassReference,
    Container,
    Derived,
    External,
    FunctionReference,
    History,
    Instance,
    Module,
    Plain,
    Tensor,
    Tool,
)  # fmt: skip
from torchlint.facts.values.graph import Function, Loop, Mode, Op, Value

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


PREPARED = """
import copy
import functools
import heapq
import itertools
import operator
import random
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from functools import partial, reduce
from types import SimpleNamespace
torch.manual_seed(0)
w = nn.Parameter(torch.rand(3))
x = torch.rand(3)
h = x * w
n = 2.0
target = torch.tensor([0])
model = nn.Linear(3, 3)
relu = nn.ReLU()
criterion = nn.CrossEntropyLoss()
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
pair = (h, n)
items = [h, h * 2]
table = {"loss": h, "count": n}
class Layered(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(3, 3), nn.Linear(3, 3)
"""
"""The variables of a snippet: a leaf, data, a tensor with a graph, a number, modules, containers of these."""


def snippets(text: str) -> list[str]:
    """The snippets of a text, which blank lines separate."""
    return [snippet.strip() for snippet in text.split("\n\n") if snippet.strip()]


def defects(text: str) -> list[Any]:
    """Snippets about which the facts are wrong, as parameters; the first line says how."""
    found = []
    for snippet in snippets(text):
        reason, _, code = snippet.partition("\n")
        mark = pytest.mark.xfail(strict=True, reason=reason.removeprefix("# "))
        found.append(pytest.param(code, marks=mark, id=code))
    return found


def in_torch(snippet: str) -> str:
    """What ``v`` is when torch has run the snippet, as a module's code and as a function's."""
    import torch

    kinds = set()
    for source in (f"{HEAD}{PREPARED}{snippet}\n", f"{HEAD}{inside_a_function(PREPARED + snippet, 'v')}v = run()\n"):
        names: dict[str, Any] = {}
        with torch.enable_grad(), contextlib.redirect_stdout(io.StringIO()):
            exec(source, names)
        kinds.add(kind_in_torch(names["v"]))
    (kind,) = kinds
    return kind


def claimed(snippet: str) -> list[set[str]]:
    """What the facts say of ``v`` in the code of a module and in that of a function."""
    as_module = Program(f"{PREPARED}{snippet}\nprint(v)\n")
    as_function = Program(inside_a_function(PREPARED + snippet, "v"))
    return [program.kinds(program.printed()[-1]) for program in (as_module, as_function)]


def check_exact(snippet: str) -> None:
    """The facts name what torch makes, and nothing else."""
    expected = in_torch(snippet)
    assert claimed(snippet) == [{expected}, {expected}]


def check_one_of_several(snippet: str) -> None:
    """The facts name what torch makes among other known things."""
    expected = in_torch(snippet)
    for kinds in claimed(snippet):
        assert expected in kinds
        assert "unknown" not in kinds
        assert len(kinds) > 1


def check_unknown(snippet: str) -> None:
    """Torch runs it, and the facts do not claim to know."""
    in_torch(snippet)
    assert all("unknown" in kinds for kinds in claimed(snippet))


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
