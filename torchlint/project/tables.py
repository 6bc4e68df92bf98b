"""Tables of functions: which of a file's functions somebody takes out of one and calls under no name of theirs.

``METRICS = {"mae": mae}``, ``METRICS["mae"] = mae``, ``METRICS.append(mae)``, ``return {"mae": mae}``, a decorator of
the project that does such a thing with what it decorates, or that is the method of an object which does.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from torchlint.project.bases import REEXPORTS
from torchlint.project.excerpt import Outline
from torchlint.project.guarded_parts import is_guard
from torchlint.project.modules import Location, Modules
from torchlint.project.sights import Sights
from torchlint.project.uses import GUARDS
from torchlint.syntax.filling_names import INSERTING
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["CALL", "Table", "Tables"]

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_DISPLAYS = (ast.Dict, ast.List, ast.Tuple, ast.Set)

_MAPPINGS = frozenset(["dict", "OrderedDict", "defaultdict", "MappingProxyType", "ChainMap"])

LAMBDA = "<lambda>"
"""The name of all functions that have none."""

CALL = "__call__"

DECORATED = "()"
"""What decorates is the object itself, and no method of it."""


class Table(NamedTuple):
    """What holds a function.

    Attributes:
        path: the file in which it stands, absolute.
        name: the last part of its name.
        guards: a guard is put around what it holds, whoever calls that.
        is_class: it is no table, but a class whose objects others make and call.
        makes: it holds classes, of whose objects nobody knows who calls them.
    """

    path: str
    name: str
    guards: bool = False
    is_class: bool = False
    makes: bool = False


class Tables:
    """The tables of the files of a project."""

    def __init__(
        self,
        modules: Modules,
        outline_of: Callable[[str], Outline | None],
        tree_of: Callable[[str], ast.Module | None],
        sights: Sights,
    ) -> None:
        """Read no file yet."""
        self._modules = modules
        self._outline_of = outline_of
        self._tree_of = tree_of
        self._sights = sights
        self._known: dict[str, tuple[dict[str, frozenset[Table]], Collection[tuple[str, str]]]] = {}

    def holding(self, path: str, name: str) -> frozenset[Table]:
        """The tables that hold ``name``, a function at the top level of the file ``path``.

        ``<lambda>`` is any function without a name, ``__call__`` that of any class of which objects are called.
        """
        return self._sights.remembered(self._known, path, lambda: self._held_in(path)).get(name, frozenset())

    def _held_in(self, path: str) -> dict[str, frozenset[Table]]:
        tree = self._tree_of(path) or ast.Module([], [])
        called = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and _has(node, CALL)}
        names = {node.name: node.name for node in tree.body if isinstance(node, _Function)}
        names |= {LAMBDA: LAMBDA} | {name: CALL for cls in called for name in (cls, _made_by(cls))}
        found: dict[str, set[Table]] = {CALL: {Table(path, cls, is_class=True) for cls in called}}
        holding = [
            (held, table)
            for decorator, decorated in _decorated(tree).items()
            for table in self._filled_by(path, decorator)
            for held in decorated
            if held in names
        ]
        holding += [
            (held, self._place_of(path, table, guards=is_guarded))
            for node in tree.body
            for table, values in _held_by(node)
            for value in values
            for held, is_guarded in _listed(value)
            if held in names and not _is_local(node, held)
        ]
        for held, table in holding:
            found.setdefault(names[held], set()).add(table._replace(makes=held in called))
        return {name: frozenset(tables) for name, tables in found.items() if tables}

    def _place_of(self, path: str, table: ast.expr, *, guards: bool) -> Table:
        """Where a table stands that a file imports, or has itself."""
        first = _first_name(table)
        location = self._imported(path, first)
        return Table(path if location is None else location.path, last_name(table) or first, guards)

    def _imported(self, path: str, name: str) -> Location | None:
        """Where that stands which a file imports under a name."""
        outline = self._outline_of(path)
        imported = outline.imported(name) if outline is not None else None
        return self._modules.locate(path, imported) if imported is not None else None

    def _filled_by(self, path: str, names: Sequence[str]) -> set[Table]:
        """The tables into which a decorator of that dotted name puts what it decorates."""
        definition = self._definition(path, names)
        if definition is None:
            return set()
        place, name, node, members = definition
        if isinstance(node, _Function):
            return {self._place_of(place, table, guards=guards) for table, guards in _filled_with_parameter(node)}
        inner = self._filled_by_method(place, node, members[0] if members else DECORATED)
        return inner | {Table(place, name, one.guards) for one in inner}

    def _definition(self, path: str, names: Sequence[str]) -> tuple[str, str, ast.stmt, Sequence[str]] | None:
        """What a file means by a dotted name: the file, the name there, the statement, and what is left of the name."""
        for _ in range(REEXPORTS if names else 0):
            name, *rest = names
            tree = self._tree_of(path)
            own = [node for node in tree.body if name in _defined(node)] if tree is not None else []
            if own:
                return path, name, own[0], rest
            location = self._imported(path, name)
            if location is None or not (location.rest or rest):
                return None
            path, names = location.path, [*location.rest, *rest]
        return None

    def _filled_by_method(self, path: str, node: ast.stmt, member: str) -> set[Table]:
        """The containers into which a method of a class, or of what a statement makes of one, puts what it is given."""
        if isinstance(node, ast.ClassDef):
            methods = (one for one in node.body if isinstance(one, _Function) and one.name == member)
            filled = (one for method in methods for one in _filled_with_parameter(method))
            return {Table(path, last_name(table) or _first_name(table), guards) for table, guards in filled}
        made = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if not isinstance(made, ast.Call):
            return set()
        definition = self._definition(path, _dotted(made.func))
        if definition is None or not isinstance(definition[2], ast.ClassDef):
            return set()
        return self._filled_by_method(definition[0], definition[2], CALL if member == DECORATED else member)


def _decorated(tree: ast.Module) -> dict[tuple[str, ...], list[str]]:
    """The decorators at the top level of a file by their dotted names, each with the names of what it decorates."""
    found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                found[tuple(_dotted(called))].append(node.name)
    return found


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement at the top level defines, imports left out."""
    if isinstance(node, (*_Function, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _held_by(statement: ast.stmt) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What a statement at the top level puts into tables: each table, and what may be in it.

    A function that returns a display is the name under which others get that.
    """
    for node in statement.body if isinstance(statement, ast.ClassDef) else walk(statement):
        if isinstance(statement, _Function):
            if isinstance(node, ast.Return) and isinstance(node.value, _DISPLAYS):
                yield ast.Name(statement.name), [node.value]
            continue
        yield from _filled(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and (held := _made_of(node.value)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((one, held) for one in targets if isinstance(one, ast.Name | ast.Attribute))


def _is_local(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is a function that binds a name itself: what it returns under that is none of the file's."""
    return isinstance(statement, _Function) and any(
        name == (node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else None)
        and not isinstance(getattr(node, "ctx", None), ast.Load)
        for node in walk(statement)
    )


def _made_of(value: ast.expr | None) -> list[ast.expr]:
    """The displays and the keywords of which a table is made: ``{"mae": mae}``, ``dict(mae=mae)``."""
    if isinstance(value, _DISPLAYS):
        return [value]
    if not isinstance(value, ast.Call) or last_name(value.func) not in _MAPPINGS:
        return []
    return [one for one in value.args if isinstance(one, _DISPLAYS)] + [one.value for one in value.keywords]


def _filled(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """``TABLE[name] = value``, ``TABLE.append(value)``, ``TABLE.update(name=value)``."""
    if isinstance(node, ast.Assign):
        yield from ((one.value, [node.value]) for one in node.targets if isinstance(one, ast.Subscript))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in INSERTING:
        yield node.func.value, [*node.args, *(keyword.value for keyword in node.keywords)]


def _filled_with_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.expr, bool]]:
    """The tables into which a function, or one that it makes, puts what it is given, each with whether it guards it."""
    nodes = list(walk(function))
    given = {one.arg for node in nodes if isinstance(node, _Function) for one in node.args.args}
    for node in nodes:
        for table, values in _filled(node):
            held = [is_guarded for value in values for name, is_guarded in _listed(value) if name in given]
            yield from [(table, all(held))] if held else []


def _listed(value: ast.expr) -> Iterator[tuple[str, bool]]:
    """The names of what is put somewhere, each with whether a guard is put around it.

    It stands by itself, in a display, or is given to what wraps it; ``Mae()`` is what the class of the name makes.
    """
    pending: list[tuple[ast.AST, bool]] = [(value, False)]
    while pending:
        node, is_guarded = pending.pop()
        if isinstance(node, ast.Name | ast.Lambda):
            yield node.id if isinstance(node, ast.Name) else LAMBDA, is_guarded
        elif isinstance(node, ast.Call):
            yield _made_by(last_name(node.func)), is_guarded
            is_guarded = is_guarded or (isinstance(node.func, ast.Call) and is_guard(node.func, GUARDS))
            pending += [(one, is_guarded) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
        elif isinstance(node, (*_DISPLAYS, ast.Starred)):
            pending += [(one, is_guarded) for one in children(node)]


def _made_by(cls: str) -> str:
    """How an object of a class is written."""
    return f"{cls}()"


def _has(cls: ast.ClassDef, method: str) -> bool:
    return any(isinstance(one, _Function) and one.name == method for one in cls.body)


def _dotted(node: ast.expr) -> list[str]:
    """The parts of a dotted name; empty for what is none."""
    names = list[str]()
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def _first_name(node: ast.expr) -> str:
    """``registry`` of ``registry.METRICS.add``; "" for what begins with no name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
