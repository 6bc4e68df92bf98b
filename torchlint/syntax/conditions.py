"""What is known where a statement runs: the tests around it, and those before it that would have left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from torchlint.syntax.tree import enclosing

__all__ = ["LEAVING", "always_run", "holding", "last_of", "leaves"]

LEAVING = (cst.Return, cst.Raise, cst.Continue, cst.Break)
"""Statements after which the next one does not run."""


def holding(parents: Mapping[cst.CSTNode, cst.CSTNode], node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The conditions that a statement of a function runs under.

    Args:
        parents: of the whole file.
        node: the statement, or what is in it.

    Yields:
        tests without ``and``, ``or`` and ``not``, each with what it was when it was evaluated.
    """
    for outer, inner in enclosing(parents, node):
        if isinstance(outer, cst.If) and inner is not outer.test:
            yield from _parts(outer.test, inner is outer.body)
        elif isinstance(outer, cst.While) and inner is outer.body:
            yield from _parts(outer.test, True)
        elif isinstance(outer, cst.IndentedBlock):
            for earlier in outer.body:
                if earlier is inner:
                    break
                if isinstance(earlier, cst.If):
                    yield from _left_open(earlier)


def _left_open(test: cst.If) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """What holds after an ``if`` one way of which leaves."""
    otherwise = test.orelse
    if leaves(test.body):
        yield from _parts(test.test, False)
        if isinstance(otherwise, cst.If):
            yield from _left_open(otherwise)
    elif isinstance(otherwise, cst.Else) and leaves(otherwise.body):
        yield from _parts(test.test, True)


def _parts(test: cst.BaseExpression, truth: bool) -> Iterator[tuple[cst.BaseExpression, bool]]:
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from _parts(test.expression, not truth)
    elif isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And) is truth:
            yield from _parts(test.left, truth)
            yield from _parts(test.right, truth)
    else:
        yield test, truth


def leaves(block: cst.BaseSuite) -> bool:
    """Whether what follows a block does not run after it."""
    return isinstance(last_of(block), LEAVING)


def last_of(block: cst.CSTNode) -> cst.CSTNode | None:
    """The last small statement of a block, be it on the line of its condition."""
    if isinstance(block, cst.SimpleStatementSuite):
        return block.body[-1]
    if not isinstance(block, cst.IndentedBlock) or not block.body:
        return None
    line = block.body[-1]
    return line.body[-1] if isinstance(line, cst.SimpleStatementLine) else None


def always_run(node: cst.CSTNode) -> set[cst.CSTNode]:
    """The statements of a function, or of a file's body, that run each time, if it is not left before."""
    block = node.body if isinstance(node, cst.FunctionDef | cst.With | cst.Try) else node
    found: set[cst.CSTNode] = set()
    for statement in block.body if isinstance(block, cst.Module | cst.IndentedBlock) else ():
        found.add(statement)
        if isinstance(statement, cst.With | cst.Try):
            found |= always_run(statement)
    return found
