"""Where a figure is closed: behind the last statement that has to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.host.figure_makers import maker_of, number_of
from torchlint.facts.host.figures import OpenFigure
from torchlint.fix.edits import put_beside
from torchlint.rule import Fix
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

ENDS = (cst.Return, cst.Break, cst.Continue, cst.Raise, cst.Yield)
"""What a figure must not be named in, or stand before, to be closed behind it."""


def close(facts: Facts, figure: OpenFigure) -> Fix | None:
    """The repair: ``plt.close(fig)`` in the block that makes it, None where the figure goes elsewhere."""
    node = figure.call.syntax
    if figure.by is not None or figure.past is not None or maker_of(figure.call) is None:
        return None  # where it is closed already is for who wrote it to say
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    line = figure.call.statement
    block = facts.parents.get(line) if line is not None else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1 or not isinstance(block, cst.IndentedBlock):
        return None
    names = _bound(line.body[0], node, maker_of(figure.call) == "figure")
    if names is None:
        return None
    pyplot = facts.code(node.func.value)
    position = [child is line for child in block.body].index(True)
    rest = block.body[position:]
    last = max(i for i, statement in enumerate(rest) if _mentions(statement, {*names, pyplot.partition(".")[0]}))
    if any(isinstance(part, ENDS) for statement in rest[: last + 1] for part in walk(statement)):
        return None
    if names and not _stays_within(facts, figure, names[0], rest):
        return None
    if names and any(_is_rebound(facts, names[0], statement) for statement in rest[1:]):
        return None
    written = f"{pyplot}.close({names[0] if names else ''})"
    # Who gives it a number may ask for it by that later.
    safe = bool(names) and number_of(figure.call) is None and not _is_handed_on(facts, names[0], rest)
    return Fix(f"Close the figure: `{written}`", (put_beside(rest[last], written),), safe=safe)


def _bound(small: cst.BaseSmallStatement, maker: cst.Call, is_figure: bool) -> list[str] | None:
    """The names that the statement binds, the figure's first; [] for a bare call, None for anything else."""
    if isinstance(small, cst.Expr):
        return [] if small.value is maker else None
    if not isinstance(small, cst.Assign) or small.value is not maker or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    if is_figure:
        return [target.value] if isinstance(target, cst.Name) else None
    if not isinstance(target, cst.Tuple) or not isinstance(target.elements[0].value, cst.Name):
        return None
    names = [node.value for node in walk(target) if isinstance(node, cst.Name)]
    return names if names[0] != "_" else None


def _mentions(statement: cst.CSTNode, names: set[str]) -> bool:
    return any(isinstance(node, cst.Name) and node.value in names for node in walk(statement))


def _stays_within(facts: Facts, figure: OpenFigure, name: str, rest: Sequence[cst.CSTNode]) -> bool:
    """Whether the figure's name is mentioned in these statements alone, and is nowhere another name's value."""
    inside = {node for statement in rest for node in walk(statement)}
    for node in walk(figure.call.function.syntax):
        if isinstance(node, cst.Name) and node.value == name:
            parent = facts.parents.get(node)
            if node not in inside or (isinstance(parent, cst.Assign) and parent.value is node):
                return False
    return True


def _is_rebound(facts: Facts, name: str, statement: cst.CSTNode) -> bool:
    """Whether a statement makes a name mean something else, or nothing: what is closed behind it is another figure."""
    return any(
        isinstance(node, cst.Name) and node.value == name and _is_target(facts, node) for node in walk(statement)
    )


def _is_target(facts: Facts, node: cst.CSTNode) -> bool:
    """Whether something is assigned to a name, or the name is deleted."""
    parent = facts.parents.get(node)
    while isinstance(parent, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
        node, parent = parent, facts.parents.get(parent)
    if isinstance(parent, cst.AssignTarget | cst.AsName | cst.Del | cst.Global | cst.Nonlocal):
        return True
    return isinstance(parent, cst.AugAssign | cst.AnnAssign | cst.NamedExpr | cst.For) and parent.target is node


def _is_handed_on(facts: Facts, name: str, rest: Sequence[cst.CSTNode]) -> bool:
    """Whether the figure itself is put or passed somewhere: who has it may want it open."""
    mentions = (
        node for statement in rest for node in walk(statement) if isinstance(node, cst.Name) and node.value == name
    )
    passed = (cst.Arg, cst.Element, cst.DictElement, cst.Yield, cst.NamedExpr)
    return any(
        isinstance(parent := facts.parents.get(node), passed) and getattr(parent, "keyword", None) is not node
        for node in mentions
        if not _is_bound_here(facts, node)
    )


def _is_bound_here(facts: Facts, node: cst.CSTNode) -> bool:
    """Whether a name is the target of an assignment, ``fig, ax = ...``."""
    element = facts.parents.get(node)
    target = facts.parents.get(element) if isinstance(element, cst.Element) else None
    return target is not None and isinstance(facts.parents.get(target), cst.AssignTarget)
