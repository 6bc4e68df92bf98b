"""Which of its arguments a file gives a function at all: what it gives nowhere has its default there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["given_arguments", "gives_another", "sets_attribute"]


def given_arguments(tree: ast.Module, name: str) -> frozenset[int | str] | None:
    """The arguments that any call of a name in a file gives, by position (from 0) or keyword.

    Returns:
        None where that cannot be told: some are spread, ``log_mel(*row)``, or the function goes on as a value or by
        another name.
    """
    calls = _plain_calls(tree, name)
    return None if calls is None else frozenset(key for call in calls for key, _ in _arguments(call))


def gives_another(tree: ast.Module, name: str, parameter: tuple[int, str], constant: object) -> bool:
    """Whether a call of a name in a file may give a parameter, by position or keyword, anything but a constant."""
    calls = _plain_calls(tree, name)
    given = (argument for call in calls or () for key, argument in _arguments(call) if key in parameter)
    return calls is None or any(not _is_constant(one, constant) for one in given)


def _is_constant(node: ast.expr, constant: object) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(constant) and node.value == constant


def _plain_calls(tree: ast.Module, name: str) -> list[ast.Call] | None:
    """The calls of a name; None where it goes on otherwise, or what they are given cannot be told."""
    calls = [node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == name]
    innocent = {id(call.func) for call in calls} | {id(node) for said in _giving_nothing(tree) for node in walk(said)}
    if any(_hands_on(node, name) and id(node) not in innocent for node in walk(tree)) or any(map(_spreads, calls)):
        return None
    return calls


def _arguments(call: ast.Call) -> Iterator[tuple[int | str, ast.expr]]:
    yield from enumerate(call.args)
    yield from ((one.arg, one.value) for one in call.keywords if one.arg is not None)


def sets_attribute(text: str, name: str) -> bool:
    """Whether a text may give an object another ``name`` than it was made with: ``cfg.name = 3``, ``"name"``."""
    written = re.escape(name).replace("_", "[-_]")
    return re.search(rf"(?<!\bself)\.{re.escape(name)}\s*=[^=]|[\"']-*{written}[\"']", text) is not None


def _giving_nothing(tree: ast.Module) -> Iterator[ast.expr]:
    """Where a name stands that is given nothing there: in annotations, and as what makes a field's default."""
    for node in walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.keyword) and node.arg in ("default_factory", "factory"):
            yield node.value


def _hands_on(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.alias):
        return node.name == name and node.asname not in (None, name)
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and last_name(node) == name


def _spreads(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
