"""Where a file calls what it takes out of a table: ``METRICS[name](net)``, ``for metric in METRICS.values(): ...``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.project.guarded_parts import guarded_parts
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["calls_of_items"]

_GIVING = frozenset(
    ["dict", "enumerate", "filter", "iter", "list", "next", "partial", "reversed", "set", "sorted", "tuple", "zip"]
)
"""Functions that give what is in their arguments, or call it as it is."""


def calls_of_items(tree: ast.Module, table: str, guards: frozenset[str]) -> frozenset[tuple[str, bool]]:
    """Where a file calls what a table holds: in which function or method, "" for none, and if gradients are off there.

    Args:
        tree: the file's.
        table: the last part of the table's name, or that of a function that returns it, or of a class whose objects
            count as what it holds.
        guards: the names of what switches gradients off.
    """
    roots = {table, *_other_names(tree, table)}
    items = _bound_to_items(tree, roots)
    return frozenset(
        (_function_around(node, tree), is_guarded)
        for part, is_guarded in guarded_parts(tree, guards)
        for node in walk(part)
        if isinstance(node, ast.Call) and _is_item(node.func, roots, items)
    )


def _function_around(call: ast.Call, tree: ast.Module) -> str:
    """The name of the function or the method in which a call stands; "" for a file's body."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    statements = [*tree.body, *(node for cls in classes for node in cls.body)]
    functions = (node for node in statements if isinstance(node, ast.FunctionDef))
    around = (one.name for one in functions if one.lineno <= call.lineno <= (one.end_lineno or one.lineno))
    return next(around, "")


def _other_names(tree: ast.Module, name: str) -> Iterator[str]:
    """What a file calls something that it imports under another name."""
    aliases = (alias for node in walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
    yield from (alias.asname for alias in aliases if alias.name == name and alias.asname)


def _is_item(callee: ast.expr, roots: set[str], items: set[str]) -> bool:
    """Whether what is called was taken out of a table."""
    if isinstance(callee, ast.Name | ast.Attribute):
        return _written(callee) in items
    if isinstance(callee, ast.Call) and isinstance(callee.func, ast.Subscript):
        return False  # what an item returns
    return isinstance(callee, ast.Subscript | ast.Call) and _leads(callee, roots, items)


def _leads(value: ast.expr | None, roots: set[str], items: set[str]) -> bool:
    """Whether a value is a table, an item of one, or holds such."""
    if isinstance(value, ast.Name):
        return value.id in roots or value.id in items
    if isinstance(value, ast.Attribute):
        return value.attr in roots or _written(value) in items
    parts = _PARTS.get(type(value)) if value is not None else None
    if parts is None or value is None:
        return False
    if isinstance(value, ast.Call) and last_name(value.func) not in _GIVING and isinstance(value.func, ast.Name):
        return value.func.id in roots
    return any(_leads(part, roots, items) for part in parts(value))


def _of_call(call: ast.Call) -> list[ast.expr | None]:
    if last_name(call.func) in _GIVING:
        return [*call.args]
    return [call.func.value] if isinstance(call.func, ast.Attribute) else []


_PARTS: dict[type[ast.expr], Callable[..., list[ast.expr | None]]] = {
    ast.Subscript: lambda node: [node.value],
    ast.Call: _of_call,
    ast.Starred: lambda node: [node.value],
    ast.NamedExpr: lambda node: [node.value],
    ast.IfExp: lambda node: [node.body, node.orelse],
    ast.BoolOp: lambda node: node.values,
    ast.Tuple: lambda node: node.elts,
    ast.List: lambda node: node.elts,
    ast.Dict: lambda node: node.values,
    ast.ListComp: lambda node: [node.elt],
    ast.GeneratorExp: lambda node: [node.elt],
    ast.DictComp: lambda node: [node.value],
}
"""The parts of an expression of which one has to be an item, or a table, for the whole to hold one."""


def _bound_to_items(tree: ast.Module, roots: set[str]) -> set[str]:
    """The variables that may be items of the tables, or other containers of these."""
    bindings = [(target, value) for node in walk(tree) for target, value in _bindings(node)]
    items, known = set[str](), -1
    while len(items) > known:
        known = len(items)
        for target, value in bindings:
            if _leads(value, roots, items):
                items |= {_written(node) for node in _targets(target)}
    return items - roots


def _targets(target: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """The variables and attributes that an assignment binds, or whose container it fills."""
    pending = [target]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
        elif isinstance(node, ast.Tuple | ast.List):
            pending += node.elts
        elif isinstance(node, ast.Subscript | ast.Starred):
            pending.append(node.value)


def _written(node: ast.Name | ast.Attribute) -> str:
    """A variable by its name, an attribute of any object by its with a dot before it."""
    return node.id if isinstance(node, ast.Name) else f".{node.attr}"


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, node.iter
