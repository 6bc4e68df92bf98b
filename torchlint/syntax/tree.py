"""Walking libcst trees without libcst's own visitors.

A libcst visitor costs as much as parsing; these walks read the fields that can hold code through one precomputed
``attrgetter`` a class and skip white space, punctuation and comments. They are iterative, so depth is no concern.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import libcst as cst

Node = TypeVar("Node", bound=cst.CSTNode)

_PUNCTUATION = (
    "whitespace", "leading_", "lines_after", "lpar", "rpar", "lbrace", "rbrace", "lbracket", "rbracket", "first_colon",
    "second_colon", "header", "footer", "indent", "newline", "trailing", "comma", "semicolon", "equal", "colon", "dot",
    "star", "default_newline", "default_indent", "encoding", "has_trailing", "operator", "start", "end", "prefix",
)  # fmt: skip


_SCALARS = frozenset([type(None), str, bool, int, cst.MaybeSentinel])

_Reader: TypeAlias = "Callable[[Any], list[cst.CSTNode]]"


def reader_of(kind: type[cst.CSTNode]) -> _Reader:
    """What reads :func:`children` from a node of exactly this class, as its fields tell."""
    names = [f.name for f in dataclasses.fields(kind) if not f.name.startswith(_PUNCTUATION)]
    if not names:
        return lambda node: []
    get = attrgetter(*names)
    read_all = get if len(names) > 1 else lambda node: (get(node),)

    def read(node: cst.CSTNode) -> list[cst.CSTNode]:
        found: list[cst.CSTNode] = []
        # libcst's classes are abstract base classes, of which `isinstance` is slow to tell: exact types do as well.
        for value in read_all(node):
            kind = value.__class__
            if kind is tuple or kind is list:
                found.extend(value)
            elif kind not in _SCALARS:
                found.append(value)
        return found

    return read


class _Readers(dict[type[cst.CSTNode], _Reader]):
    def __missing__(self, kind: type[cst.CSTNode]) -> _Reader:
        return self.setdefault(kind, reader_of(kind))


READERS: Mapping[type[cst.CSTNode], _Reader] = _Readers({
    cst.Attribute: lambda node: [node.value, node.attr],
    cst.Call: lambda node: [node.func, *node.args],
    cst.Arg: lambda node: [node.value] if node.keyword is None else [node.value, node.keyword],
    cst.Subscript: lambda node: [node.value, *node.slice],
    cst.Comparison: lambda node: [node.left, *node.comparisons],
    cst.ComparisonTarget: lambda node: [node.comparator],
    cst.UnaryOperation: lambda node: [node.expression],
    cst.Assign: lambda node: [*node.targets, node.value],
    cst.AssignTarget: lambda node: [node.target],
    cst.SubscriptElement: lambda node: [node.slice],
    **dict.fromkeys([cst.Expr, cst.Index, cst.Element], lambda node: [node.value]),
    **dict.fromkeys([cst.BinaryOperation, cst.BooleanOperation], lambda node: [node.left, node.right]),
    **dict.fromkeys([cst.Tuple, cst.List, cst.Dict], lambda node: list(node.elements)),
    **dict.fromkeys([cst.SimpleStatementLine, cst.IndentedBlock], lambda node: list(node.body)),
})  # fmt: skip
"""What reads the children of a node, by its class; four of five nodes are of these, which are spelled out."""


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes of code directly under ``node``, in source order; no white space, punctuation or operators."""
    return READERS[node.__class__](node)


LEAVES = frozenset(
    [cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.Ellipsis, cst.Pass, cst.Break,
     cst.Continue, cst.ImportStar, cst.FormattedStringText]
)  # fmt: skip
"""Nodes with nothing under them: half of a tree is names."""


def walk(node: cst.CSTNode, into: Callable[[cst.CSTNode], bool] | None = None) -> Iterator[cst.CSTNode]:
    """``node`` and all code under it, parents before children, in source order.

    Args:
        node: where to begin.
        into: asked for each node below the first; where it says False the node is yielded but not entered.
    """
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        kind = current.__class__
        if kind not in LEAVES and (into is None or current is node or into(current)):
            pending += READERS[kind](current)[::-1]


def nodes_of(kind: type[Node], under: cst.CSTNode) -> Iterator[Node]:
    """The nodes that :func:`walk` finds of exactly this class: libcst derives none of its classes from another."""
    return (node for node in walk(under) if type(node) is kind)


NEW_SCOPES = frozenset([cst.FunctionDef, cst.Lambda, cst.ClassDef])


def walk_scope(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Like :func:`walk`, but functions, lambdas and classes below ``node`` are yielded and not entered."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        kind = current.__class__
        if kind not in LEAVES and (kind not in NEW_SCOPES or current is node):
            pending += READERS[kind](current)[::-1]


HOLD_STATEMENTS = frozenset(
    [cst.Module, cst.IndentedBlock, cst.FunctionDef, cst.ClassDef, cst.If, cst.Else, cst.Try, cst.TryStar,
     cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally, cst.With, cst.For, cst.While, cst.Match, cst.MatchCase,
     cst.SimpleStatementLine, cst.SimpleStatementSuite]
)  # fmt: skip
"""Nodes under which statements stand."""


def walk_statements(node: cst.CSTNode, *, of_scope: bool = False) -> Iterator[cst.CSTNode]:
    """Like :func:`walk`, but nothing under a simple statement or an expression: a tenth of the nodes.

    With ``of_scope`` functions and classes are not entered either.
    """
    entered = HOLD_STATEMENTS - NEW_SCOPES if of_scope else HOLD_STATEMENTS
    return walk(node, lambda inner: inner.__class__ in entered)


def parents(module: cst.Module) -> dict[cst.CSTNode, cst.CSTNode]:
    """Each node's parent in the whole file, by identity."""
    table: dict[cst.CSTNode, cst.CSTNode] = {}
    pending: list[cst.CSTNode] = [module]
    while pending:
        node = pending.pop()
        for child in READERS[node.__class__](node):
            table[child] = node
            if child.__class__ not in LEAVES:
                pending.append(child)
    return table


def enclosing(
    parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode | None
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """What is around ``node`` in its function, from the inside out, each with its part in which ``node`` stands."""
    while node is not None and (outer := parents.get(node)) is not None and outer.__class__ not in NEW_SCOPES:
        yield outer, node
        node = outer


def whole_loop(parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode) -> cst.CSTNode:
    """A loop, or a function, with all that runs in it: of a comprehension that stands before its ``for``."""
    while isinstance(node, cst.CompFor):
        node = parents[node]
    return node


def branches(
    parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode | None
) -> Iterator[tuple[cst.If, cst.CSTNode]]:
    """The ``if`` statements that decide whether ``node`` runs in its function, each with the branch it stands on."""
    for outer, inner in enclosing(parents, node):
        if isinstance(outer, cst.If) and inner is not outer.test:
            yield outer, inner


def dotted(node: cst.CSTNode | None) -> str | None:
    """``a.b.c`` of a chain of names and attributes, or None for any other expression."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return None
    parts.append(node.value)
    return ".".join(reversed(parts))


def arguments_in_order(
    arguments: tuple[cst.Arg, ...] | Any,
) -> Iterator[tuple[int | str | None, cst.BaseExpression]]:
    """Each argument of a call with its key: a position (from 0), a keyword, or None when it is starred."""
    position = 0
    for argument in arguments:
        if argument.star:
            yield None, argument.value
            position += 1000
        elif argument.keyword is not None:
            yield argument.keyword.value, argument.value
        else:
            yield (position if position < 1000 else None), argument.value
            position += 1
