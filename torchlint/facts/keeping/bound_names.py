"""Which names a statement binds, and to what."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.building.names import target_names
from torchlint.facts.values.graph import Op, Value


def is_at(value: Value, position: int | None) -> bool:
    """Whether a value is the whole of an expression, or the item of it that an unpacking takes."""
    if position is None:
        return value.op is not Op.ELEMENT
    return value.op is Op.ELEMENT and value.keys[0] == position


def bindings(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression, int | None]]:
    """Each name that this one node binds, to what expression, and to which item of it (None: to all of it)."""
    if type(node) is cst.Assign:
        for target in node.targets:
            yield from _bound(target.target, node.value)
    elif (type(node) is cst.AnnAssign or type(node) is cst.NamedExpr) and node.value is not None:
        yield from _bound(node.target, node.value)


def _bound(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[str, cst.BaseExpression, int | None]]:
    if isinstance(target, cst.Name):
        yield target.value, value, None
    elif isinstance(target, cst.Tuple | cst.List):
        written = value.elements if isinstance(value, cst.Tuple | cst.List) else ()
        for position, element in enumerate(target.elements):
            if isinstance(element.value, cst.Name):
                if position < len(written):
                    yield element.value.value, written[position].value, None
                else:
                    yield element.value.value, value, position


def surely_binds(statement: cst.CSTNode, name: str) -> bool:
    """Whether an assignment binds the name, and not a walrus that may be passed by."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    assignments = (small for small in statement.body if isinstance(small, cst.Assign | cst.AnnAssign))
    targets = (t for a in assignments for t in (a.targets if isinstance(a, cst.Assign) else (a.target,)))
    return any(name in target_names(target) for target in targets)
