"""Expressions of the standard library's trees as libcst's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import libcst as cst

from torchlint.syntax.bare.nodes import CannotConvert, make_attribute, make_name, maker, operator
from torchlint.syntax.bare.source_text import SourceText
from torchlint.syntax.number_tables import TABLE

make_arg = maker(cst.Arg, "value", "keyword", "star")
_make_annotation = maker(cst.Annotation, "annotation")
_make_element = maker(cst.Element, "value")
_make_starred = maker(cst.StarredElement, "value")
_make_tuple = maker(cst.Tuple, "elements")
_make_list = maker(cst.List, "elements")
_make_set = maker(cst.Set, "elements")
_make_dict = maker(cst.Dict, "elements")
_make_item = maker(cst.DictElement, "key", "value")
_make_spread = maker(cst.StarredDictElement, "value")
_make_call = maker(cst.Call, "func", "args")
_make_subscript = maker(cst.Subscript, "value", "slice")
_make_subscript_element = maker(cst.SubscriptElement, "slice")
_make_index = maker(cst.Index, "value", "star")
_make_slice = maker(cst.Slice, "lower", "upper", "step")
_make_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_make_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_make_unary = maker(cst.UnaryOperation, "operator", "expression")
_make_comparison = maker(cst.Comparison, "left", "comparisons")
_make_target = maker(cst.ComparisonTarget, "operator", "comparator")
_make_conditional = maker(cst.IfExp, "test", "body", "orelse")
_make_lambda = maker(cst.Lambda, "params", "body")
_make_parameters = maker(
    cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params", "posonly_ind"
)
_make_param = maker(cst.Param, "name", "annotation", "default", "star")
_make_named = maker(cst.NamedExpr, "target", "value")
_make_await = maker(cst.Await, "expression")
_make_yield = maker(cst.Yield, "value")
make_from = maker(cst.From, "item")
_make_clause = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_make_condition = maker(cst.CompIf, "test")
_make_dict_comprehension = maker(cst.DictComp, "key", "value", "for_in")
_make_string = maker(cst.SimpleString, "value")
_make_concatenated = maker(cst.ConcatenatedString, "left", "right")
_make_formatted = maker(cst.FormattedString, "parts", "start", "end")
_make_formatted_text = maker(cst.FormattedStringText, "value")
_make_formatted_expression = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
_make_integer = maker(cst.Integer, "value")
_make_float = maker(cst.Float, "value")
_make_imaginary = maker(cst.Imaginary, "value")
_make_ellipsis = maker(cst.Ellipsis)

_COMPREHENSIONS = {
    ast.ListComp: maker(cst.ListComp, "elt", "for_in"),
    ast.SetComp: maker(cst.SetComp, "elt", "for_in"),
    ast.GeneratorExp: maker(cst.GeneratorExp, "elt", "for_in"),
}

ASYNCHRONOUS = maker(cst.Asynchronous)()

_OPERATORS = {
    own: operator(theirs)
    for own, theirs in {
        ast.Add: cst.Add, ast.Sub: cst.Subtract, ast.Mult: cst.Multiply, ast.Div: cst.Divide,
        ast.FloorDiv: cst.FloorDivide, ast.Mod: cst.Modulo, ast.Pow: cst.Power, ast.MatMult: cst.MatrixMultiply,
        ast.LShift: cst.LeftShift, ast.RShift: cst.RightShift, ast.BitAnd: cst.BitAnd, ast.BitOr: cst.BitOr,
        ast.BitXor: cst.BitXor, ast.And: cst.And, ast.Or: cst.Or, ast.Not: cst.Not, ast.USub: cst.Minus,
        ast.UAdd: cst.Plus, ast.Invert: cst.BitInvert, ast.Eq: cst.Equal, ast.NotEq: cst.NotEqual,
        ast.Lt: cst.LessThan, ast.LtE: cst.LessThanEqual, ast.Gt: cst.GreaterThan, ast.GtE: cst.GreaterThanEqual,
        ast.Is: cst.Is, ast.IsNot: cst.IsNot, ast.In: cst.In, ast.NotIn: cst.NotIn,
    }.items()
}  # fmt: skip


class Expressions:
    """Converts expressions.

    Attributes:
        source: their text.
        origins: what was converted, by the id of what it became: libcst's nodes are slow to hash.
    """

    def __init__(self, source: SourceText) -> None:
        """The trees to come are those of ``source``."""
        self.source = source
        self.origins: dict[int, ast.expr] = {}
        self._formatted = 0

    def expression(self, node: ast.expr) -> cst.BaseExpression:
        """An expression.

        Raises:
            CannotConvert: it is of a kind that is not known here.
        """
        handler = self._HANDLERS.get(node.__class__)
        if handler is None:
            raise CannotConvert(node.__class__.__name__)
        converted: cst.BaseExpression = handler(self, node)
        self.origins[id(converted)] = node
        return converted

    def optional(self, node: ast.expr | None) -> cst.BaseExpression | None:
        """An expression, or None."""
        return None if node is None else self.expression(node)

    def annotation(self, node: ast.expr | None) -> cst.Annotation | None:
        """What stands behind a colon or an arrow."""
        return None if node is None else _make_annotation(self.expression(node))

    # -- names and literals ---------------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> cst.Name:
        return make_name(node.id)

    def _attribute(self, node: ast.Attribute) -> cst.Attribute:
        return make_attribute(self.expression(node.value), make_name(node.attr))

    def _constant(self, node: ast.Constant) -> cst.BaseExpression:
        value = node.value
        if isinstance(value, str | bytes):
            string = _make_string(repr(value))
            # Within a formatted string positions are not to be trusted before Python 3.12.
            if self._formatted or self.source.is_one_literal(node):
                return string
            return _make_concatenated(string, string)
        if value is None or value is True or value is False:
            return make_name(repr(value))
        if value is ...:
            return _make_ellipsis()
        if isinstance(value, int):
            return _make_integer(hex(value))  # Python refuses to write very long ones in decimal
        return _make_float(repr(value)) if isinstance(value, float) else _make_imaginary(repr(value))

    def _formatted_string(self, node: ast.JoinedStr) -> cst.BaseExpression:
        is_one = bool(self._formatted) or self.source.is_one_literal(node)
        string = _make_formatted(self._parts(node), 'f"', '"')
        return string if is_one else _make_concatenated(string, _make_string('""'))

    def _parts(self, node: ast.JoinedStr) -> list[cst.BaseFormattedStringContent]:
        self._formatted += 1
        parts: list[cst.BaseFormattedStringContent] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                written = part.format_spec
                spec = self._parts(written) if isinstance(written, ast.JoinedStr) else None
                parts.append(_make_formatted_expression(self.expression(part.value), None, spec))
            elif isinstance(part, ast.Constant):
                parts.append(_make_formatted_text(part.value))
        self._formatted -= 1
        return parts

    def _element(self, node: ast.expr) -> cst.BaseElement:
        if isinstance(node, ast.Starred):
            return _make_starred(self.expression(node.value))
        return _make_element(self.expression(node))

    def elements(self, nodes: Sequence[ast.expr]) -> cst.Tuple:
        """Several expressions as a tuple."""
        return _make_tuple([self._element(node) for node in nodes])

    def _tuple(self, node: ast.Tuple) -> cst.Tuple:
        return self.elements(_telling(node.elts))

    def _list(self, node: ast.List) -> cst.List:
        return _make_list([self._element(one) for one in _telling(node.elts)])

    def _set(self, node: ast.Set) -> cst.Set:
        return _make_set([self._element(one) for one in _telling(node.elts)])

    def _dict(self, node: ast.Dict) -> cst.Dict:
        return _make_dict(
            [
                _make_spread(self.expression(value))
                if key is None
                else _make_item(self.expression(key), self.expression(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
        )

    # -- operations -----------------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> cst.BinaryOperation:
        left = self.expression(node.left)
        return _make_binary(left, _OPERATORS[node.op.__class__], self.expression(node.right))

    def _boolean(self, node: ast.BoolOp) -> cst.BaseExpression:
        operator = _OPERATORS[node.op.__class__]
        result = self.expression(node.values[0])
        for value in node.values[1:]:
            result = _make_boolean(result, operator, self.expression(value))
        return result

    def _unary(self, node: ast.UnaryOp) -> cst.UnaryOperation:
        return _make_unary(_OPERATORS[node.op.__class__], self.expression(node.operand))

    def _compare(self, node: ast.Compare) -> cst.Comparison:
        pairs = zip(node.ops, node.comparators, strict=True)
        left = self.expression(node.left)
        return _make_comparison(left, [_make_target(_OPERATORS[op.__class__], self.expression(to)) for op, to in pairs])

    def _conditional(self, node: ast.IfExp) -> cst.IfExp:
        return _make_conditional(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def _named(self, node: ast.NamedExpr) -> cst.NamedExpr:
        return _make_named(self.expression(node.target), self.expression(node.value))

    def _await(self, node: ast.Await) -> cst.Await:
        return _make_await(self.expression(node.value))

    def _yield(self, node: ast.Yield) -> cst.Yield:
        return _make_yield(self.optional(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> cst.Yield:
        return _make_yield(make_from(self.expression(node.value)))

    # -- calls and items ------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> cst.Call:
        return _make_call(self.expression(node.func), self.arguments(node.args, node.keywords))

    def arguments(self, positional: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> list[cst.Arg]:
        """The arguments of a call in the order in which they are written."""
        made = [self._argument(node) for node in positional]
        if not keywords:
            return made
        named = [
            make_arg(self.expression(k.value), make_name(k.arg) if k.arg is not None else None, "" if k.arg else "**")
            for k in keywords
        ]
        if not positional or _place(positional[-1]) < _place(keywords[0]):
            return made + named
        nodes: list[ast.expr | ast.keyword] = [*positional, *keywords]
        return [arg for _, arg in sorted(zip(map(_place, nodes), made + named, strict=True), key=lambda pair: pair[0])]

    def _argument(self, node: ast.expr) -> cst.Arg:
        if isinstance(node, ast.Starred):
            return make_arg(self.expression(node.value), None, "*")
        return make_arg(self.expression(node), None, "")

    def _subscript(self, node: ast.Subscript) -> cst.Subscript:
        inside = node.slice
        several = isinstance(inside, ast.Tuple) and not self.source.is_in_brackets(inside)
        items = inside.elts if isinstance(inside, ast.Tuple) and several else [inside]
        return _make_subscript(
            self.expression(node.value), [_make_subscript_element(self._slice(item)) for item in items]
        )

    def _slice(self, node: ast.expr) -> cst.BaseSlice:
        if isinstance(node, ast.Slice):
            return _make_slice(self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        if isinstance(node, ast.Starred):
            return _make_index(self.expression(node.value), "*")
        return _make_index(self.expression(node), None)

    # -- functions and comprehensions -----------------------------------------------------------------------------

    def _lambda(self, node: ast.Lambda) -> cst.Lambda:
        return _make_lambda(self.parameters(node.args), self.expression(node.body))

    def parameters(self, node: ast.arguments) -> cst.Parameters:
        """The parameters of a function."""
        plain = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(plain) - len(node.defaults)) + node.defaults
        made = [self._parameter(own, default) for own, default in zip(plain, defaults, strict=True)]
        only = [self._parameter(own, default) for own, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        star: cst.Param | cst.ParamStar | cst.MaybeSentinel = cst.MaybeSentinel.DEFAULT
        if node.vararg is not None:
            star = self._parameter(node.vararg, None, "*")
        elif only:
            star = _BARE_STAR
        rest = self._parameter(node.kwarg, None, "**") if node.kwarg is not None else None
        count = len(node.posonlyargs)
        slash = _SLASH if count else cst.MaybeSentinel.DEFAULT
        return _make_parameters(made[count:], star, only, rest, made[:count], slash)

    def _parameter(self, node: ast.arg, default: ast.expr | None, star: str = "") -> cst.Param:
        return _make_param(make_name(node.arg), self.annotation(node.annotation), self.optional(default), star)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> cst.BaseExpression:
        return _COMPREHENSIONS[node.__class__](self.expression(node.elt), self._clauses(node.generators))

    def _dict_comprehension(self, node: ast.DictComp) -> cst.DictComp:
        return _make_dict_comprehension(
            self.expression(node.key), self.expression(node.value), self._clauses(node.generators)
        )

    def _clauses(self, clauses: Sequence[ast.comprehension]) -> cst.CompFor | None:
        made: cst.CompFor | None = None
        for clause in reversed(clauses):
            conditions = [_make_condition(self.expression(test)) for test in clause.ifs]
            made = _make_clause(
                self.expression(clause.target), self.expression(clause.iter), conditions, made,
                ASYNCHRONOUS if clause.is_async else None,
            )  # fmt: skip
        return made

    _HANDLERS: ClassVar[dict[type[ast.AST], Callable[..., Any]]] = {
        ast.Name: _name, ast.Attribute: _attribute, ast.Constant: _constant, ast.JoinedStr: _formatted_string,
        ast.Tuple: _tuple, ast.List: _list, ast.Set: _set, ast.Dict: _dict, ast.BinOp: _binary, ast.BoolOp: _boolean,
        ast.UnaryOp: _unary, ast.Compare: _compare, ast.IfExp: _conditional, ast.NamedExpr: _named,
        ast.Await: _await, ast.Yield: _yield, ast.YieldFrom: _yield_from, ast.Call: _call,
        ast.Subscript: _subscript, ast.Lambda: _lambda, ast.ListComp: _comprehension, ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension, ast.DictComp: _dict_comprehension,
    }  # fmt: skip


def _telling(elements: list[ast.expr]) -> list[ast.expr]:
    """The elements of a literal; of a table of numbers as many as show that it is one."""
    return elements[: TABLE + 1] if len(elements) > TABLE and all(map(_is_number, elements)) else elements


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and inner.value.__class__ in (int, float)


_BARE_STAR = maker(cst.ParamStar)()
_SLASH = maker(cst.ParamSlash)()


def _place(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset
