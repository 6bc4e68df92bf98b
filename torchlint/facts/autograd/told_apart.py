"""Tensors that a program tells apart by which object they are, and not by their numbers: a detached one is another."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Kind, Op, Value

SINGLE = frozenset(["None", "True", "False", "Ellipsis"])
"""What anything is compared with by ``is``, whatever it is."""


def told_apart(flows: Flows) -> frozenset[Value]:
    """All that flows into a value that is compared by ``is``, asked for its ``id`` or used as a key."""
    graph = flows.solution.graph
    asked = [operand for value in graph.of(Op.COMPARISON) for operand in _compared(value)]
    asked += [one for call in graph.of(Op.CALL) if call.callee.name == "builtins.id" for one in call.arguments]
    keys = [index for indices in graph.indices.values() for index in indices]
    keys += [store.index for store in graph.stores if store.kind is Kind.INSERT and store.index is not None]
    return flows.ancestry.of_all([*asked, *filter(flows.carries, keys)])


def _compared(comparison: Value) -> Iterator[Value]:
    """The operands of ``is`` and ``is not``, but for those of ``loss is None``."""
    node = comparison.syntax
    if not isinstance(node, cst.Comparison):
        return
    operators = [target.operator for target in node.comparisons]
    for position, operator in enumerate(operators):
        pair = comparison.inputs[position : position + 2]
        if isinstance(operator, cst.Is | cst.IsNot) and not any(one.name in SINGLE for one in pair):
            yield from pair
