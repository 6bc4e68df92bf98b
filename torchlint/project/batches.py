"""What a file passes to a function: batches that its loops take from data, in which no step has left a graph."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["batches_passed", "objects_by_class"]

MOVING = frozenset(
    ["to", "cuda", "cpu", "float", "long", "half", "double", "int", "pin_memory", "contiguous", "unsqueeze", "squeeze",
     "view", "flatten", "permute"]
)  # fmt: skip
"""Methods that give a batch in another place or form."""

GOING_OVER = frozenset(["enumerate", "zip", "tqdm", "iter", "islice", "reversed"])
"""Functions whose items are those of their arguments."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def batches_passed(tree: ast.Module, name: str) -> frozenset[int | str] | None:
    """The arguments of the calls of a name that are batches in each of them.

    Args:
        tree: the file's.
        name: the last part of what is called; with ``()`` behind it that of a class, whose objects are called.

    Returns:
        their positions (from 0) and keywords; None where the file does not call it with an argument.
    """
    names = objects_by_class(tree).get(name.removesuffix("()"), set()) if name.endswith("()") else {name}
    calls = [
        (call, scope) for call, scope in _calls(tree) if last_name(call.func) in names and (call.args or call.keywords)
    ]
    passed = [frozenset(_batches(call, _Scope(scope))) for call, scope in calls]
    return frozenset.intersection(*passed) if passed else None


def objects_by_class(tree: ast.Module) -> dict[str, set[str]]:
    """The variables and attributes to which objects are bound, by the last part of the name, and that of their class.

    Args:
        tree: of the file.

    Returns:
        what is called as a class is, be it a function.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for node in walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = (last_name(one) for one in node.targets if isinstance(one, ast.Name | ast.Attribute))
            found[last_name(node.value.func)].update(names)
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The calls of a file, each with the function, or the module, around it."""
    pending: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while pending:
        node, scope = pending.pop()
        if isinstance(node, ast.Call):
            yield node, scope
        within = node if isinstance(node, _FUNCTIONS) else scope
        pending += [(child, within) for child in children(node)]


def _batches(call: ast.Call, scope: _Scope) -> Iterator[int | str]:
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            break  # of what follows the position is not known
        if scope.is_batch(argument):
            yield position
    yield from (one.arg for one in call.keywords if one.arg is not None and scope.is_batch(one.value))


class _Scope:
    """A function's body, or the module's, and what binds its names."""

    def __init__(self, node: ast.AST) -> None:
        """Read the bindings of ``node``, of functions within it none."""
        self.parameters = (
            {one.arg for one in walk(node.args) if isinstance(one, ast.arg)} if isinstance(node, _FUNCTIONS) else set()
        )
        self.items: dict[str, list[ast.expr]] = defaultdict(list)
        self.values: dict[str, list[ast.expr | None]] = defaultdict(list)
        pending = list(children(node))
        while pending:
            one = pending.pop()
            if isinstance(one, (*_FUNCTIONS, ast.ClassDef)):
                continue
            self._read(one)
            pending += children(one)

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            for name in _names(node.target):
                self.items[name].append(node.iter)
        elif isinstance(node, ast.Assign):
            for name in (name for target in node.targets for name in _names(target)):
                self.values[name].append(node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
            for name in _names(node.target):
                self.values[name].append(node.value if isinstance(node, ast.NamedExpr) else None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            for name in _names(node.optional_vars):
                self.values[name].append(None)

    def is_batch(self, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a number, or what a loop takes from data, a part of that, moved as may be."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self.is_batch(node.value, seen)
        if isinstance(node, ast.Call):
            return (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in MOVING
                and self.is_batch(node.func.value, seen)
            )
        if not isinstance(node, ast.Name) or node.id in seen:
            return isinstance(node, ast.Name)
        items, values = self.items.get(node.id, []), self.values.get(node.id, [])
        return (
            bool(items)
            and all(map(self._is_data, items))
            and all(self.is_batch(value, seen | {node.id}) for value in values)
        )

    def _is_data(self, over: ast.expr | None, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a loop over this goes over data: a parameter, or what something imported or defined has made."""
        if isinstance(over, ast.Call):
            if last_name(over.func) in GOING_OVER:
                return all(isinstance(one, ast.Constant) or self._is_data(one, seen) for one in over.args)
            return self._is_made_by(over.func)
        if not isinstance(over, ast.Name) or over.id in seen:
            return isinstance(over, ast.Name)
        items, values = self.items.get(over.id, []), self.values.get(over.id, [])
        if not items and not values:
            return over.id in self.parameters
        within = seen | {over.id}
        made = (isinstance(value, ast.Call) and self._is_data(value, within) for value in values)
        return all(self._is_data(one, within) for one in items) and all(made)

    def _is_made_by(self, func: ast.expr) -> bool:
        """Whether what is called is no variable, as a network is, but a name of the file or of what it imports."""
        while isinstance(func, ast.Attribute):
            func = func.value
        if not isinstance(func, ast.Name):
            return False
        return func.id not in self.parameters and func.id not in self.values and func.id not in self.items


def _names(target: ast.expr) -> list[str]:
    return [node.id for node in walk(target) if isinstance(node, ast.Name)]
