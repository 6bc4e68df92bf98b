"""By which names a file calls a function of another one, or the objects of a class of that: ``criterion(out, y)``."""

from __future__ import annotations

import ast

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["OF_OBJECTS", "called_names"]

OF_OBJECTS = "()"
"""Behind the name of a class: its objects are what is called."""


def called_names(tree: ast.Module, name: str) -> set[str]:
    """The last parts of the names by which a file calls a function, or the objects that it makes of ``Class()``."""
    return _objects_of(tree, name.removesuffix(OF_OBJECTS)) if name.endswith(OF_OBJECTS) else {name}


def _objects_of(tree: ast.Module, cls: str) -> set[str]:
    """The variables and attributes, by the last part of the name, to which objects of a class are bound."""
    bound = [(node.targets, node.value) for node in walk(tree) if isinstance(node, ast.Assign)]
    made = (targets for targets, value in bound if isinstance(value, ast.Call) and last_name(value.func) == cls)
    return {last_name(one) for targets in made for one in targets if isinstance(one, ast.Name | ast.Attribute)}
