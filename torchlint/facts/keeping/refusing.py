"""What an object refuses to do once it has given something up: ``if not self.loaded: raise ...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Drop, Function, Value
from torchlint.syntax.conditions import last_of
from torchlint.syntax.tree import dotted, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_refused_after(facts: Facts, call: Value, drop: Drop) -> bool:
    """Whether the method of a CALL leaves before it, for all that the method of ``drop`` leaves behind.

    Args:
        facts: of the file.
        call: in a method.
        drop: in another method of the same objects.
    """
    method, owner = call.function, drop.function.owner
    if method is drop.function or owner is None or method.owner is None or method.owner.root() is not owner.root():
        return False
    left = _left_behind(drop.function)
    for node in walk_scope(method.syntax):
        if node is call.syntax:
            return False
        if not isinstance(node, cst.If) or not isinstance(last_of(node.body), cst.Raise | cst.Return):
            continue
        if not _is_around(facts, node, call) and _comes_true(node.test, left):
            return True
    return False


def _left_behind(function: Function) -> dict[str, object]:
    """The attributes that a method sets to a constant in the end, and to which."""
    left: dict[str, object] = {}
    for node in walk_scope(function.syntax):
        if isinstance(node, cst.Assign):
            left.update((_attribute(target.target), _constant(node.value)) for target in node.targets)
    return {name: constant for name, constant in left.items() if name and constant is not ...}


def _constant(node: cst.BaseExpression) -> object:
    """What is written there, ``...`` for all but ``True``, ``False``, ``None``, numbers and strings."""
    if isinstance(node, cst.Name):
        return {"True": True, "False": False, "None": None}.get(node.value, ...)
    found = constant_of(node)
    return ... if found is None else found


def _comes_true(test: cst.BaseExpression, left: dict[str, object]) -> bool:
    """Whether a test asks for such an attribute and nothing else, and comes out true."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        name = _attribute(test.expression)
        return name in left and not left[name]
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        name, (target,) = _attribute(test.left), test.comparisons
        is_none = isinstance(target.operator, cst.Is) and dotted(target.comparator) == "None"
        return is_none and name in left and left[name] is None
    name = _attribute(test)
    return name in left and bool(left[name])


def _attribute(node: cst.CSTNode) -> str:
    """The name of an attribute, without the one that its method has for the object."""
    return (dotted(node) or "").partition(".")[2]


def _is_around(facts: Facts, branch: cst.If, call: Value) -> bool:
    node = call.syntax
    while node is not None and node is not branch:
        node = facts.parents.get(node)
    return node is branch
