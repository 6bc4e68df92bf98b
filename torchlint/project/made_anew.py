"""Whether what a call is given was made by the function around it, in the same turn: a new object for each call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from torchlint.project.bindings import FUNCTIONS, WRAPPERS, bindings, bound_by, dotted_name
from torchlint.project.excerpt import Outline
from torchlint.project.modules import Modules
from torchlint.project.single_calls import COMPREHENSIONS, INITIALIZER, LOOPS, PlacedCall
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["MadeAnew"]

STEPS = 3
"""So many functions that only return what another one makes are looked through."""

HOLDING = WRAPPERS | {"Sequential", "ModuleList", "ModuleDict", "IntermediateLayerGetter", "create_feature_extractor"}
"""What is made around what it is given, by the last part of the name."""

LOOKING_UP = frozenset(["get", "pop", "setdefault", "__getitem__"])
"""Methods that give what was made before."""

GIVING_ITSELF = frozenset(
    ["to", "cuda", "cpu", "eval", "train", "half", "float", "double", "bfloat16", "requires_grad_", "modules",
     "children", "named_modules", "named_children", "get_submodule"]
)  # fmt: skip
"""Methods of a module that return it or parts of it."""


_Place: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Module"


@dataclass(frozen=True)
class _Scope:
    """A function of a file, or its body.

    Attributes:
        path: the file.
        where: the function, or the module.
        owner: the class of which it is a method.
        bound: what its names are bound to, and in which of its loops; None stands for what is not known.
        steps: how many functions may still be looked through.
    """

    path: str
    where: _Place
    owner: ast.ClassDef | None
    bound: dict[str, list[tuple[ast.expr | None, ast.AST | None]]]
    steps: int


class MadeAnew:
    """Answers for calls in the files of a run."""

    def __init__(
        self,
        modules: Modules,
        tree_of: Callable[[str], ast.Module | None],
        outline_of: Callable[[str], Outline | None],
        given: frozenset[str],
    ) -> None:
        """Read no file yet; only of those ``given`` functions are looked at."""
        self._modules = modules
        self._tree_of = tree_of
        self._outline_of = outline_of
        self._given = given

    def is_new(self, path: str, place: PlacedCall, value: ast.expr | None) -> bool:
        """Whether ``value``, an argument of a call in the file ``path``, is new with each turn that makes the call."""
        if value is None or not isinstance(place.where, (*FUNCTIONS, ast.Module)):
            return False
        return self._is_new(value, place.loop, _scope(path, place.where, place.owner, STEPS), frozenset())

    def _is_new(self, value: ast.expr, loop: ast.AST | None, scope: _Scope, seen: frozenset[str]) -> bool:
        while True:
            name = dotted_name(value)
            if name is not None and name in scope.bound:
                return self._are_new(name, loop, scope, seen)
            if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred):
                value = value.value
            elif isinstance(value, ast.Call) and _gives_itself(value):
                assert isinstance(value.func, ast.Attribute)
                value = value.func.value
            else:
                break
        if not isinstance(value, ast.Call) or not self._makes(value.func, scope):
            return False
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
        around = given if last_name(value.func) in HOLDING else []
        return all(isinstance(one, ast.Constant) or self._is_new(one, loop, scope, seen) for one in around)

    def _are_new(self, name: str, loop: ast.AST | None, scope: _Scope, seen: frozenset[str]) -> bool:
        """Whether a name is bound to what is new in the turn of ``loop``: ``net = build()``, ``net = net.eval()``."""
        if name in seen:
            return True
        if "." in name and getattr(scope.where, "name", "") != INITIALIZER:
            return False  # an attribute may be bound only when it is first needed
        return all(
            value is not None and at is loop and self._is_new(value, loop, scope, seen | {name})
            for value, at in scope.bound[name]
        )

    def _makes(self, callee: ast.expr, scope: _Scope) -> bool:
        """Whether calling something makes a new object each time: a class, what a library exports, what returns one."""
        if isinstance(callee, ast.Call) and dotted_name(callee.func) == "getattr" and callee.args:
            callee = callee.args[0]  # ``getattr(models, name)()``: any class or function of a library
        name = dotted_name(callee)
        first, _, rest = (name or "").partition(".")
        if not name or last_name(callee) in LOOKING_UP:
            return False
        own = scope.where.args.args[:1] if isinstance(scope.where, FUNCTIONS) else []
        if scope.owner is not None and own and first == own[0].arg:
            return self._returns_new(scope.path, _defined(scope.owner.body, rest), scope.owner, scope.steps)
        if first in scope.bound:
            return False
        outline = self._outline_of(scope.path)
        imported = outline.imported(first) if outline is not None else None
        if imported is None:
            tree = self._tree_of(scope.path)
            return tree is not None and self._returns_new(scope.path, _defined(tree.body, name), None, scope.steps)
        return self._is_maker(scope.path, f"{imported}.{rest}" if rest else imported, scope.steps)

    def _is_maker(self, importer: str, name: str, steps: int) -> bool:
        """The same for what a file imports."""
        location = self._modules.locate(importer, name)
        if location is None:
            return True
        outline = self._outline_of(location.path) if location.path in self._given and steps else None
        if outline is None or len(location.rest) != 1:
            return False
        imported = outline.imported(location.rest[0])
        if imported is not None:
            return self._is_maker(location.path, imported, steps - 1)
        tree = self._tree_of(location.path)
        return tree is not None and self._returns_new(location.path, _defined(tree.body, location.rest[0]), None, steps)

    def _returns_new(self, path: str, definition: ast.AST | None, owner: ast.ClassDef | None, steps: int) -> bool:
        """Whether a class is called, or a function all results of which are made in it with each call."""
        if isinstance(definition, ast.ClassDef):
            return True
        if not isinstance(definition, FUNCTIONS) or not steps or any(map(_remembers, definition.decorator_list)):
            return False
        scope = _scope(path, definition, owner, steps - 1)
        results = [(node.value, loop) for node, loop in _looped_nodes(definition) if isinstance(node, ast.Return)]
        return bool(results) and all(
            value is not None and self._is_new(value, loop, scope, frozenset()) for value, loop in results
        )


def _scope(path: str, where: _Place, owner: ast.ClassDef | None, steps: int) -> _Scope:
    bound: dict[str, list[tuple[ast.expr | None, ast.AST | None]]] = {}
    for name, value in bindings(where, []):
        bound.setdefault(name, []).append((value, None))
    for node, loop in _looped_nodes(where):
        for name, value in bound_by(node):
            bound.setdefault(name, []).append((value, loop))
        for name in node.names if isinstance(node, ast.Global | ast.Nonlocal) else ():
            bound.setdefault(name, []).append((None, None))
    return _Scope(path, where, owner, bound, steps)


def _looped_nodes(where: _Place) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """What stands in a function, nested definitions left out, each with the innermost loop around it."""
    pending: list[tuple[ast.AST, ast.AST | None]] = [(node, None) for node in where.body]
    while pending:
        node, loop = pending.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        yield node, loop
        inside = node if isinstance(node, (*LOOPS, *COMPREHENSIONS)) else loop
        pending += [(child, inside) for child in children(node)]


def _defined(body: list[ast.stmt], name: str) -> ast.AST | None:
    """The one function or class of a name that a body defines."""
    found = [one for one in body if isinstance(one, (*FUNCTIONS, ast.ClassDef)) and one.name == name]
    return found[0] if len(found) == 1 else None


def _remembers(decorator: ast.expr) -> bool:
    return any("cache" in last_name(node) for node in walk(decorator) if isinstance(node, ast.expr))


def _gives_itself(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in GIVING_ITSELF
