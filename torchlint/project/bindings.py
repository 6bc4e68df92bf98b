"""What the names and attributes of a function, or of a module, are bound to in its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.syntax.python_tree import children, last_name

__all__ = ["FUNCTIONS", "WRAPPERS", "bindings", "bound_by", "dotted_name", "own_nodes"]

WRAPPERS = frozenset([
    "DataParallel", "DistributedDataParallel", "DDP", "FSDP", "compile", "convert_sync_batchnorm", "prepare",
    "prepare_model", "setup", "setup_module", "unwrap_model",
])  # fmt: skip
"""What returns its first argument, or what behaves like it, by the last part of the name."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


def bindings(where: ast.AST, nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr | None]]:
    """What a function, or a module, binds names and attributes to, nested functions and classes left out."""
    if isinstance(where, FUNCTIONS):
        arguments = where.args
        for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if one is not None:
                yield one.arg, None
    for node in nodes:
        yield from bound_by(node)


def own_nodes(where: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, or a module, nested functions and classes left out."""
    pending: list[ast.AST] = list(where.body) if isinstance(where, (*FUNCTIONS, ast.Module)) else []
    while pending:
        node = pending.pop()
        kind = node.__class__
        if kind is not ast.Name and kind not in _SCOPES:
            yield node
            pending += children(node)


def bound_by(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """What one node binds; None stands for what no expression tells."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _bound_to(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        if node.value is not None:
            yield from _bound_to(node.target, node.value)
    elif isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor | ast.comprehension):
        yield from _bound_to(node.target, None)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _bound_to(node.optional_vars, None)


def _bound_to(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Tuple | ast.List):
        items = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        parts = items if len(items) == len(target.elts) else _returned_parts(target, value)
        for one, part in zip(target.elts, parts, strict=True):
            yield from _bound_to(one, part)
        return
    name = dotted_name(target)
    if name is not None:
        yield name, value


def _returned_parts(target: ast.Tuple | ast.List, value: ast.expr | None) -> list[ast.expr | None]:
    """What a call binds several variables to.

    ``net, optimizer = accelerator.prepare(net, optimizer)`` binds each to what was given in its place, another call to
    the items of what it returns.
    """
    count = len(target.elts)
    if not isinstance(value, ast.Call) or any(isinstance(one, ast.Starred) for one in target.elts):
        return [None] * count
    if last_name(value.func) in WRAPPERS:
        return list(value.args) if len(value.args) == count else [None] * count
    return [ast.Subscript(value, ast.Constant(position), ast.Load()) for position in range(count)]


def dotted_name(node: ast.expr) -> str | None:
    """``self.net`` of that expression; None of what is no name."""
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None
