"""What one file passes to the functions and classes that it imports: by which call each argument was made.

``evaluate(restore(path).to(device), loader)`` passes what ``restore`` returns, ``Embedder(net)`` what every assignment
to ``net`` makes, and so does ``trainer.fit(net)`` to the method of what ``Trainer(...)`` made. After ``train, test =
loaders(root)`` the first item of what ``loaders`` returns is ``train``, ``route(self, x)`` in a method passes an object
of its class, and ``Trainer([Recorder(), Stopper()])`` two in a list.
Only the file's text is read; what is bound in another way is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

from torchlint.project.bindings import FUNCTIONS, WRAPPERS, bindings, dotted_name, own_nodes
from torchlint.project.passed_containers import emptied_names, is_older, kind_of_container
from torchlint.syntax.python_tree import children, last_name

__all__ = ["Maker", "PassedArguments", "passed_arguments"]

ITSELF = frozenset(["to", "cuda", "cpu", "eval", "train", "half", "float", "double", "bfloat16", "requires_grad_"])
"""Methods of a module that return it."""

EVALUATES, TRAINS = "eval", "train"

INITIALIZER = "__init__"

FREEZING = "requires_grad_"

MOST_MAKERS = 4
"""An argument that more calls may have made is not known."""

_BINDING = (
    ast.Assign,
    ast.AnnAssign,
    ast.NamedExpr,
    ast.AugAssign,
    ast.For,
    ast.AsyncFor,
    ast.comprehension,
    ast.withitem,
)
_READ = frozenset([*_BINDING, ast.Call])


class Maker(NamedTuple):
    """What was called to make a value.

    Attributes:
        name: a dotted name, as the file writes it; "" for a list or a dictionary.
        item: which item of what the call returns is meant, from 0; -1 for all of it.
        in_list: whether it is one of a list that is passed.
        in_evaluation: whether it is put into evaluation mode where it is passed.
        is_frozen: whether its parameters are told there not to require gradients.
        container: "list" or "dict" for one that the file makes, and takes nothing out of; "" for all else.
        is_older: whether a container is made before the loop begins in which it is passed.
        given_for: where it is nothing but what the function around was given, whose ``name`` this is then, or that of
            the class of an ``__init__``, the position and the name of the parameter; the own object does not count.
    """

    name: str
    item: int = -1
    in_list: bool = False
    in_evaluation: bool = False
    is_frozen: bool = False
    container: str = ""
    is_older: bool = False
    given_for: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class PassedArguments:
    """The arguments of one call.

    Attributes:
        callee: what is called, a dotted name as the file writes it.
        makers: for each argument that is known, its position (from 0) or its keyword, and what may have made it.
        method: where it is the method of an object that is called its name, and ``callee`` what made the object.
    """

    callee: str
    makers: tuple[tuple[int | str, tuple[Maker, ...]], ...]
    method: str = ""


@dataclass(frozen=True, eq=False)
class _Scope:
    """A function's body, or the module's.

    Attributes:
        bound: what its names are bound to; None stands for what no call made.
        cls: the class around it.
        own: how a method calls the object that it belongs to.
        is_initializer: whether it is the ``__init__`` of a class.
        evaluated: the names of what is put into evaluation mode, and not back into training mode.
        frozen: the names of what is told not to require gradients.
        called: how other files call it; "" for what they cannot.
        given: its parameters, its own object left out.
    """

    bound: dict[str, list[ast.expr | None]]
    cls: ast.ClassDef | None
    own: str | None
    is_initializer: bool
    evaluated: frozenset[str]
    frozen: frozenset[str]
    called: str
    given: tuple[str, ...]


def passed_arguments(tree: ast.Module, is_wanted: Callable[[str], bool]) -> dict[str, tuple[PassedArguments, ...]]:
    """What each call of a file passes that is known.

    Args:
        tree: the file's.
        is_wanted: whether calls of what this name begins with, ``models`` of ``models.build(...)``, are looked at.

    Returns:
        the calls, in no order, by the last part of what is called, those of a method as ``Trainer.fit``.
    """
    makers, found = _Makers(tree), dict[str, tuple[PassedArguments, ...]]()
    # Calls pass the same again and again, and what all files of a run pass is kept until its end.
    known: dict[Any, Any] = {}
    for call, where, cls in _calls(tree):
        callee, method = dotted_name(call.func) or "", ""
        if not is_wanted(callee.partition(".")[0]):
            callee, method = makers.of_receiver(call, where, cls), last_name(call.func)
        if callee and is_wanted(callee.partition(".")[0]):
            given = tuple(known.setdefault(one, one) for one in makers.of_arguments(call, where, cls))
            if given:
                name = callee.rpartition(".")[2] + (f".{method}" if method else "")
                passed = PassedArguments(callee, known.setdefault(given, given), method)
                found[name] = (*found.get(name, ()), known.setdefault(passed, passed))
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST, ast.ClassDef | None]]:
    """The calls of a file, each with the function, or the module, and the class around it."""
    where: ast.AST = tree
    cls: ast.ClassDef | None = None
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        kind = node.__class__
        if kind is ast.Name:  # half of all, and nothing is under it
            continue
        if kind is tuple:  # the end of a definition
            where, cls = node
            continue
        if kind is ast.Call:
            yield node, where, cls
        elif kind in FUNCTIONS:
            pending.append((where, cls))
            where = node
        elif kind is ast.ClassDef:
            pending.append((where, cls))
            cls = node
        pending += children(node)


class _Makers:
    """Looks for what made a value, scope by scope."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree, self._at_top = tree, frozenset[ast.AST](tree.body)
        self._scopes: dict[ast.AST, _Scope] = {}

    def of_arguments(
        self, call: ast.Call, where: ast.AST, cls: ast.ClassDef | None
    ) -> Iterator[tuple[int | str, tuple[Maker, ...]]]:
        """The known arguments of a call, see :attr:`PassedArguments.makers`."""
        scope = self._scope(where, cls)
        given: list[tuple[int | str, ast.expr]] = list(enumerate(takewhile(_is_no_star, call.args)))
        given += [(one.arg, one.value) for one in call.keywords if one.arg is not None]
        for key, argument in given:
            names = self._container(argument, call, where, scope) or self._makers(argument, scope, frozenset())
            if names and len(names) <= MOST_MAKERS:
                yield key, tuple(sorted(names))

    def _container(self, argument: ast.expr, call: ast.Call, where: ast.AST, scope: _Scope) -> frozenset[Maker] | None:
        """A list or a dictionary that a variable or an attribute has, out of which the file takes nothing."""
        name = dotted_name(argument) if isinstance(argument, ast.Name | ast.Attribute) else None
        if name is None:
            return None
        bound, is_own = scope.bound.get(name), name in scope.bound
        if bound is None:
            bound = self._begun(name, scope) if "." in name else self._scope(self._tree, None).bound.get(name)
        kinds = {kind_of_container(one) for one in bound or ()}
        if len(kinds) != 1 or "" in kinds or name in self._emptied:
            return None
        made = [one for one in bound or () if one is not None]
        return frozenset([Maker("", container=kinds.pop(), is_older=not is_own or is_older(call, where, made))])

    def _begun(self, name: str, scope: _Scope) -> list[ast.expr | None]:
        """What ``__init__`` alone assigns to an attribute of the object of a method; nothing where others do, too."""
        assigned = list(self._attributes(name, scope.cls)) if name.partition(".")[0] == scope.own else []
        return [value for value, there in assigned] if all(there.is_initializer for _, there in assigned) else []

    @cached_property
    def _emptied(self) -> frozenset[str]:
        return emptied_names(self._tree)

    def of_receiver(self, call: ast.Call, where: ast.AST, cls: ast.ClassDef | None) -> str:
        """The name of what made the object whose method is called; "" where that is not known, or no argument is."""
        if not isinstance(call.func, ast.Attribute) or not (call.args or call.keywords):
            return ""
        made = self._makers(call.func.value, self._scope(where, cls), frozenset())
        only = next(iter(made)) if made and len(made) == 1 else None
        return only.name if only is not None and only.item < 0 and not (only.in_list or only.given_for) else ""

    def _makers(self, value: ast.expr | None, scope: _Scope, seen: frozenset[str]) -> frozenset[Maker] | None:
        """What may have made ``value``; None where something else may have."""
        if isinstance(value, ast.Constant) and value.value is None:
            return frozenset()
        if isinstance(value, ast.IfExp):
            return _all([self._makers(one, scope, seen) for one in (value.body, value.orelse)])
        if isinstance(value, ast.NamedExpr):
            return self._makers(value.value, scope, seen)
        if isinstance(value, ast.Call):
            return self._made_by(value, scope, seen)
        if isinstance(value, ast.Subscript):
            return self._items(value, scope, seen)
        if isinstance(value, ast.List | ast.Tuple):
            return self._listed(value, scope, seen)
        name = dotted_name(value) if isinstance(value, ast.Name | ast.Attribute) else None
        if name is None or name in seen:
            return None if name is None else frozenset()
        seen |= {name}
        if isinstance(value, ast.Name):
            if scope.cls is not None and name == scope.own and scope.bound[name] == [None]:
                return frozenset([Maker(scope.cls.name)])
            bound = scope.bound.get(name)
            if bound is None:
                scope = self._scope(self._tree, None)
                bound = scope.bound.get(name, [None])
            made = _all([self._makers(one, scope, seen) for one in bound])
            if made is None and scope.called and name in scope.given:
                made = self._handed_on(name, bound, scope, seen)
            made = _evaluated(made, EVALUATES) if name in scope.evaluated else made
            return _frozen(made) if name in scope.frozen else made
        assigned = list(self._attributes(name, scope.cls))
        return _all([self._makers(one, there, seen) for one, there in assigned]) if assigned else None

    def _handed_on(
        self, name: str, bound: list[ast.expr | None], scope: _Scope, seen: frozenset[str]
    ) -> frozenset[Maker] | None:
        """What a function was given for a parameter, be it that it moves that: ``net = net.to(device)``."""
        if _all([self._makers(one, scope, seen) for one in bound[1:]]) != frozenset():
            return None
        return frozenset([Maker(scope.called, given_for=(scope.given.index(name), name))])

    def _listed(self, value: ast.List | ast.Tuple, scope: _Scope, seen: frozenset[str]) -> frozenset[Maker] | None:
        """``[Recorder(), Stopper()]``, also where a variable has the list."""
        made = _all([self._makers(one, scope, seen) for one in value.elts])
        if not made or any(maker.in_list or maker.given_for for maker in made):
            return None
        return frozenset(maker._replace(in_list=True) for maker in made)

    def _items(self, value: ast.Subscript, scope: _Scope, seen: frozenset[str]) -> frozenset[Maker] | None:
        """``loaders(root)[1]``, also where a variable has what was returned."""
        key = value.slice.value if isinstance(value.slice, ast.Constant) else None
        whole = self._makers(value.value, scope, seen) if isinstance(key, int) and key >= 0 else None
        if whole is None or not isinstance(key, int):
            return None
        if any(maker.item >= 0 or maker.in_list or maker.given_for for maker in whole):
            return None
        return frozenset(Maker(maker.name, key) for maker in whole)

    def _made_by(self, call: ast.Call, scope: _Scope, seen: frozenset[str]) -> frozenset[Maker] | None:
        last = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and last in ITSELF:
            made = _evaluated(self._makers(call.func.value, scope, seen), last)
            return _frozen(made) if _freezes(call) else made
        if last in WRAPPERS and call.args:
            return self._makers(call.args[0], scope, seen)
        name = dotted_name(call.func)
        is_local = name is not None and name.partition(".")[0] in scope.bound
        return None if name is None or is_local else frozenset([Maker(name)])

    def _attributes(self, name: str, cls: ast.ClassDef | None) -> Iterator[tuple[ast.expr | None, _Scope]]:
        """What the methods of a class assign to an attribute of ``self``, given by its dotted name."""
        for method in cls.body if cls is not None else ():
            if isinstance(method, FUNCTIONS) and method.args.args:
                own, _, attribute = name.partition(".")
                if own == method.args.args[0].arg and "." not in attribute:
                    scope = self._scope(method, cls)
                    yield from ((value, scope) for value in scope.bound.get(name, ()))

    def _scope(self, where: ast.AST, cls: ast.ClassDef | None) -> _Scope:
        if where not in self._scopes:
            bound: dict[str, list[ast.expr | None]] = {}
            nodes = [node for node in own_nodes(where) if node.__class__ in _READ]
            for name, value in bindings(where, nodes):
                bound.setdefault(name, []).append(value)
            modes = _put_into_evaluation(nodes), _told_to_freeze(nodes)
            own = _own_name(where, cls)
            is_initializer = own is not None and isinstance(where, FUNCTIONS) and where.name == INITIALIZER
            called, given = self._as_called(where, cls, own)
            self._scopes[where] = _Scope(bound, cls, own, is_initializer, *modes, called, given)
        return self._scopes[where]

    def _as_called(self, where: ast.AST, cls: ast.ClassDef | None, own: str | None) -> tuple[str, tuple[str, ...]]:
        """How others call a function at the top level, or a method of a class there, and for which parameters."""
        if not isinstance(where, FUNCTIONS) or where.args.posonlyargs:
            return "", ()
        given = tuple(one.arg for one in where.args.args)
        if where in self._at_top:
            return where.name, given
        if cls is None or own is None or cls not in self._at_top:
            return "", ()
        return (cls.name if where.name == INITIALIZER else f"{cls.name}.{where.name}"), given[1:]


def _evaluated(made: frozenset[Maker] | None, method: str) -> frozenset[Maker] | None:
    """What is made after a method of modules that returns its object: ``eval`` and ``train`` switch its mode."""
    if not made or method not in (EVALUATES, TRAINS):
        return made
    return frozenset(maker._replace(in_evaluation=method == EVALUATES) for maker in made)


def _put_into_evaluation(nodes: list[ast.AST]) -> frozenset[str]:
    """The names on which ``eval()`` is called in a scope, and nowhere ``train()``."""
    called: dict[str, set[str]] = {EVALUATES: set(), TRAINS: set()}
    for node in nodes:
        method = _method(node)
        if method is not None and method.attr in called:
            called[method.attr].add(_name_of_object(method.value))
    return frozenset(called[EVALUATES] - called[TRAINS])


def _frozen(made: frozenset[Maker] | None) -> frozenset[Maker] | None:
    return frozenset(maker._replace(is_frozen=True) for maker in made) if made else made


def _told_to_freeze(nodes: list[ast.AST]) -> frozenset[str]:
    """The names of what ``requires_grad_(False)``, or a loop over its parameters, freezes in a scope."""
    told = [method for node in nodes if (method := _method(node)) and method.attr == FREEZING and _freezes(node)]
    for loop in (node for node in nodes if isinstance(node, ast.For) and any(map(_freezes, ast.walk(node)))):
        # By their names mostly some of them are chosen.
        each = any(_freezes(one.value if isinstance(one, ast.Expr) else one) for one in loop.body)
        listing = ("parameters", "named_parameters") if each else ("parameters",)
        told += [method for node in ast.walk(loop.iter) if (method := _method(node)) and method.attr in listing]
    return frozenset(_name_of_object(method.value) for method in told)


def _method(node: ast.AST) -> ast.Attribute | None:
    """``net.eval`` of ``net.eval()``."""
    return node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def _name_of_object(value: ast.expr) -> str:
    """``net`` of ``net.to(device).eval()``; "" for what has no name."""
    while (method := _method(value)) is not None and method.attr in ITSELF:
        value = method.value
    return dotted_name(value) or ""


def _freezes(node: ast.AST) -> bool:
    """``p.requires_grad_(False)``, ``p.requires_grad = False``"""
    if isinstance(node, ast.Assign):
        is_told, value = any(last_name(one) == "requires_grad" for one in node.targets), node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        is_told, value = node.func.attr == FREEZING, node.args[0]
    else:
        return False
    return is_told and isinstance(value, ast.Constant) and value.value is False


def _own_name(where: ast.AST, cls: ast.ClassDef | None) -> str | None:
    """The name of a method's own object; None for what is no method of an object."""
    if cls is None or where not in cls.body or not isinstance(where, FUNCTIONS) or not where.args.args:
        return None
    is_plain = all(last_name(one) not in ("staticmethod", "classmethod") for one in where.decorator_list)
    return where.args.args[0].arg if is_plain else None


def _is_no_star(argument: ast.expr) -> bool:
    return not isinstance(argument, ast.Starred)


def _all(makers: list[frozenset[Maker] | None]) -> frozenset[Maker] | None:
    known = [names for names in makers if names is not None]
    return frozenset[Maker]().union(*known) if len(known) == len(makers) else None
