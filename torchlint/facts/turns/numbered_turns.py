"""Conditions that ask for the number of a turn: ``step % 50 == 0``."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.names import path_of
from torchlint.facts.turns.later_turns import begins_late, counter_of
from torchlint.facts.values.graph import Function, Loop
from torchlint.syntax.tree import walk

__all__ = ["beside_number", "counts_turns"]


def counts_turns(test: cst.BaseExpression) -> bool:
    """Whether ``test`` divides a counter: what stands behind it is for every n-th turn."""
    return any(
        type(node) is cst.BinaryOperation and isinstance(node.operator, cst.Modulo)
        and not isinstance(node.left, cst.SimpleString | cst.FormattedString)
        for node in walk(test)
    )  # fmt: skip


def beside_number(test: cst.BaseExpression, within: Loop | Function) -> list[cst.BaseExpression]:
    """What a condition asks besides the number of the turn, where that is for every n-th turn: ``step % 50 == 0``."""
    if isinstance(test, cst.Call) and isinstance(within, Loop):
        return [] if _tells_from_number(test, within.syntax) else [test]
    if not counts_turns(test):
        return [test]
    if isinstance(test, cst.BooleanOperation):
        parts = [test.left, test.right]
        asked = [[] if begins_late(part) else beside_number(part, within) for part in parts]
        if isinstance(test.operator, cst.Or):
            return [] if not all(asked) else [test]
        return [part for parts in asked for part in parts]
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return [] if isinstance(test.expression, cst.BinaryOperation) else [test]
    return [] if isinstance(test, cst.Comparison | cst.BinaryOperation) else [test]


def _tells_from_number(call: cst.Call, loop: cst.CSTNode) -> bool:
    """``probe.due(step)``, where each turn counts ``step``."""
    counted = {counter_of(loop)} if isinstance(loop, cst.For) else set()
    added = (node for node in walk(loop) if isinstance(node, cst.AugAssign) and isinstance(node.value, cst.Integer))
    counted |= {path_of(node.target) for node in added}
    return any(isinstance(one.value, cst.Name) and one.value.value in counted for one in call.args)
