"""By which names a file calls a function of another one, or the objects of a class of that: ``criterion(out, y)``."""

from __future__ import annotations

import ast

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["OF_OBJECTS", "called_names"]

OF_OBJECTS = "()"
"""Behind the name of a class: its objects are what is called."""

_LISTING = frozenset(["list", "tuple", "ModuleList"])
"""What makes a list of what it is given."""


def called_names(tree: ast.Module, name: str) -> set[str]:
    """The last parts of the names by which a file calls a function, or the objects that it makes of ``Class()``."""
    return _objects_of(tree, name.removesuffix(OF_OBJECTS)) if name.endswith(OF_OBJECTS) else {name}


def _objects_of(tree: ast.Module, cls: str) -> set[str]:
    """The variables and attributes, by the last part of the name, to which objects of a class are bound.

    Be it that they are taken out of a list: ``for term in terms`` after ``terms = [Smoothness(), Sparsity()]``.
    """
    objects, lists = set[str](), set[str]()
    nodes = [node for node in walk(tree) if isinstance(node, ast.Assign | ast.For | ast.comprehension)]
    bound = [(name, one.value) for one in nodes if isinstance(one, ast.Assign) for name in _bound_names(*one.targets)]
    gone_over = [one for one in nodes if not isinstance(one, ast.Assign)]
    while True:
        found = {name for name, value in bound if _is_made(value, cls) or _names(value, objects)}
        found |= {name for one in gone_over if _names(one.iter, lists) for name in _bound_names(one.target)}
        listed = {name for name, value in bound if _lists(value, cls, objects, lists)}
        if found <= objects and listed <= lists:
            return objects
        objects |= found
        lists |= listed


def _bound_names(*targets: ast.expr) -> list[str]:
    return [last_name(target) for target in targets if isinstance(target, ast.Name | ast.Attribute)]


def _is_made(value: ast.expr, cls: str) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) == cls


def _names(value: ast.expr, names: set[str]) -> bool:
    return isinstance(value, ast.Name | ast.Attribute) and last_name(value) in names


def _lists(value: ast.expr, cls: str, objects: set[str], lists: set[str]) -> bool:
    """Whether a list has such objects, be it some of those of another list: ``[one for one in terms if one.on]``."""
    if isinstance(value, ast.ListComp):
        return _is_made(value.elt, cls) or _names(value.elt, objects)
    if isinstance(value, ast.List | ast.Tuple):
        return any(_is_made(one, cls) or _names(one, objects) for one in value.elts)
    if isinstance(value, ast.Call) and last_name(value.func) in _LISTING and value.args:
        return _lists(value.args[0], cls, objects, lists)
    return _names(value, lists)
