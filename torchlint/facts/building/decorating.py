"""What decorators of a project do: they hand on other arguments than they are given, or fill a table of functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from torchlint.facts.building.names import ScopeNames, all_parameters, assigned_in
from torchlint.syntax.tree import walk_scope

CACHES = frozenset(["lru_cache", "cache", "alru_cache"])
"""Last names of decorators that keep what functions return, by their arguments."""


HARMLESS = sys.stdlib_module_names | {"torch"}
"""Packages whose decorators are known."""

ADDING = frozenset(["append", "add"])
"""Methods of lists and sets that take one more."""

REGISTERING = "regist"
"""What stands in the names of decorators that put a function into a table, and leave it as it is."""


def may_replace(name: str) -> bool:
    """Whether a decorator that is not seen, by its full dotted name, may put anything in the place of a function.

    That may be cached, trained on, guarded.
    """
    package, _, rest = name.partition(".")
    return package not in HARMLESS and REGISTERING not in rest.rpartition(".")[2]


def alters_arguments(decorator: cst.FunctionDef) -> bool:
    """Whether what a decorator puts in the place of a function calls that with anything but its own arguments.

    Args:
        decorator: a function with a function in it that calls what the outer one is given, or one that makes such.
    """
    return any(_alters(inner, given) for inner, given in _wrappers(decorator))


def converts_result(decorator: cst.FunctionDef) -> bool:
    """Whether what a decorator puts in the place of a function returns anything but what that returns, or a constant.

    Args:
        decorator: as for :func:`alters_arguments`.
    """
    return any(_converts(inner, given) for inner, given in _wrappers(decorator))


def _wrappers(decorator: cst.FunctionDef) -> Iterator[tuple[cst.FunctionDef, set[str]]]:
    """The functions in a decorator, or in what makes one, each with what the function around it is given."""
    given = {parameter.name.value for parameter in decorator.params.params}
    for inner in decorator.body.body if isinstance(decorator.body, cst.IndentedBlock) else ():
        if isinstance(inner, cst.FunctionDef):
            yield inner, given
            yield from _wrappers(inner)


def makes_cache(decorator: ScopeNames) -> bool:
    """Whether a decorator, or what makes one, applies ``functools.lru_cache`` or its like: who it decorates runs once.

    Args:
        decorator: the names of a function of the project.
    """
    return not CACHES.isdisjoint(decorator.mentioned)


def puts_away(decorator: cst.FunctionDef, *, is_method: bool = False) -> bool:
    """Whether a decorator keeps a function, and gives it back as it is: ``TABLE[name] = f``, ``self.rows.append(f)``.

    Args:
        decorator: a function that does so with what it is given, or one that makes such.
        is_method: whether its own first parameter is the object that keeps it.
    """
    inner = decorator.body.body if isinstance(decorator.body, cst.IndentedBlock) else ()
    own = _files_given(decorator, 1 if is_method else 0)
    return own or any(_files_given(one, 0) for one in inner if isinstance(one, cst.FunctionDef))


def _files_given(decorator: cst.FunctionDef, position: int) -> bool:
    nodes = list(walk_scope(decorator.body))
    given = [one.name.value for one in decorator.params.params[position : position + 1]]
    results = [node.value for node in nodes if isinstance(node, cst.Return)]
    stores = (node for node in nodes if isinstance(node, cst.Assign) and _has(node.value, given))
    tables = (target.target for store in stores for target in store.targets)
    return (
        bool(results)
        and all(_is_named(result, given) for result in results)
        and (any(isinstance(table, cst.Subscript) for table in tables) or any(_adds(node, given) for node in nodes))
    )


def _adds(node: cst.CSTNode, given: list[str]) -> bool:
    """``rows.append(function)``, ``table.setdefault(name, []).append(function)``."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or len(node.args) != 1:
        return False
    return node.func.attr.value in ADDING and _has(node.args[0].value, given)


def _has(node: cst.CSTNode, names: list[str]) -> bool:
    """Whether an expression is one of these names, or a tuple with one of them in it: ``(priority, function)``."""
    return _is_named(node, names) or (
        isinstance(node, cst.Tuple) and any(_is_named(element.value, names) for element in node.elements)
    )


def _is_named(node: cst.CSTNode | None, names: list[str]) -> bool:
    return isinstance(node, cst.Name) and node.value in names


def _alters(wrapper: cst.FunctionDef, given: set[str]) -> bool:
    replaced = [node for node in walk_scope(wrapper.body) if _calls_one_of(node, given)]
    own = {parameter.name.value for parameter in all_parameters(wrapper.params)} - assigned_in(wrapper.body)
    return any(
        not isinstance(argument.value, cst.Name) or argument.value.value not in own
        for call in replaced
        for argument in call.args
    )


def _converts(wrapper: cst.FunctionDef, given: set[str]) -> bool:
    nodes = list(walk_scope(wrapper.body))
    if not any(_calls_one_of(node, given) for node in nodes):
        return False
    given = given | {wrapper.name.value}  # once more, as after an error: with half of the batch
    bound = [(node.targets[0].target, _awaited(node.value)) for node in nodes if isinstance(node, cst.Assign)]
    others = {to.value for to, value in bound if isinstance(to, cst.Name) and not _calls_one_of(value, given)}
    answers = {to.value for to, value in bound if isinstance(to, cst.Name) and _calls_one_of(value, given)} - others
    returned = (_awaited(node.value) for node in nodes if isinstance(node, cst.Return) and node.value is not None)
    results = [value for value in returned if not _is_constant(value)]
    return not all(_calls_one_of(value, given) or _is_named(value, [*answers]) for value in results)


def _calls_one_of(node: cst.CSTNode, names: set[str]) -> TypeGuard[cst.Call]:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in names


def _awaited(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.expression if isinstance(node, cst.Await) else node


def _is_constant(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value in ("None", "True", "False")
