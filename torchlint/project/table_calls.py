"""Where a file calls what it takes out of a table: ``METRICS[name](net)``, ``for metric in METRICS.values(): ...``."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import NamedTuple

from torchlint.project.guarded_parts import guarded_parts
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["ItemCalls", "item_calls"]

_GIVING = frozenset(
    ["dict", "enumerate", "filter", "iter", "list", "next", "partial", "reversed", "set", "sorted", "tuple", "zip"]
)
"""Functions that give what is in their arguments, or call it as it is."""


class _Source(NamedTuple):
    """What an expression may be taken out of: one of some tables, or a variable that holds an item of one."""

    tables: tuple[str, ...]
    items: tuple[str, ...]

    def is_among(self, tables: Set[str], items: Set[str]) -> bool:
        return not (tables.isdisjoint(self.tables) and items.isdisjoint(self.items))


class _Call(NamedTuple):
    """A call: of what, in which function or method, "" for none, and if gradients are off there."""

    source: _Source
    function: str
    is_guarded: bool


@dataclass(frozen=True, slots=True)
class ItemCalls:
    """What a file says of tables, whichever they are: without its tree, since one table after the other is asked for.

    Attributes:
        imported: what is imported under another name, each with that.
        bindings: what is bound, each with what it may be taken out of.
        calls: the calls of what may be an item.
    """

    imported: tuple[tuple[str, str], ...]
    bindings: tuple[tuple[tuple[str, ...], _Source], ...]
    calls: tuple[_Call, ...]

    def of(self, table: str) -> frozenset[tuple[str, bool]]:
        """Where the file calls what a table holds: in which function or method, and if gradients are off there.

        Args:
            table: the last part of the table's name, or that of a function that returns it, or of a class whose objects
                count as what it holds.
        """
        tables = {table, *(other for name, other in self.imported if name == table)}
        items = self._bound_to_items(tables)
        return frozenset((call.function, call.is_guarded) for call in self.calls if call.source.is_among(tables, items))

    def _bound_to_items(self, tables: Set[str]) -> Set[str]:
        """The variables that may be items of the tables, or other containers of these."""
        items, known = set[str](), -1
        while len(items) > known:
            known = len(items)
            for targets, source in self.bindings:
                if source.is_among(tables, items):
                    items.update(targets)
        return items - tables


def item_calls(tree: ast.Module, guards: frozenset[str]) -> ItemCalls:
    """What a file says of tables.

    Args:
        tree: the file's.
        guards: the names of what switches gradients off.
    """
    imports, bindings = list[ast.alias](), list[tuple[tuple[str, ...], _Source]]()
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom):
            imports += node.names
        for target, value in _bindings(node):
            source = _source(value)
            if source.tables or source.items:
                bindings.append((tuple(map(_written, _targets(target))), source))
    function_at, bound = _functions(tree), {name for targets, _ in bindings for name in targets}
    calls = (
        _Call(callee, function_at(node.lineno), is_guarded)
        for part, is_guarded in guarded_parts(tree, guards)
        for node in walk(part)
        if isinstance(node, ast.Call) and (callee := _of_callee(node.func)) is not None
        if callee.tables or not bound.isdisjoint(callee.items)  # what is bound to nothing is no item
    )
    renamed = tuple((alias.name, alias.asname) for alias in imports if alias.asname)
    return ItemCalls(renamed, tuple(bindings), tuple(dict.fromkeys(calls)))


def _functions(tree: ast.Module) -> Callable[[int], str]:
    """Says which function at the top level, or method of a class there, stands around a line; "" for a file's body."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    statements = [*tree.body, *(node for cls in classes for node in cls.body)]
    functions = sorted((n for n in statements if isinstance(n, ast.FunctionDef)), key=lambda node: node.lineno)
    firsts = [node.lineno for node in functions]

    def function_at(line: int) -> str:
        latest = functions[bisect_right(firsts, line) - 1] if firsts else None
        return latest.name if latest is not None and latest.lineno <= line <= (latest.end_lineno or line) else ""

    return function_at


def _of_callee(callee: ast.expr) -> _Source | None:
    """What that which is called may be taken out of; None where that is nothing that could be."""
    if isinstance(callee, ast.Name | ast.Attribute):
        return _Source((), (_written(callee),))
    if isinstance(callee, ast.Call) and isinstance(callee.func, ast.Subscript):
        return None  # what an item returns
    source = _source(callee) if isinstance(callee, ast.Subscript | ast.Call) else None
    return source if source is not None and (source.tables or source.items) else None


def _source(value: ast.expr | None) -> _Source:
    """What a value may be taken out of, or hold an item of, or be itself."""
    tables, items = list[str](), list[str]()
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            tables.append(part.id)
            items.append(part.id)
        elif isinstance(part, ast.Attribute):
            tables.append(part.attr)
            items.append(_written(part))
        elif isinstance(part, ast.Call) and last_name(part.func) not in _GIVING and isinstance(part.func, ast.Name):
            tables.append(part.func.id)
        elif part is not None and (parts := _PARTS.get(type(part))) is not None:
            pending += parts(part)
    return _Source(tuple(dict.fromkeys(tables)), tuple(dict.fromkeys(items)))


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
