"""Whether a file runs a backward over what a function gives it: ``loss = group_loss(...)``, ``loss.backward()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["trains_on_result"]

BACKWARD = "backward"


def trains_on_result(tree: ast.Module, name: str) -> bool:
    """Whether a backward of a file starts from what a call of ``name`` returns, or from a variable that has it."""
    bound = {target for target, value in _assigned(tree) if _calls(value, name)}
    runs = (node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == BACKWARD)
    starts = (start for run in runs if isinstance(run.func, ast.Attribute) for start in (run.func.value, *run.args))
    parts = (node for start in starts for node in walk(start))
    return any(_calls(node, name) or (isinstance(node, ast.Name) and node.id in bound) for node in parts)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            targets = [part for target in node.targets for part in walk(target)]
            yield from ((part.id, node.value) for part in targets if isinstance(part, ast.Name))


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == name
