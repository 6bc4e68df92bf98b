"""Making libcst's nodes without white space and without libcst's checks, which a tree that Python parsed passes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import libcst as cst

Node = TypeVar("Node", bound=cst.CSTNode)


_Setter: TypeAlias = "Callable[[Any, object], None]"


class CannotConvert(Exception):
    """A tree holds syntax that is left to libcst's own parser: it is rare."""


def maker(kind: type[Node], *fields: str) -> Callable[..., Node]:
    """A function that makes a node of ``kind`` of the values of ``fields``, given in that order; others are not set."""
    # The constructor would make white space for every field that is left out, and check it.
    setters = tuple(getattr(kind, name).__set__ for name in fields)
    of_so_many = _MAKERS.get(len(setters))
    if of_so_many is not None:
        return of_so_many(kind, *setters)

    def make(*values: object) -> Node:
        node = object.__new__(kind)
        for set_value, value in zip(setters, values):  # noqa: B905 -- the check would cost a tenth of the conversion
            set_value(node, value)
        return node

    return make


def _maker_of_one(kind: type[Node], set_value: _Setter) -> Callable[..., Node]:
    """As :func:`maker` for a node with one field, in half the time: a third of a tree is names."""

    def make(value: object) -> Node:
        node = object.__new__(kind)
        set_value(node, value)
        return node

    return make


def _maker_of_two(kind: type[Node], set_first: _Setter, set_second: _Setter) -> Callable[..., Node]:
    """The same for two fields, as attributes, calls and items have."""

    def make(first: object, second: object) -> Node:
        node = object.__new__(kind)
        set_first(node, first)
        set_second(node, second)
        return node

    return make


def _maker_of_three(
    kind: type[Node], set_first: _Setter, set_second: _Setter, set_third: _Setter
) -> Callable[..., Node]:
    """The same for three, as arguments and operations have."""

    def make(first: object, second: object, third: object) -> Node:
        node = object.__new__(kind)
        set_first(node, first)
        set_second(node, second)
        set_third(node, third)
        return node

    return make


_MAKERS: dict[int, Callable[..., Callable[..., Any]]] = {1: _maker_of_one, 2: _maker_of_two, 3: _maker_of_three}


def copier(template: Node, *fields: str) -> Callable[..., Node]:
    """A function that makes nodes like ``template``, white space included, but with other values of ``fields``.

    What is not in ``fields`` is shared with the template.
    """
    kind = type(template)
    set_fields = tuple(getattr(kind, name).__set__ for name in fields)
    shared = [
        (getattr(kind, each.name).__set__, getattr(template, each.name))
        for each in dataclasses.fields(template)
        if each.name not in fields
    ]

    def make(*values: object) -> Node:
        node = object.__new__(kind)
        for set_value, value in shared:
            set_value(node, value)
        for set_value, value in zip(set_fields, values, strict=True):
            set_value(node, value)
        return node

    return make


def operator(kind: Any) -> cst.CSTNode:
    """An operator of the class ``kind``; nobody asks for more than that class, so one of each is enough."""
    made: cst.CSTNode = object.__new__(kind)
    return made


def dotted_name(name: str) -> cst.Name | cst.Attribute:
    """``a.b.c`` as libcst nests it."""
    first, *others = name.split(".")
    node: cst.Name | cst.Attribute = make_name(first)
    for part in others:
        node = make_attribute(node, make_name(part))
    return node


make_name = maker(cst.Name, "value")
make_attribute = maker(cst.Attribute, "value", "attr")
