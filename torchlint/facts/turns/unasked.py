"""What a function does only for those who ask for it: under a condition that a parameter's default does not meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Function, Value
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

EMPTY = frozenset(["None", "False"])
"""Defaults by which nothing is asked for."""


def is_unasked(facts: Facts, node: cst.CSTNode | None, function: Function) -> bool:
    """Whether ``node`` runs only for a caller who gives what has a default, and no caller in the file is seen to.

    Args:
        facts: of the file.
        node: what stands in the function: ``if prior is not None: self.register(...)``.
        function: the function.
    """
    empty = {parameter.name: parameter for parameter in function.parameters if _is_empty(parameter)}
    while empty and node is not None and node is not function.syntax:
        parent = facts.parents.get(node)
        if isinstance(parent, cst.If | cst.IfExp) and node is not parent.test:
            holds, asked = _by_default(parent.test, empty)
            # What the function sets itself where nobody gives it is asked for by itself.
            is_given = any(facts.solution.arguments_of(one) for one in asked)
            is_set = not facts.skipping.bindings.assigned(function.syntax).isdisjoint({one.name for one in asked})
            if holds is not None and holds is not (node is parent.body) and not is_given and not is_set:
                return True
        node = parent
    return False


def _is_empty(parameter: Value) -> bool:
    """Whether a parameter has ``None`` or ``False`` for its default."""
    return any(isinstance(one.syntax, cst.Name) and one.syntax.value in EMPTY for one in parameter.inputs)


def _by_default(test: cst.BaseExpression, empty: dict[str, Value]) -> tuple[bool | None, list[Value]]:
    """How a condition comes out where nobody gives the parameters ``empty``, and of which it asks; None if unknown."""
    if isinstance(test, cst.Name) and test.value in empty:
        return False, [empty[test.value]]
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        holds, asked = _by_default(test.expression, empty)
        return (None if holds is None else not holds), asked
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        parameter, compared = empty.get(dotted(test.left) or ""), test.comparisons[0]
        if parameter is not None and dotted(compared.comparator) == "None" and not _is_false(parameter):
            if isinstance(compared.operator, cst.Is | cst.IsNot):
                return isinstance(compared.operator, cst.Is), [parameter]
    if isinstance(test, cst.BooleanOperation):
        parts = [_by_default(test.left, empty), _by_default(test.right, empty)]
        settles = isinstance(test.operator, cst.Or)
        settled = [asked for holds, asked in parts if holds is settles]
        if settled:
            return settles, settled[0]
        if all(holds is not None for holds, _ in parts):
            return not settles, [one for _, asked in parts for one in asked]
    return None, []


def _is_false(parameter: Value) -> bool:
    return any(isinstance(one.syntax, cst.Name) and one.syntax.value == "False" for one in parameter.inputs)
