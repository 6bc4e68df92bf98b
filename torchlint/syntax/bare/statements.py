"""Statements of the standard library's trees as libcst's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import libcst as cst

from torchlint.syntax.bare.expressions import ASYNCHRONOUS, Expressions, make_from
from torchlint.syntax.bare.nodes import CannotConvert, dotted_name, make_name, maker, operator
from torchlint.syntax.bare.source_text import SourceText

_make_line = maker(cst.SimpleStatementLine, "body")
_make_block = maker(cst.IndentedBlock, "body")
_make_suite = maker(cst.SimpleStatementSuite, "body")
_make_expression = maker(cst.Expr, "value")
_make_assign = maker(cst.Assign, "targets", "value")
_make_target = maker(cst.AssignTarget, "target")
_make_augmented = maker(cst.AugAssign, "target", "operator", "value")
_make_annotated = maker(cst.AnnAssign, "target", "annotation", "value")
_make_return = maker(cst.Return, "value")
_make_raise = maker(cst.Raise, "exc", "cause")
_make_assert = maker(cst.Assert, "test", "msg")
_make_delete = maker(cst.Del, "target")
_make_global = maker(cst.Global, "names")
_make_nonlocal = maker(cst.Nonlocal, "names")
_make_name_item = maker(cst.NameItem, "name")
_make_import = maker(cst.Import, "names")
_make_import_from = maker(cst.ImportFrom, "module", "names", "relative")
_make_alias = maker(cst.ImportAlias, "name", "asname")
_make_as_name = maker(cst.AsName, "name")
_make_if = maker(cst.If, "test", "body", "orelse")
_make_else = maker(cst.Else, "body")
_make_for = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_make_while = maker(cst.While, "test", "body", "orelse")
_make_with = maker(cst.With, "items", "body", "asynchronous")
_make_with_item = maker(cst.WithItem, "item", "asname")
_make_try = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_make_handler = maker(cst.ExceptHandler, "body", "type", "name")
_make_finally = maker(cst.Finally, "body")
_make_function = maker(
    cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous", "type_parameters"
)
_make_class = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators", "type_parameters")
_make_decorator = maker(cst.Decorator, "decorator")

_WORDS = {ast.Pass: maker(cst.Pass), ast.Break: maker(cst.Break), ast.Continue: maker(cst.Continue)}
_DOT = maker(cst.Dot)()
_STAR = maker(cst.ImportStar)()

_AUGMENTING = {
    own: operator(theirs)
    for own, theirs in {
        ast.Add: cst.AddAssign, ast.Sub: cst.SubtractAssign, ast.Mult: cst.MultiplyAssign, ast.Div: cst.DivideAssign,
        ast.FloorDiv: cst.FloorDivideAssign, ast.Mod: cst.ModuloAssign, ast.Pow: cst.PowerAssign,
        ast.MatMult: cst.MatrixMultiplyAssign, ast.LShift: cst.LeftShiftAssign, ast.RShift: cst.RightShiftAssign,
        ast.BitAnd: cst.BitAndAssign, ast.BitOr: cst.BitOrAssign, ast.BitXor: cst.BitXorAssign,
    }.items()
}  # fmt: skip


class BareModule(cst.Module):
    """A file whose nodes have no text of their own: it is read from the file's."""

    _source: SourceText
    _origins: dict[int, ast.expr]

    def code_for_node(self, node: cst.CSTNode) -> str:
        """The source of an expression, without brackets around it; AttributeError for other nodes of a bare tree."""
        origin = self._origins.get(id(node))
        return super().code_for_node(node) if origin is None else self._source.code(origin)

    def forget_source(self) -> None:
        """From now on the nodes have their own text: white space has been put onto them."""
        self._origins.clear()


_make_module = maker(BareModule, "body", "encoding", "default_indent", "default_newline", "has_trailing_newline")


def bare_module(text: str, tree: ast.Module) -> BareModule | None:
    """The bare tree of a text.

    Args:
        text: the text.
        tree: its tree by ``ast``.

    Returns:
        the tree; None for syntax that is left to libcst's parser.
    """
    source = SourceText(text)
    statements = _Statements(source)
    try:
        body = statements.lines(tree.body)
    except CannotConvert:
        return None
    module = _make_module(body, "utf-8", "    ", "\n", True)
    object.__setattr__(module, "_source", source)  # libcst's nodes are frozen
    object.__setattr__(module, "_origins", statements.origins)
    return module


class _Statements(Expressions):
    def lines(self, nodes: Sequence[ast.stmt]) -> list[cst.BaseStatement]:
        """Statements, those that stand on one line together."""
        made: list[cst.BaseStatement] = []
        small: list[cst.BaseSmallStatement] = []
        for node in nodes:
            compound = self._COMPOUND.get(node.__class__)
            if compound is not None:
                made.append(compound(self, node))
            elif made and small and not self.source.begins_line(node):
                small.append(self._small(node))
            else:
                small = [self._small(node)]
                made.append(_make_line(small))
        return made

    def _small(self, node: ast.stmt) -> cst.BaseSmallStatement:
        handler = self._SMALL.get(node.__class__)
        if handler is None:
            raise CannotConvert(node.__class__.__name__)
        converted: cst.BaseSmallStatement = handler(self, node)
        return converted

    def _body(self, nodes: Sequence[ast.stmt]) -> cst.BaseSuite:
        if nodes[0].__class__ in self._COMPOUND or self.source.begins_line(nodes[0]):
            return _make_block(self.lines(nodes))
        return _make_suite([self._small(node) for node in nodes])  # `if done: return`

    # -- simple statements ----------------------------------------------------------------------------------------

    def _expression_statement(self, node: ast.Expr) -> cst.Expr:
        return _make_expression(self.expression(node.value))

    def _assign(self, node: ast.Assign) -> cst.Assign:
        targets = [_make_target(self.expression(target)) for target in node.targets]
        return _make_assign(targets, self.expression(node.value))

    def _augmented(self, node: ast.AugAssign) -> cst.AugAssign:
        target = self.expression(node.target)
        return _make_augmented(target, _AUGMENTING[node.op.__class__], self.expression(node.value))

    def _annotated(self, node: ast.AnnAssign) -> cst.AnnAssign:
        target = self.expression(node.target)
        return _make_annotated(target, self.annotation(node.annotation), self.optional(node.value))

    def _return(self, node: ast.Return) -> cst.Return:
        return _make_return(self.optional(node.value))

    def _raise(self, node: ast.Raise) -> cst.Raise:
        cause = make_from(self.expression(node.cause)) if node.cause is not None else None
        return _make_raise(self.optional(node.exc), cause)

    def _assert(self, node: ast.Assert) -> cst.Assert:
        return _make_assert(self.expression(node.test), self.optional(node.msg))

    def _delete(self, node: ast.Delete) -> cst.Del:
        one = len(node.targets) == 1
        return _make_delete(self.expression(node.targets[0]) if one else self.elements(node.targets))

    def _word(self, node: ast.stmt) -> cst.BaseSmallStatement:
        return _WORDS[node.__class__]()

    def _global(self, node: ast.Global) -> cst.Global:
        return _make_global([_make_name_item(make_name(name)) for name in node.names])

    def _nonlocal(self, node: ast.Nonlocal) -> cst.Nonlocal:
        return _make_nonlocal([_make_name_item(make_name(name)) for name in node.names])

    def _import(self, node: ast.Import) -> cst.Import:
        return _make_import([_alias(alias) for alias in node.names])

    def _import_from(self, node: ast.ImportFrom) -> cst.ImportFrom:
        names = _STAR if node.names[0].name == "*" else [_alias(alias) for alias in node.names]
        return _make_import_from(dotted_name(node.module) if node.module else None, names, [_DOT] * node.level)

    # -- compound statements --------------------------------------------------------------------------------------

    def _if(self, node: ast.If) -> cst.If:
        following = node.orelse
        orelse: cst.If | cst.Else | None
        if len(following) == 1 and isinstance(following[0], ast.If) and self.source.is_elif(following[0]):
            orelse = self._if(following[0])
        else:
            orelse = self._else(following)
        return _make_if(self.expression(node.test), self._body(node.body), orelse)

    def _else(self, nodes: Sequence[ast.stmt]) -> cst.Else | None:
        return _make_else(self._body(nodes)) if nodes else None

    def _for(self, node: ast.For | ast.AsyncFor) -> cst.For:
        asynchronous = ASYNCHRONOUS if isinstance(node, ast.AsyncFor) else None
        target, iterable = self.expression(node.target), self.expression(node.iter)
        return _make_for(target, iterable, self._body(node.body), self._else(node.orelse), asynchronous)

    def _while(self, node: ast.While) -> cst.While:
        return _make_while(self.expression(node.test), self._body(node.body), self._else(node.orelse))

    def _with(self, node: ast.With | ast.AsyncWith) -> cst.With:
        items = [
            _make_with_item(self.expression(item.context_expr), self._as_name(item.optional_vars))
            for item in node.items
        ]
        return _make_with(items, self._body(node.body), ASYNCHRONOUS if isinstance(node, ast.AsyncWith) else None)

    def _as_name(self, node: ast.expr | None) -> cst.AsName | None:
        return None if node is None else _make_as_name(self.expression(node))

    def _try(self, node: ast.Try) -> cst.Try:
        handlers = [
            _make_handler(
                self._body(handler.body),
                self.optional(handler.type),
                _make_as_name(make_name(handler.name)) if handler.name is not None else None,
            )
            for handler in node.handlers
        ]
        last = _make_finally(self._body(node.finalbody)) if node.finalbody else None
        return _make_try(self._body(node.body), handlers, self._else(node.orelse), last)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> cst.FunctionDef:
        _refuse_type_parameters(node)
        return _make_function(
            make_name(node.name), self.parameters(node.args), self._body(node.body), self._decorators(node),
            self.annotation(node.returns), ASYNCHRONOUS if isinstance(node, ast.AsyncFunctionDef) else None, None,
        )  # fmt: skip

    def _class(self, node: ast.ClassDef) -> cst.ClassDef:
        _refuse_type_parameters(node)
        arguments = self.arguments(node.bases, node.keywords)
        bases = [argument for argument in arguments if argument.keyword is None and argument.star != "**"]
        keywords = [argument for argument in arguments if argument not in bases]
        return _make_class(
            make_name(node.name), self._body(node.body), bases, keywords, self._decorators(node), None
        )  # fmt: skip

    def _decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[cst.Decorator]:
        return [_make_decorator(self.expression(decorator)) for decorator in node.decorator_list]

    def _left_to_libcst(self, node: ast.stmt) -> cst.BaseStatement:
        raise CannotConvert(node.__class__.__name__)

    _SMALL: ClassVar[dict[type[ast.AST], Callable[..., Any]]] = {
        ast.Expr: _expression_statement, ast.Assign: _assign, ast.AugAssign: _augmented, ast.AnnAssign: _annotated,
        ast.Return: _return, ast.Raise: _raise, ast.Assert: _assert, ast.Delete: _delete, ast.Pass: _word,
        ast.Break: _word, ast.Continue: _word, ast.Global: _global, ast.Nonlocal: _nonlocal, ast.Import: _import,
        ast.ImportFrom: _import_from,
    }  # fmt: skip
    _COMPOUND: ClassVar[dict[type[ast.AST], Callable[..., Any]]] = {
        ast.If: _if, ast.For: _for, ast.AsyncFor: _for, ast.While: _while, ast.With: _with, ast.AsyncWith: _with,
        ast.Try: _try, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class,
        ast.Match: _left_to_libcst,
    }  # fmt: skip


def _alias(alias: ast.alias) -> cst.ImportAlias:
    asname = _make_as_name(make_name(alias.asname)) if alias.asname is not None else None
    return _make_alias(dotted_name(alias.name), asname)


def _refuse_type_parameters(node: ast.stmt) -> None:
    if getattr(node, "type_params", None):
        raise CannotConvert("type parameters")
