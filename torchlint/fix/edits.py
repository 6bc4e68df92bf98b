"""The edits that repairs are made of."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from torchlint.rule import Edit

_POSTFIXABLE = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def detach(node: cst.CSTNode) -> Edit:
    """``x`` becomes ``x.detach()``, an operation ``(a * b).detach()``."""
    return Edit(node, _detached)


def _detached(node: cst.CSTNode) -> cst.CSTNode:
    return _called(node, "detach")


def call_method(node: cst.CSTNode, method: str) -> Edit:
    """``x`` becomes ``x.method()``, an operation ``(a * b).method()``."""
    return Edit(node, lambda inner: _called(inner, method))


def _called(node: cst.CSTNode, method: str) -> cst.CSTNode:
    assert isinstance(node, cst.BaseExpression)
    if not isinstance(node, _POSTFIXABLE) and not node.lpar:
        node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(node, cst.Name(method)))


def decorate(function: cst.FunctionDef, decorator: str) -> Edit:
    """``@decorator`` directly above ``def``: below the other decorators, some of which break when it is above them."""

    def build(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.FunctionDef)
        added = cst.Decorator(cst.parse_expression(decorator))
        if node.decorators:
            return node.with_changes(decorators=[*node.decorators, added])
        # Comments above the function stay above it: they belong to its leading lines, which come first.
        return node.with_changes(decorators=[added])

    return Edit(function, build)


def guard_statement(statement: cst.CSTNode, guard: str) -> Edit:
    """A statement stands in a ``with`` block of its own; what was above it stays above."""

    def build(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.SimpleStatementLine)
        inner = node.with_changes(leading_lines=[])
        item = cst.WithItem(cst.parse_expression(guard))
        return cst.With(items=[item], body=cst.IndentedBlock(body=[inner]), leading_lines=node.leading_lines)

    return Edit(statement, build)


def replace(node: cst.CSTNode, build: Callable[[cst.CSTNode], cst.CSTNode]) -> Edit:
    """Any other change of one node."""
    return Edit(node, build)


def add_line(statement: cst.CSTNode, text: str, *, before: bool = False) -> Edit | None:
    """Another statement on the line after (or before) a simple one; None where there is no line of its own for it."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    return put_beside(statement, text, before=before)


def put_beside(statement: cst.CSTNode, text: str, *, before: bool = False) -> Edit:
    """Another statement of the same block behind (or before) one of any kind."""

    def build(node: cst.CSTNode) -> cst.FlattenSentinel[cst.CSTNode]:
        added = cst.parse_statement(text)
        return cst.FlattenSentinel([added, node] if before else [node, added])

    return Edit(statement, build)


def without_argument(call: cst.Call, keyword: str) -> Edit:
    """The call without one of its keyword arguments."""

    def build(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        kept = [arg for arg in node.args if arg.keyword is None or arg.keyword.value != keyword]
        if kept and node.args[-1] is not kept[-1]:
            kept[-1] = kept[-1].with_changes(comma=_closing(kept[-1].comma, node.args[-1].comma))
        return node.with_changes(args=kept)

    return Edit(call, build)


def _closing(
    comma: cst.Comma | cst.MaybeSentinel, last: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    """What stands behind the argument that is the last one now: its own comma where a comment hangs on that."""
    space = comma.whitespace_after if isinstance(comma, cst.Comma) else None
    if not isinstance(comma, cst.Comma) or not isinstance(space, cst.ParenthesizedWhitespace):
        return last
    if space.first_line.comment is None and not any(line.comment for line in space.empty_lines):
        return last
    end = last.whitespace_after if isinstance(last, cst.Comma) else None
    if not isinstance(end, cst.ParenthesizedWhitespace):
        return comma
    lines = [*space.empty_lines, *end.empty_lines]
    return comma.with_changes(whitespace_after=end.with_changes(first_line=space.first_line, empty_lines=lines))


def give_argument(call: cst.Call, keyword: str, value: str) -> Edit:
    """``f(a)`` becomes ``f(a, keyword=value)``; an argument of that name gets the new value."""

    def build(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        given = cst.Arg(cst.parse_expression(value), cst.Name(keyword), equal)
        args = list(node.args)
        for position, argument in enumerate(args):
            if argument.keyword is not None and argument.keyword.value == keyword:
                args[position] = argument.with_changes(value=given.value)
                return node.with_changes(args=args)
        if args and isinstance(args[-1].comma, cst.Comma):
            # A trailing comma stays the last one; the comma before it is written as the others are.
            between = args[-2].comma if len(args) > 1 else cst.Comma(whitespace_after=node.whitespace_before_args)
            given = given.with_changes(comma=args[-1].comma, whitespace_after_arg=args[-1].whitespace_after_arg)
            args[-1] = args[-1].with_changes(comma=between)
        elif args:
            given = given.with_changes(whitespace_after_arg=args[-1].whitespace_after_arg)
            spaced = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
            args[-1] = args[-1].with_changes(comma=spaced, whitespace_after_arg=cst.SimpleWhitespace(""))
        return node.with_changes(args=[*args, given])

    return Edit(call, build)
