"""Filling a bare tree in: what libcst's parser knows of a file is put onto the nodes that are known already.

What was found out of a file hangs on the nodes of its bare tree. Once these have their white space as well, it stays;
on libcst's own nodes all of it would have to be found out anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import libcst as cst

from torchlint.syntax.bare.statements import BareModule
from torchlint.syntax.tree import children, walk

__all__ = ["complete"]

_SHARED = frozenset([cst.Asynchronous, cst.Dot, cst.ImportStar, cst.ParamStar, cst.ParamSlash])
"""Nodes that hold nothing, of which there is one for all bare trees."""

_STRINGS = frozenset([cst.ConcatenatedString, cst.FormattedString, cst.FormattedStringExpression])
"""Nodes of which a bare tree has the expressions, and not the pieces as they are written."""


def complete(bare: cst.Module, parsed: cst.Module) -> bool:
    """Put all that libcst's tree of a text has onto the nodes of the bare tree of the same text.

    Args:
        bare: the bare tree; its nodes stay what they are, and get what they lack.
        parsed: libcst's tree; what has a counterpart in ``bare`` is not to be used afterwards.

    Returns:
        whether it was done: not where the trees differ, since the bare tree has no more than the beginning of a table.
    """
    assert isinstance(bare, BareModule)
    own, theirs = list(_code(bare)), list(_code(parsed))
    if len(own) != len(theirs) or any(a.__class__ is not b.__class__ for a, b in zip(own[1:], theirs[1:], strict=True)):
        return False
    counterparts = {id(other): node for node, other in zip(own, theirs, strict=True)}
    pieces = [piece for node in theirs if node.__class__ in _STRINGS for piece in _pieces(node)]
    for node, other in (*zip(own, theirs, strict=True), *zip(pieces, pieces, strict=True)):
        for name, put in _fields(other.__class__):
            put(node, _with_counterparts(getattr(other, name), counterparts))
    bare.forget_source()
    return True


def _code(module: cst.Module) -> Iterable[cst.CSTNode]:
    """The nodes that a bare tree has for itself, in the order of the walk."""
    pending: list[cst.CSTNode] = [module]
    while pending:
        node = pending.pop()
        if node.__class__ not in _SHARED:
            yield node
            inside = _expressions_in(node) if node.__class__ in _STRINGS else children(node)
            pending += inside[::-1]


def _expressions_in(string: cst.CSTNode) -> list[cst.CSTNode]:
    """The expressions in a string; of one of these what stands in it, and those in its format."""
    if isinstance(string, cst.FormattedStringExpression):
        return [string.expression, *(one for one in string.format_spec or () if one.__class__ in _STRINGS)]
    return [node for node in _pieces(string) if isinstance(node, cst.FormattedStringExpression)]


def _pieces(string: cst.CSTNode) -> list[cst.CSTNode]:
    """What a string is put together of, without the code in its expressions."""
    pieces = list(walk(string, lambda node: not isinstance(node, cst.FormattedStringExpression)))
    return pieces[1:] if not isinstance(string, cst.FormattedStringExpression) else []


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[tuple[str, Callable[[cst.CSTNode, object], None]], ...]:
    """The fields of a class with what sets each: libcst's nodes are frozen."""
    return tuple((each.name, getattr(kind, each.name).__set__) for each in dataclasses.fields(kind))


def _with_counterparts(value: Any, counterparts: dict[int, cst.CSTNode]) -> Any:
    """What a field holds, with the nodes of the bare tree in the place of those of libcst's."""
    if isinstance(value, list | tuple):
        return type(value)([counterparts.get(id(item), item) for item in value])
    return counterparts.get(id(value), value)
