"""Whether a file trains while it has an object: one is made before the training, and ended after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.project.trained import BACKWARD
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["trains_beside"]

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

DEEP = 3
"""So many functions of a file, one in the other, may stand between the object and the backward."""


def trains_beside(tree: ast.Module, cls: str, ending: str) -> bool:
    """Whether a function of a file makes an object of a class and trains then, before it calls the ending method.

    Args:
        tree: the file's.
        cls: the name of the class.
        ending: the name of the method.
    """
    training = {BACKWARD}
    functions = [node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for _ in range(DEEP):
        training |= {one.name for one in functions if any(name in training for name, _ in _called_in(one))}
    return any(_has_training_between(one, cls, ending, training) for one in (tree, *functions))


def _has_training_between(scope: ast.AST, cls: str, ending: str, training: set[str]) -> bool:
    is_there = False
    for name, _ in sorted(_called_in(scope), key=lambda called: called[1]):
        if name in training and is_there:
            return True
        is_there = name == cls or (is_there and name != ending)
    return False


def _called_in(scope: ast.AST) -> Iterator[tuple[str, tuple[int, int]]]:
    """What a function, or the module, calls outside of what it defines, by the last part of the name, and where."""
    pending = list(children(scope))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield last_name(node.func), (node.lineno, node.col_offset)
        if not isinstance(node, _DEFINITIONS):
            pending += children(node)
