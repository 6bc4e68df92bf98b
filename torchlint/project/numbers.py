"""The numbers that files pass to each other's functions: ``rows(cfg.rows)``, where another file has the settings.

A number is followed to where it is written: through variables, constants of modules, parameters and what is passed for
them, fields of a class and what its objects are made with, items of a dictionary and options of the command line.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchlint.project.bindings import FUNCTIONS, bindings, own_nodes
from torchlint.project.excerpt import Outline
from torchlint.project.given_files import GivenFiles
from torchlint.project.modules import Location
from torchlint.project.single_calls import Parameter, calls_of
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["Numbers"]

STEPS = 12
"""So many bindings are followed from a number to where it is written, at most."""

PARSING = frozenset(["parse_args", "parse_known_args"])

OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class _Place(NamedTuple):
    """Where an expression stands: in a file, and there in a function or in the module itself."""

    path: str
    where: ast.AST


class _Bound(NamedTuple):
    """An expression, or a definition, and where it stands."""

    node: ast.AST
    place: _Place


class Numbers:
    """Answers it for the files of a run."""

    def __init__(
        self,
        files: GivenFiles,
        outline_of: Callable[[str], Outline | None],
        locate: Callable[[str, str], Location | None],
    ) -> None:
        """Read no file yet; ``locate`` says where a name leads that a file imports."""
        self._files, self._outline_of, self._locate = files, outline_of, locate

    def passed(self, path: str, name: str, parameter: Parameter) -> int:
        """The largest number that other files are seen to pass to ``name`` of the file ``path``; -1 for none."""
        with self._files.asked():
            given = [bound for bound in self._passed(path, name, parameter) if bound.place.path != path]
            return max((self._number(bound, STEPS) for bound in given), default=-1)

    def at(self, path: str, where: ast.AST, node: ast.expr) -> int:
        """The largest number that an expression in a function of a file, or in the module, is known to be, or -1."""
        with self._files.asked():
            return self._number(_Bound(node, _Place(path, where)), STEPS)

    def _number(self, bound: _Bound, steps: int) -> int:
        node = bound.node
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else -1
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            sides = [self._number(_Bound(one, bound.place), steps - 1) for one in (node.left, node.right)]
            return OPERATIONS[type(node.op)](*sides) if min(sides) >= 0 else -1
        if isinstance(node, ast.Call) and last_name(node.func) == "int" and len(node.args) == 1:
            return self._number(_Bound(node.args[0], bound.place), steps - 1) if steps else -1
        behind = self._behind(bound, steps) if steps else ()
        return max((self._number(one, steps - 1) for one in behind), default=-1)

    def _behind(self, bound: _Bound, steps: int) -> Iterator[_Bound]:
        """What a name, an attribute, an item or a choice may be, one step back."""
        node, place = bound
        if isinstance(node, ast.IfExp):
            yield from (_Bound(one, place) for one in (node.body, node.orelse))
        elif isinstance(node, ast.Name):
            yield from self._named(node.id, place)
        elif isinstance(node, ast.Attribute):
            for one in self._objects(_Bound(node.value, place), steps - 1):
                yield from self._field(one, node.attr, steps - 1)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            for one in self._objects(_Bound(node.value, place), steps - 1):
                if isinstance(one.node, ast.Dict):
                    items = zip(one.node.keys, one.node.values, strict=True)
                    keyed = ((key.value, value) for key, value in items if isinstance(key, ast.Constant))
                    yield from (_Bound(value, one.place) for key, value in keyed if key == node.slice.value)

    def _named(self, name: str, place: _Place) -> Iterator[_Bound]:
        """What a name is bound to where it stands: a parameter, a variable, a definition, or in another file."""
        tree = self._files.tree_of(place.path)
        if tree is None:
            return
        if isinstance(place.where, FUNCTIONS):
            parameters = [one.arg for one in (*place.where.args.posonlyargs, *place.where.args.args)]
            if name in (*parameters, *(one.arg for one in place.where.args.kwonlyargs)):
                yield from self._given(name, parameters, place, tree)
                return
            if values := _scope(place.where).get(name):
                yield from (_Bound(value, place) for value in values)
                return
        module = _Place(place.path, tree)
        yield from (_Bound(value, module) for value in _scope(tree).get(name, ()))
        definitions = (one for one in tree.body if isinstance(one, (ast.ClassDef, *FUNCTIONS)) and one.name == name)
        yield from (_Bound(one, module) for one in definitions)
        yield from self._imported(name, place.path)

    def _given(self, name: str, parameters: list[str], place: _Place, tree: ast.Module) -> Iterator[_Bound]:
        """What a parameter is: its default, and what calls pass for it; methods are not looked for."""
        function = place.where
        if not isinstance(function, FUNCTIONS) or function not in tree.body:
            return
        defaults = function.args.defaults
        known = dict(zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True))
        if name in known:
            yield _Bound(known[name], _Place(place.path, tree))
        position = parameters.index(name) if name in parameters else -1
        yield from self._passed(place.path, function.name, (position, name))

    def _passed(self, path: str, name: str, parameter: Parameter) -> Iterator[_Bound]:
        """What calls of a function or a class pass for a parameter, in its own file and in those that import it."""
        for user in sorted(self._files.calling.get(name, ())):
            tree = self._files.tree_of(user) if user == path or self._files.imports(user, path) else None
            for call in calls_of(tree, name) if tree is not None else ():
                given = call.given(parameter)
                if given is not None:
                    yield _Bound(given, _Place(user, call.where))

    def _imported(self, name: str, path: str) -> Iterator[_Bound]:
        """What a file imports under a name: a module, or what that has."""
        outline = self._outline_of(path)
        full = outline.imported(name) if outline is not None else None
        location = self._locate(path, full) if full is not None else None
        tree = self._files.tree_of(location.path) if location is not None else None
        if location is not None and tree is not None and location.path != path and len(location.rest) < 2:
            there = _Place(location.path, tree)
            yield _Bound(ast.Name(location.rest[0]) if location.rest else tree, there)

    def _objects(self, bound: _Bound, steps: int) -> Iterator[_Bound]:
        """The calls that make what an expression is, or the class, the module or the dictionary that it is."""
        if isinstance(bound.node, ast.Name | ast.Attribute | ast.Subscript | ast.IfExp):
            for one in self._behind(bound, steps) if steps > 0 else ():
                yield from self._objects(one, steps - 1)
        else:
            yield bound

    def _field(self, owner: _Bound, name: str, steps: int) -> Iterator[_Bound]:
        """What an object, a class or a module has under a name."""
        node, place = owner
        if isinstance(node, ast.Module):
            yield _Bound(ast.Name(name), place)
        elif isinstance(node, ast.ClassDef):
            yield from (_Bound(value, place) for field, value in _fields(node) if field == name and value is not None)
        elif isinstance(node, ast.Call) and last_name(node.func) in PARSING:
            tree = self._files.tree_of(place.path)
            yield from (_Bound(value, place) for value in _defaults(tree, name))
        elif isinstance(node, ast.Call) and steps > 0:
            for made in self._objects(_Bound(node.func, place), steps - 1):
                yield from self._of_made(node, place, made, name, steps - 1)

    def _of_made(self, call: ast.Call, place: _Place, maker: _Bound, name: str, steps: int) -> Iterator[_Bound]:
        """What a call gives an object for a field, or what its class says; of a function, what it returns."""
        if isinstance(maker.node, ast.ClassDef):
            fields = [field for field, _ in _fields(maker.node)]
            given = [one.value for one in call.keywords if one.arg == name]
            if name in fields[: len(call.args)]:
                given.append(call.args[fields.index(name)])
            yield from [_Bound(one, place) for one in given] or self._field(maker, name, steps)
        elif isinstance(maker.node, FUNCTIONS) and steps > 0:
            inside = _Place(maker.place.path, maker.node)
            returned = (one.value for one in own_nodes(maker.node) if isinstance(one, ast.Return))
            for value in returned:
                for one in self._objects(_Bound(value, inside), steps - 1) if value is not None else ():
                    yield from self._field(one, name, steps - 1)


def _scope(where: ast.AST) -> dict[str, list[ast.expr]]:
    """What the names of a function, or of a module, are bound to, as far as expressions tell."""
    found: dict[str, list[ast.expr]] = {}
    for name, value in bindings(where, list(own_nodes(where))):
        if value is not None:
            found.setdefault(name, []).append(value)
    return found


def _fields(cls: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that the body of a class binds, with what they are there."""
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _defaults(tree: ast.Module | None, option: str) -> Iterator[ast.expr]:
    """What an option of the command line is where nothing is given for it."""
    for node in walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and last_name(node.func) == "add_argument":
            names = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if option in (name.lstrip("-").replace("-", "_") for name in names):
                yield from (one.value for one in node.keywords if one.arg == "default")
