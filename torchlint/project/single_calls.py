"""Calls of what has a name: where each stands, what it is given, and whether it is made once as a program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias

from torchlint.project.bindings import FUNCTIONS
from torchlint.syntax.python_tree import children, last_name

__all__ = ["COMPREHENSIONS", "LOOPS", "Parameter", "PlacedCall", "calls_of"]

MAIN = "main"
"""What a program calls its function that runs once."""

INITIALIZER = "__init__"

LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef, ast.Lambda)

Parameter: TypeAlias = "tuple[int, str]"
"""A parameter, by its position (from 0, the object of a method left out) and its name."""


@dataclass(frozen=True)
class PlacedCall:
    """A call, and where it stands.

    Attributes:
        call: the call itself.
        where: the innermost function, lambda or class around it, or the module.
        owner: the class of which ``where`` is a method.
        loop: the innermost loop of ``where`` around it.
        is_once: whether it runs once as a program does: in a file's body or its ``main``, and in no loop.
        is_outermost: whether ``where`` stands at the file's top level, or is a method of a class that does.
    """

    call: ast.Call
    where: ast.AST
    owner: ast.ClassDef | None
    loop: ast.AST | None
    is_once: bool
    is_outermost: bool

    @property
    def runs_with(self) -> str:
        """The function with each call of which, or the class with each object of which, this call is made once.

        "" where that is not known.
        """
        if self.loop is not None or not self.is_outermost or not isinstance(self.where, FUNCTIONS):
            return ""
        if self.owner is not None:
            return self.owner.name if self.where.name == INITIALIZER else ""
        return self.where.name

    @property
    def itself(self) -> str:
        """What an ``__init__`` calls the object that it makes, "" in any other definition."""
        is_maker = isinstance(self.where, FUNCTIONS) and self.where.name == INITIALIZER
        parameters = self.where.args.args if isinstance(self.where, FUNCTIONS) and is_maker else []
        return parameters[0].arg if parameters else ""

    def given(self, parameter: Parameter) -> ast.expr | None:
        """What is passed for a parameter; None where that is not seen."""
        position, name = parameter
        named = next((one.value for one in self.call.keywords if one.arg == name), None)
        plain = list(takewhile(lambda one: not isinstance(one, ast.Starred), self.call.args))
        return plain[position] if named is None and position < len(plain) else named

    def is_given_itself(self) -> bool:
        """Whether an ``__init__`` gives its object, or what a method of that answers: ``Watch(self.children())``."""
        name = self.itself if self.loop is None else ""
        given = [*self.call.args, *(keyword.value for keyword in self.call.keywords)]
        asked = [one.func.value for one in given if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
        return name != "" and any(isinstance(one, ast.Name) and one.id == name for one in (*given, *asked))

    def handed_on(self, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        """The parameters of the function around that are passed on for ``parameters``; none where one is not."""
        given = [one.id if isinstance(one := self.given(parameter), ast.Name) else "" for parameter in parameters]
        if not isinstance(self.where, FUNCTIONS):
            return ()
        names = [one.arg for one in (*self.where.args.posonlyargs, *self.where.args.args)]
        own = names[1:] if self.owner is not None else names
        return tuple((own.index(name), name) for name in given) if all(name in own for name in given) else ()


def calls_of(tree: ast.Module, name: str) -> Iterator[PlacedCall]:
    """The calls in a file of what has a name, by the last part of what is called."""
    nowhere = PlacedCall(ast.Call(ast.Name(""), [], []), tree, None, None, is_once=True, is_outermost=True)
    pending: list[tuple[ast.AST, PlacedCall]] = [(tree, nowhere)]
    while pending:
        node, place = pending.pop()
        if isinstance(node, ast.Call) and last_name(node.func) == name:
            yield replace(place, call=node)
        if isinstance(node, _DEFINITIONS):
            place = _inside(node, place)
        elif isinstance(node, (*LOOPS, *COMPREHENSIONS)):
            place = replace(place, loop=node, is_once=False)
        pending += [(child, place) for child in children(node)]


def _inside(node: ast.AST, place: PlacedCall) -> PlacedCall:
    """The place in a definition that stands in another place."""
    owner = place.where if isinstance(place.where, ast.ClassDef) else None
    is_main = getattr(node, "name", "") == MAIN
    is_outermost = place.is_outermost and place.loop is None and isinstance(place.where, ast.Module | ast.ClassDef)
    is_class_of_file = owner is None or place.is_outermost
    return PlacedCall(place.call, node, owner, None, place.is_once and is_main, is_outermost and is_class_of_file)
