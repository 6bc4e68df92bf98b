"""Which of its arguments a file gives a function at all: what it gives nowhere has its default there."""

from __future__ import annotations

import ast

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["given_arguments"]


def given_arguments(tree: ast.Module, name: str) -> frozenset[int | str] | None:
    """The arguments that any call of a name in a file gives, by position (from 0) or keyword.

    Returns:
        None where that cannot be told: some are spread, ``log_mel(*row)``, or the function goes on as a value or by
        another name.
    """
    calls = [node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == name]
    called = {id(call.func) for call in calls}
    if any(_hands_on(node, name) and id(node) not in called for node in walk(tree)) or any(map(_spreads, calls)):
        return None
    found = (key for call in calls for key in (*range(len(call.args)), *(one.arg for one in call.keywords)))
    return frozenset(key for key in found if key is not None)


def _hands_on(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.alias):
        return node.name == name and node.asname not in (None, name)
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and last_name(node) == name


def _spreads(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
