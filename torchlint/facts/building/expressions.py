"""Expressions: each one becomes a value of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import libcst as cst

from torchlint.facts.building.calling import CallBuilder
from torchlint.facts.building.names import BUILTINS, constant_key, named_bounds, path_of
from torchlint.facts.building.narrowing import excluded_by, flags_of
from torchlint.facts.building.packing import name_of_attribute
from torchlint.facts.summaries.parts import PartKind, Shape
from torchlint.facts.values.graph import Class, Function, Loop, Op, Value

OPAQUE = (PartKind.UNKNOWN, PartKind.MADE, PartKind.IMPORTED)
"""Kinds of globals of other files of which their name tells as much."""


class ExpressionBuilder(CallBuilder):
    """Turns expressions into values, in evaluation order."""

    def visit(self, node: cst.CSTNode) -> Value:
        """The value of an expression."""
        handler = self._HANDLERS.get(type(node))
        if handler is None:
            return self.unknown(node)
        return handler(self, node)

    # -- names and paths ------------------------------------------------------------------------------------------

    def _name(self, node: cst.Name) -> Value:
        return self.read(node.value, node)

    def read(self, name: str, node: cst.CSTNode | None) -> Value:
        """The value of a variable: of this function, of one around it, of the module, or built in."""
        known = self.state.variables.get(name)
        if known is not None and known.op is Op.EXTERNAL:
            known = self.state.variables[name] = self._linked(known)
        if known is not None:
            return known
        if name in self.imports and name not in self.names.assigned:
            return self.external(self.imports[name], node)
        place = self.resolve(name)
        if place is not None:
            value = self.make(Op.READ, (), node, name=name, place=place)
            self.state.variables[name] = value
            return value
        if name in BUILTINS and name not in self.names.assigned:
            if name in ("True", "False", "None"):
                return self.make(Op.CONSTANT, (), node, name=name)
            return self.external(f"builtins.{name}", node)
        return self.unknown(node)

    def imported(self, name: str, node: cst.CSTNode) -> Value:
        """What an import binds; the project is asked what it is when it is first used."""
        return self.make(Op.EXTERNAL, (), node, name=self.project.absolute(name))

    def _linked(self, value: Value) -> Value:
        """An imported object, linked in where the project defines it."""
        linked = self.external(value.name, value.syntax)
        return value if linked.op is Op.EXTERNAL and linked.name == value.name else linked

    def external(self, name: str, node: cst.CSTNode | None) -> Value:
        """An imported or built-in object; what the project defines is linked in."""
        linked = None if name.startswith("builtins.") else self.linker.link(name)
        if isinstance(linked, Class):
            return self.make(Op.CLASS, (), node, name=self.project.absolute(name), reference=linked)
        if isinstance(linked, Function):
            return self.make(Op.FUNCTION, (), node, name=self.project.absolute(name), reference=linked)
        if linked and any(part.kind not in OPAQUE for part in linked):
            value = self.make(Op.GIVEN, (), node, name=self.project.absolute(name))
            self.linker.given(name, value)
            return value
        known = self._library_name(linked) if linked else None
        return self.make(Op.EXTERNAL, (), node, name=known or self.project.absolute(name))

    def _library_name(self, shape: Shape) -> str | None:
        """The full name that a library gives to what another file has under a name of its own: ``memo = cache``."""
        if len(shape) != 1 or shape[0].kind is not PartKind.IMPORTED or shape[0].name.startswith("."):
            return None
        return shape[0].name if self.linker.link(shape[0].name) is None else None

    def _attribute(self, node: cst.Attribute) -> Value:
        path = path_of(node)
        if path is not None and (known := self.state.variables.get(path)) is not None:
            return known
        base = self.visit(node.value)
        if base.op is Op.EXTERNAL:
            return self.external(f"{base.name}.{node.attr.value}", node)
        value = self.make(Op.ATTRIBUTE, (base,), node, name=name_of_attribute(base, node.attr.value))
        if path is not None:
            self.state.variables[path] = value
        return value

    def _subscript(self, node: cst.Subscript) -> Value:
        path = path_of(node)
        if path is not None and (known := self.state.variables.get(path)) is not None:
            return known
        own = self.own_item(node)
        if own is not None:
            return own
        base = self.visit(node.value)
        indices = tuple(self.visit(at.slice.value) for at in node.slice if isinstance(at.slice, cst.Index))
        value = self.make(Op.SUBSCRIPT, (base,), node, keys=(constant_key(node),))
        self.graph.indices[value] = indices
        for bound in named_bounds(node):
            self.graph.bounds[bound] = self.visit(bound)
        if path is not None:
            self.state.variables[path] = value
        return value

    # -- operators ------------------------------------------------------------------------------------------------

    def _binary(self, node: cst.BinaryOperation) -> Value:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.operator, cst.BitOr) and (merged := self.merged(left, right)) is not None:
            return merged
        return self.make(Op.OPERATION, (left, right), node, name=type(node.operator).__name__)

    def _unary(self, node: cst.UnaryOperation) -> Value:
        operand = self.visit(node.expression)
        op = Op.COMPARISON if isinstance(node.operator, cst.Not) else Op.OPERATION
        return self.make(op, (operand,), node, name=type(node.operator).__name__)

    def _comparison(self, node: cst.Comparison) -> Value:
        inputs = (self.visit(node.left), *(self.visit(target.comparator) for target in node.comparisons))
        return self.make(Op.COMPARISON, inputs, node)

    def _boolean(self, node: cst.BooleanOperation) -> Value:
        return self.make(Op.PHI, (self.visit(node.left), self.visit(node.right)), node)

    def _conditional(self, node: cst.IfExp, *, is_returned: bool = False) -> Value:
        test, branches = self.visit(node.test), []
        excluded = self.state.excluded
        for branch, holds in ((node.body, True), (node.orelse, False)):
            before = self.narrow(test, holds=holds)
            self.state.excluded = excluded | excluded_by(test, holds=holds)
            branches.append(self.returned(branch) if is_returned else self.visit(branch))
            self.state.variables.update(before)
        self.state.excluded = excluded
        chosen = self.make(Op.PHI, tuple(branches), node)
        self.tests[chosen] = test
        if branches[0] is not branches[1]:
            flags = (flags_of(test, holds=holds) for holds in (True, False))
            self.graph.decided.update({(chosen, b): (f,) for b, f in zip(branches, flags, strict=True) if f})
        return chosen

    def returned(self, node: cst.BaseExpression) -> Value:
        """What an expression gives that a function returns, by what conditions say that it is not."""
        if isinstance(node, cst.IfExp):
            return self._conditional(node, is_returned=True)
        return self.without_excluded(self.visit(node))

    def _named(self, node: cst.NamedExpr) -> Value:
        value = self.visit(node.value)
        self.assign(node.target, value, node.value)
        return value

    def _await(self, node: cst.Await) -> Value:
        return self.visit(node.expression)

    def _yield(self, node: cst.Yield) -> Value:
        if isinstance(node.value, cst.From):
            self.hand_out(self.element(self.visit(node.value.item), None))
        elif node.value is not None:
            self.hand_out(self.visit(node.value))
        return self.unknown(node)

    def _lambda(self, node: cst.Lambda) -> Value:
        return self.define(node)

    # -- comprehensions -------------------------------------------------------------------------------------------

    def _comprehension(self, node: cst.BaseComp) -> Value:
        outside = self.state
        self.state = outside.copy()
        loop = self.loop
        self._clauses(node.for_in)
        if isinstance(node, cst.DictComp):
            self.visit(node.key)
            item = self.visit(node.value)
        else:
            assert isinstance(node, cst.BaseSimpleComp)
            item = self.visit(node.elt)
        self.loop = loop
        self.state = outside
        return self.make(Op.CONTAINER, (item,), node, keys=(None,))

    def _clauses(self, clause: cst.CompFor | None) -> None:
        while clause is not None:
            iterable = self.visit(clause.iter)
            self.loop = self.new_loop(clause, iterable)
            self.assign(clause.target, self.element(iterable, None), None)
            for condition in clause.ifs:
                self.visit(condition.test)
            clause = clause.inner_for_in

    def new_loop(self, node: cst.CSTNode, iterable: Value | None) -> Loop:
        """A loop inside the present one."""
        loop = Loop(node, self.function, self.loop, iterable)
        self.graph.loops.append(loop)
        return loop

    _call, _constant, _string = CallBuilder.called, CallBuilder.constant, CallBuilder.string
    _sequence, _dictionary = CallBuilder.sequence, CallBuilder.dictionary

    _HANDLERS: ClassVar[dict[type[cst.CSTNode], Callable[..., Value]]] = {
        cst.Name: _name, cst.Attribute: _attribute, cst.Subscript: _subscript, cst.Call: _call,
        cst.Integer: _constant, cst.Float: _constant, cst.Imaginary: _constant, cst.SimpleString: _constant,
        cst.Ellipsis: _constant, cst.FormattedString: _string, cst.ConcatenatedString: _string,
        cst.List: _sequence, cst.Tuple: _sequence, cst.Set: _sequence, cst.Dict: _dictionary,
        cst.BinaryOperation: _binary, cst.UnaryOperation: _unary, cst.Comparison: _comparison,
        cst.BooleanOperation: _boolean, cst.IfExp: _conditional, cst.NamedExpr: _named, cst.Await: _await,
        cst.Yield: _yield, cst.Lambda: _lambda, cst.ListComp: _comprehension, cst.SetComp: _comprehension,
        cst.DictComp: _comprehension, cst.GeneratorExp: _comprehension,
    }  # fmt: skip
