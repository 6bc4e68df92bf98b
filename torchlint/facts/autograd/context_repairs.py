"""How a tensor moves from an attribute of a context to ``save_for_backward``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.contexts import OnContext, Share
from torchlint.facts.values.graph import Op
from torchlint.fix.edits import replace
from torchlint.rule import Edit, Fix
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


def save_for_backward(facts: Facts, kept: OnContext) -> Fix | None:
    """The repair: ``ctx.save_for_backward(y)``, and ``ctx.saved_tensors`` where backward reads ``ctx.y``.

    None where more than an attribute would have to move: a container, a view, a context that saves tensors already,
    an attribute that is read in other places. Never safe: what is saved is checked, so a backward over an output that
    was changed in place is refused then, and a second backward over one graph.
    """
    written = _assignment(kept)
    if written is None or kept.share is not Share.OUTPUT or kept.cleared or kept.backward is None:
        return None
    context, expression = written
    reads = _reads(facts, kept)
    if not reads or any(_mentions_saved(f.syntax) for f in (kept.forward, kept.backward)):
        return None
    call = cst.Call(cst.Attribute(context, cst.Name("save_for_backward")), [cst.Arg(expression)])
    edits = [Edit(kept.statement, lambda node: node.with_changes(body=[cst.Expr(call)]))]
    if len(reads) == 1 and (unpacked := _unpacked(facts, reads[0])) is not None:
        edits.append(unpacked)
    else:
        edits += [replace(read, lambda node: cst.parse_expression(f"{dotted(_base(node))}.saved_tensors[0]"))
                  for read in reads]  # fmt: skip
    return Fix("Keep the output with `save_for_backward`", tuple(edits), safe=False)


def _assignment(kept: OnContext) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The context and what is kept on it, as they are written in ``ctx.y = y``, a statement of its own."""
    statement = kept.statement
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or kept.store.function is not kept.forward:
        return None
    target = small.targets[0].target
    if not isinstance(target, cst.Attribute) or kept.value is not kept.store.value:
        return None
    return (target.value, small.value) if kept.value.op is not Op.CONTAINER else None


def _reads(facts: Facts, kept: OnContext) -> list[cst.Attribute]:
    """Where backward reads the attribute; none at all when anything else in the file uses one of this name."""
    assert kept.backward is not None
    backward = list(walk(kept.backward.syntax))
    inside = {node for node in backward if _is_named(node, kept.attribute)}
    others = {node for node in walk(facts.module) if _is_named(node, kept.attribute)} - inside
    if others - {kept.store.target}:
        return []
    context = kept.backward.parameters[0].name
    reads = [node for node in backward if isinstance(node, cst.Attribute) and node in inside]
    return reads if all(dotted(read.value) == context for read in reads) else []


def _is_named(node: cst.CSTNode, attribute: str) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == attribute


def _mentions_saved(function: cst.CSTNode) -> bool:
    names = ("save_for_backward", "saved_tensors", "saved_variables")
    return any(isinstance(node, cst.Attribute) and node.attr.value in names for node in walk(function))


def _unpacked(facts: Facts, read: cst.Attribute) -> Edit | None:
    """``y = ctx.y`` becomes ``(y,) = ctx.saved_tensors``."""
    assignment = facts.parents.get(read)
    if not isinstance(assignment, cst.Assign) or assignment.value is not read or len(assignment.targets) != 1:
        return None
    name = assignment.targets[0].target
    if not isinstance(name, cst.Name):
        return None
    target = cst.Tuple([cst.Element(name, comma=cst.Comma())])
    saved = cst.Attribute(read.value, cst.Name("saved_tensors"))
    return Edit(assignment, lambda node: node.with_changes(targets=[cst.AssignTarget(target)], value=saved))


def _base(node: cst.CSTNode) -> cst.BaseExpression:
    assert isinstance(node, cst.Attribute)
    return node.value
