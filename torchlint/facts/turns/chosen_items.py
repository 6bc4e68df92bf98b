"""Conditions that choose among the items of a loop: each turn has another item, so that they hold again and again."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.building.names import assigned_in, target_names
from torchlint.facts.turns.later_turns import counter_of
from torchlint.facts.values.graph import Loop, Op, ValueGraph
from torchlint.syntax.tree import dotted, walk

REFLECTING = frozenset(["hasattr", "getattr", "isinstance"])
"""What asks whether an object has been marked, or of what type it is."""


def chooses_items(test: cst.BaseExpression, loop: Loop, graph: ValueGraph) -> bool:
    """``for path in inbox: if not path.with_suffix(".png").exists():``: whether only the item decides on a branch.

    The number of a turn is none, nor is what the turns set. It has to be what a method of the item, or a function of
    a library, answers: whatever else is asked may know of earlier turns.
    """
    if not isinstance(loop.syntax, cst.For):
        return False
    items = set(target_names(loop.syntax.target)) - {counter_of(loop.syntax)} - assigned_in(loop.syntax.body)
    outside = {value.syntax for value in graph.of(Op.EXTERNAL) if value.syntax is not None}
    asked = list(_asked(test))
    return all(isinstance(one, cst.Call) and dotted(one.func) not in REFLECTING for one in asked) and all(
        (read := _read(one, outside)) and read <= items for one in asked
    )


def _asked(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of a condition: of ``a and not b`` both."""
    if isinstance(test, cst.BooleanOperation):
        yield from (*_asked(test.left), *_asked(test.right))
    elif isinstance(test, cst.UnaryOperation):
        yield from _asked(test.expression)
    else:
        yield test


def _read(expression: cst.BaseExpression, outside: set[cst.CSTNode]) -> set[str]:
    """The variables that an expression reads, what libraries export left out."""
    nodes = list(walk(expression))
    exported = {part for node in nodes if node in outside for part in walk(node)}
    members = {node.attr for node in nodes if isinstance(node, cst.Attribute)}
    keywords = {node.keyword for node in nodes if isinstance(node, cst.Arg)}
    names = (node for node in nodes if isinstance(node, cst.Name))
    return {name.value for name in names if name not in exported and name not in members and name not in keywords}
