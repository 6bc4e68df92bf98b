"""How a program writes what is known of it: the words of messages and of repairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import import_names
from torchlint.facts.values.graph import Function, Loop, Op, Value, ValueGraph
from torchlint.facts.values.writing import Use, operands, shortened
from torchlint.rule import LineOf
from torchlint.syntax.tree import branches, dotted, parents, walk

if TYPE_CHECKING:
    from torchlint.facts.summaries.effects import Effect

__all__ = ["Wording"]


def _as_item(value: Value) -> str:
    """``["loss"]`` of what another file puts into a dictionary under that key; "" for what is in none."""
    pairs = (
        (key, item)
        for user in value.users
        if user.op is Op.CONTAINER
        for key, item in zip(user.keys, user.inputs, strict=True)
    )
    return next((f'["{key}"]' for key, item in pairs if item is value and isinstance(key, str)), "")


def _is_nameless_item(value: Value) -> bool:
    """Whether a value is an item of what the program writes as a whole: ``map(operator.add, totals, terms)``."""
    return value.op is Op.ELEMENT and value.keys[0] is None and value.syntax is not None


def _compared(test: cst.Comparison) -> bool:
    """``self.name == "constant"``."""
    is_string = any(isinstance(c.comparator, cst.SimpleString) for c in test.comparisons)
    return is_string and (dotted(test.left) or "").startswith("self.")


class Wording:
    """One file and its value graph, in the file's own words.

    Attributes:
        module: the parsed file.
        graph: its value graph.
    """

    def __init__(self, module: cst.Module, graph: ValueGraph) -> None:
        """Nothing is looked up yet."""
        self.module = module
        self.graph = graph

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """Each node's parent, by identity."""
        return parents(self.module)

    def code(self, node: cst.CSTNode) -> str:
        """The source of a node on one line, without the comments and blank lines before it."""
        return " ".join(self.module.code_for_node(node).split())

    def shortly(self, node: cst.CSTNode) -> str:
        """The source of a node on one line and at most 40 characters."""
        return shortened(self.code(node))

    def statement_of(self, value: Value) -> cst.CSTNode:
        """The statement in which a value is computed."""
        return value.statement if value.statement is not None else self.module

    def called(self, call: Value) -> str:
        """How the program writes what a CALL calls, shortened to 40 characters."""
        text = self.code(call.syntax.func) if isinstance(call.syntax, cst.Call) else call.name
        return shortened(text)

    @cached_property
    def _imports(self) -> dict[str, str]:
        """Full dotted name to local name of what the module's own imports bind."""
        found: dict[str, str] = {}
        for statement in self.module.body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    if isinstance(small, cst.Import | cst.ImportFrom):
                        for local, full in import_names(small):
                            found.setdefault(full, local)
        return found

    def has_torch_name(self, member: str) -> bool:
        """Whether a member of torch can be reached through the module's imports."""
        return f"torch.{member}" in self._imports or "torch" in self._imports

    def torch_name(self, member: str) -> str:
        """How this file reaches a member of torch: ``th.no_grad``, ``no_grad``, or ``torch.no_grad``."""
        direct = self._imports.get(f"torch.{member}")
        return direct or f"{self._imports.get('torch', 'torch')}.{member}"

    def done_by(self, call: Value, by: Effect | None) -> str:
        """How a message names what does something: what is called, with what does it there if that is another file."""
        if by is None:
            return f"`{self.called(call)}`"
        return f"`{self.called(call)}` (`{by.done.name.rpartition('.')[2]}` in {by.file})"

    def name_of(self, use: Use) -> str:
        """How the program writes a value where it is used, at most 40 characters."""
        node = use.node or use.value.syntax
        if isinstance(node, cst.Param):
            return node.name.value
        if isinstance(node, cst.AugAssign):
            node = node.target
        if node is not None:
            text = self.code(node)
            return shortened(f"{text}[...]" if use.node is None and _is_nameless_item(use.value) else text)
        made = "(...)" if use.value.op is Op.CALL else ""  # as in `map(net, loader)`, where it is written nowhere
        return shortened(use.value.name + made if use.value.name else _as_item(use.value) or "it")

    def name_in(self, call: Value, value: Value) -> str:
        """How the program writes a value where a call is given it."""
        written = [use for use in operands(call) if use.value is value]
        return self.name_of(written[0] if written else Use(value, None))

    def each_turn(self, place: Function | Loop, which: str = "each") -> tuple[str | LineOf, ...]:
        """How a message names what comes again and again: the calls of a function, the turns of a loop."""
        if isinstance(place, Function):
            return (f"{which} call of `{place.name}`",)
        return (f"{which} turn of the loop in line ", LineOf(place.syntax))

    def outside(self, place: Function | Loop) -> tuple[str | LineOf, ...]:
        """How a message names where something is done once instead of in each turn of ``place``."""
        if isinstance(place, Loop):
            is_foreign = place.syntax in self.graph.foreign.nodes
            return ("before that loop",) if is_foreign else ("before line ", LineOf(place.syntax))
        return ("in `__init__`" if place.owner is not None else f"outside of `{place.name}`",)

    def is_of_a_mode(self, statement: cst.CSTNode) -> bool:
        """Whether a statement stands under a test of a setting of its object, ``if self.mode == "free"``.

        In which mode the object is trained is not seen. ``self.training`` is no such setting.
        """
        return any(
            isinstance(outer.test, cst.Comparison | cst.BooleanOperation)
            and any(_compared(part) for part in walk(outer.test) if isinstance(part, cst.Comparison))
            for outer, _ in branches(self.parents, statement)
        )

    def calls(self) -> Sequence[Value]:
        """Every call of the file in the order of the walk."""
        return self.graph.of(Op.CALL)

    def computed_in(self, statement: cst.CSTNode | None) -> Sequence[Value]:
        """The values that a statement computes, in the order of the walk."""
        return self._by_statement.get(statement, ())

    @cached_property
    def _by_statement(self) -> dict[cst.CSTNode | None, list[Value]]:
        found: dict[cst.CSTNode | None, list[Value]] = {}
        for value in self.graph.values:
            found.setdefault(value.statement, []).append(value)
        return found
