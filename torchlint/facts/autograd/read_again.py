"""What is read again where it was just put, for a backward: detached there, it would train nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import path_of
from torchlint.facts.values.writing import Use
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts.repairs import Repairs


def is_read_again(facts: Repairs, use: Use) -> bool:
    """Whether a backward runs over what is read by a name to which the value of ``use`` is assigned there.

    ``seen[step] = net(x)``, then ``loss = f(seen[step])``; ``target = seen[step] = net(x)``, then ``loss = f(target)``.
    """
    value, assigned = use.value, None if use.node is None else _assigned(facts, use.node)
    if assigned is None or value not in facts.flows.trained:
        return False
    statement, paths = assigned
    nodes = {node: number for number, node in enumerate(walk(value.function.syntax))}
    if statement not in nodes:
        return False
    begin, end = max(nodes[node] for node in walk(statement)), len(nodes)
    over = [one for one in facts.graph.all_backwards() if value in facts.flows.ancestry.of(one.root)]
    if over and all(one.statement in nodes for one in over):
        end = max(nodes[node] for one in over for node in walk(one.statement))
    return any(
        begin < number <= end and path_of(node) in paths and not _is_target(facts, node)
        for node, number in nodes.items()
        if isinstance(node, cst.Name | cst.Attribute | cst.Subscript)
    )


def _assigned(facts: Repairs, node: cst.CSTNode) -> tuple[cst.CSTNode, set[str]] | None:
    """The assignment whose value a node is, or an item of it, and the names, attributes and items that take it."""
    parent, position = facts.parents.get(node), None
    if isinstance(parent, cst.Element) and isinstance(whole := facts.parents[parent], cst.Tuple | cst.List):
        position = [element is parent for element in whole.elements].index(True)
        node, parent = whole, facts.parents.get(whole)
    if isinstance(parent, cst.Assign) and parent.value is node:
        targets: list[cst.BaseExpression] = [target.target for target in parent.targets]
    elif isinstance(parent, cst.AnnAssign | cst.NamedExpr) and parent.value is node:
        targets = [parent.target]
    else:
        return None
    return parent, set(filter(None, (path for target in targets for path in _taking(target, position))))


def _taking(target: cst.BaseExpression, position: int | None) -> Iterator[str | None]:
    if position is None or not isinstance(target, cst.Tuple | cst.List):
        yield path_of(target)
    elif position < len(target.elements):
        yield path_of(target.elements[position].value)


def _is_target(facts: Repairs, node: cst.CSTNode) -> bool:
    """Whether a node is what is assigned to, or a part of it."""
    parent = facts.parents.get(node)
    while isinstance(parent, cst.Element | cst.Tuple | cst.List):
        node, parent = parent, facts.parents.get(parent)
    return isinstance(parent, cst.AssignTarget) or (isinstance(parent, cst.AnnAssign) and parent.target is node)
