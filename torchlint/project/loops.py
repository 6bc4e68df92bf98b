"""Which functions a file calls in a loop."""

from __future__ import annotations

import ast

from torchlint.python_tree import children, last_name

__all__ = ["called_in_loops"]

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def called_in_loops(tree: ast.Module) -> frozenset[str]:
    """The last parts of the names that are called in the body of a loop which stands in the same function."""
    found: set[str] = set()
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, is_inside = pending.pop()
        if isinstance(node, ast.Call) and is_inside:
            found.add(last_name(node.func))
        if isinstance(node, _DEFINITIONS):
            is_inside = False
        if isinstance(node, _LOOPS):
            header = node.test if isinstance(node, ast.While) else node.iter
            pending.append((header, is_inside))
            pending += [(one, True) for one in node.body] + [(one, is_inside) for one in node.orelse]
        else:
            pending += [(child, is_inside) for child in children(node)]
    return frozenset(found)
