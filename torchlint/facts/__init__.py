"""What is known of a program: the facts that rules ask."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from torchlint.facts.build.builder import build
from torchlint.facts.flows import Flows
from torchlint.facts.freezing import frozen_subjects
from torchlint.facts.graph import Function, Op, Value, ValueGraph
from torchlint.facts.lifetimes import Lifetimes
from torchlint.facts.modes import Modes
from torchlint.facts.solve import Solution
from torchlint.facts.steps import Steps
from torchlint.tree import parents

__all__ = ["Facts"]


class Facts:
    """The facts of one file.

    Attributes:
        module: the parsed file.
        graph: its value graph.
        evaluations: each ``.eval()`` as (on what, in which function).
        solution: the abstract value of each value.
        modes, flows, steps, lifetimes: the queries.
    """

    def __init__(self, module: cst.Module) -> None:
        """Compute the facts of a parsed file."""
        self.module = module
        self.graph: ValueGraph
        self.graph, self.evaluations = build(module)
        self.solution = Solution(self.graph)
        self.solution.solve()
        frozen = frozen_subjects(self.solution)
        if frozen:
            self.solution = Solution(self.graph, frozen)
            self.solution.solve()
        self.modes = Modes(self.solution)
        self.flows = Flows(self.solution, self.modes)
        self.steps = Steps(self.solution, self.flows)
        self.lifetimes = Lifetimes(self.solution, self.flows, self.steps)

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """Each node's parent, by identity."""
        return parents(self.module)

    def code(self, node: cst.CSTNode) -> str:
        """The source of a node on one line, without the comments and blank lines before it."""
        return " ".join(self.module.code_for_node(node).split())

    def statement_of(self, value: Value) -> cst.CSTNode:
        """The statement in which a value is computed."""
        return value.statement if value.statement is not None else self.module

    def calls(self) -> list[Value]:
        """Every call of the file in the order of the walk."""
        return [value for value in self.graph.values if value.op is Op.CALL]

    def is_module_body(self, function: Function) -> bool:
        """Whether ``function`` stands for the code at the top level of the file."""
        return function.parent is None
