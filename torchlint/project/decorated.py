"""Which classes of a file are decorated by what: ``@register("median")`` of another file puts them into a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.project.bindings import dotted_name

__all__ = ["decorated_classes"]


def decorated_classes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each class at the top level of a file, behind the dotted name of what decorates it, be that called first."""
    for node in tree.body:
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            name = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name is not None and isinstance(node, ast.ClassDef):
                yield name, node.name
