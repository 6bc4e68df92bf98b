"""First times: what a condition says is not set yet, so that an assignment under it begins and resets nothing."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.names import attribute_set_by, constant_of, item_of, path_of
from torchlint.syntax.tree import dotted

NOTHING: frozenset[str] = frozenset()


def unset_where(test: cst.BaseExpression, *, holds: bool) -> frozenset[str]:
    """The variables, attributes and items that are not set where ``test`` holds, or does not: ``self.mean is None``.

    Args:
        test: a condition.
        holds: False to ask of where it does not hold.

    Returns:
        their paths, as :func:`torchlint.facts.building.names.path_of` writes them.
    """
    if type(test) is cst.UnaryOperation and isinstance(test.operator, cst.Not):
        return unset_where(test.expression, holds=not holds)
    if type(test) is cst.BooleanOperation:
        if isinstance(test.operator, cst.And) is not holds:
            return NOTHING  # one of them may be the other reason
        return unset_where(test.left, holds=holds) | unset_where(test.right, holds=holds)
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _compared(test, test.comparisons[0], holds=holds)
    if holds:
        return NOTHING
    if isinstance(test, cst.Call) and dotted(test.func) == "hasattr" and len(test.args) == 2:
        owner, name = path_of(test.args[0].value), constant_of(test.args[1].value)
        return frozenset([f"{owner}.{name}"]) if owner is not None and isinstance(name, str) else NOTHING
    return _just(path_of(test))


def _compared(test: cst.Comparison, target: cst.ComparisonTarget, *, holds: bool) -> frozenset[str]:
    operator = target.operator
    if isinstance(operator, cst.Is | cst.Equal if holds else cst.IsNot | cst.NotEqual):
        is_none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
        return _just(_asked(test.left)) if is_none else NOTHING
    if isinstance(operator, cst.NotIn if holds else cst.In):
        container = path_of(target.comparator)
        key = constant_of(test.left)
        written = dotted(test.left) if key is None else repr(key)
        return frozenset([item_of(container, written)]) if container is not None and written is not None else NOTHING
    return NOTHING


def _asked(node: cst.BaseExpression) -> str | None:
    """The path that an expression reads; ``self.rows`` of ``getattr(self, "rows", None)`` too."""
    is_read = isinstance(node, cst.Call) and dotted(node.func) == "getattr" and len(node.args) == 3
    meant = attribute_set_by(node) if isinstance(node, cst.Call) and is_read else None
    return path_of(node if meant is None else meant)


def _just(path: str | None) -> frozenset[str]:
    return NOTHING if path is None else frozenset([path])
