"""Which names a file binds at its top level, and which a function binds for itself, by ``ast``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.syntax.python_tree import walk

__all__ = ["bound_in", "bound_names"]

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_BLOCKS = ("body", "orelse", "finalbody")


def bound_names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements bind, those in their blocks included; imports are left out."""
    for statement in body:
        if isinstance(statement, _DEFINITIONS):
            yield statement.name
            continue
        if isinstance(statement, ast.Assign):
            yield from (name for target in statement.targets for name in _stored(target))
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
            yield from _stored(statement.target)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from (name for item in statement.items if item.optional_vars for name in _stored(item.optional_vars))
        for block in _BLOCKS:
            yield from bound_names(getattr(statement, block, ()))
        for handler in getattr(statement, "handlers", ()):
            yield from bound_names(handler.body)


def bound_in(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that mean something of its own in a function: its parameters, and what it or one in it binds."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    names = {parameter.arg for parameter in parameters if parameter is not None}
    if isinstance(function, ast.Lambda):
        return frozenset(names)
    declared: set[str] = set()
    for node in walk(function):
        if isinstance(node, ast.Global):
            declared.update(node.names)
        elif isinstance(node, _DEFINITIONS) and node is not function:
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names - declared)


def _stored(target: ast.expr) -> Iterator[str]:
    stored = (node for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return (node.id for node in stored)
