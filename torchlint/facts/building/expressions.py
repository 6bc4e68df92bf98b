"""Expressions: each one becomes a value of the graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import libcst as cst

from torchlint.facts.building.filling import is_taken_from_queue
from torchlint.facts.building.guards import is_setter, mode_of_argument
from torchlint.facts.building.iteration import COUNTING
from torchlint.facts.building.names import (
    BUILTINS,
    changes_receiver,
    constant_key,
    constant_of,
    named_bounds,
    path_of,
)
from torchlint.facts.building.narrowing import excluded_by, flags_of
from torchlint.facts.building.packing import name_of_attribute
from torchlint.facts.building.running import run_by
from torchlint.facts.building.spreading import SpreadBuilder
from torchlint.facts.summaries.parts import PartKind, Shape
from torchlint.facts.values.graph import Class, Function, Key, Kind, Loop, Mode, Op, Reset, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.frameworks import Holds, method_names
from torchlint.syntax.filling_names import INSERTING
from torchlint.syntax.tree import arguments_in_order

EMPTYING = frozenset(["clear", "pop", "popleft", "popitem", "get_nowait"])
"""Methods that take something out of their receiver."""

OPAQUE = (PartKind.UNKNOWN, PartKind.MADE, PartKind.IMPORTED)
"""Kinds of globals of other files of which their name tells as much."""

GRADIENT_FUNCTIONS = {
    "torch.autograd.grad": 0,
    "torch.autograd.backward": 0,
    "torch.Tensor.backward": 0,
    "torch.distributed.autograd.backward": 1,
}
"""Functions that run a backward, and the position of what they start from."""


class ExpressionBuilder(SpreadBuilder):
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

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: cst.Call) -> Value:
        own = self.of_dictionary(node) or self.set_by_method(node)
        if own is not None:
            return own
        callee = self.visit(node.func)
        inputs: list[Value] = [callee]
        keys: list[Key] = [None]
        further: list[tuple[Key, Value]] = []
        for argument, (key, expression) in zip(node.args, arguments_in_order(node.args), strict=True):
            given: list[tuple[Key, Value]] = [(key, self.visit(expression))]
            if argument.star == "**" and callee.name not in INSERTING:
                given = self.spread_arguments(expression, given[0][1]) or given
            elif argument.star == "*" and callee.op is not Op.EXTERNAL:
                self.make_items(given[0][1])
            # The first stands where the star is written, the others behind: what is written keeps its position.
            keys.append(given[0][0])
            inputs.append(given[0][1])
            further += given[1:]
        inputs += [value for _, value in further]
        keys += [key for key, _ in further]
        if callee.op is Op.EXTERNAL and callee.name in COUNTING:
            inputs, keys = self.counting(inputs, keys)
        inputs, keys = run_by(inputs, keys)
        callee = inputs[0]
        if callee.op is Op.EXTERNAL and (done := self.operator(node, callee.name, inputs[1:])) is not None:
            return done
        if callee.op is Op.ATTRIBUTE and callee.name == "_replace" and isinstance(node.func, cst.Attribute):
            return self.renewed(callee.inputs[0], node.func.value, zip(node.args, inputs[1:], strict=False))
        if callee.op is Op.ATTRIBUTE and callee.name == "_make" and self.is_tuple_class(callee.inputs[0]):
            callee = inputs[0] = callee.inputs[0]  # `Sums._make(values)` is `Sums(*values)`
            keys = [None] * len(inputs)
        call = self.make(Op.CALL, tuple(inputs), node, keys=tuple(keys), name=callee.name)
        call.evaluating = self._is_evaluating(call)
        if callee.op is Op.EXTERNAL and callee.name == "collections.defaultdict":
            self.make_default(call)
        if callee.op is Op.ATTRIBUTE and isinstance(node.func, cst.Attribute):
            self._method_call(node, node.func, call)
        elif callee.op is Op.EXTERNAL and callee.name in GRADIENT_FUNCTIONS:
            self.run_gradients(call, GRADIENT_FUNCTIONS[callee.name])
        elif callee.op is Op.ATTRIBUTE and isinstance(callee.syntax, cst.Attribute) and callee.name in INSERTING:
            self.insert(node, callee.syntax, call)  # `put = kept.append; put(x)`
        elif callee.op is Op.ATTRIBUTE and callee.name == "backward":
            self.run_backward(call, callee.inputs[0])  # `differentiate = loss.backward; differentiate()`
        self._forget_what_it_changes(call)
        self.set_by_keywords(node, call)
        call.is_bare = self.is_bare(node)
        if call.is_bare and is_setter(call):
            self.state.mode = mode_of_argument(call, default=self.state.mode)
        elif self.switching_off and self._switches_off(callee):
            self.state.mode = Mode.OFF
        return call

    @abstractmethod
    def is_tuple_class(self, named: Value) -> bool:
        """Whether a value is a class of named tuples."""

    @abstractmethod
    def mode_inside(self, manager: Value) -> Mode | None:
        """The grad mode in a block under a context manager; None where that leaves it alone."""

    def _switches_off(self, callee: Value) -> bool:
        """Whether what is called, a function of this file or a method of this object, switches gradients off."""
        owner = self.function.owner
        if callee.op is Op.ATTRIBUTE and owner is not None and callee.inputs[0] in self.function.parameters[:1]:
            return f"{owner.name}.{callee.name}" in self.switching_off
        return callee.op in (Op.READ, Op.FUNCTION) and callee.name in self.switching_off

    def _forget_what_it_changes(self, call: Value) -> None:
        """A method, a function of this file or one inside this one, also as an argument, may set variables anew.

        So may an object that runs one set its attributes.
        """
        callee = call.callee
        if callee.op is Op.READ:
            self.state.forget_all(self.declared_global)
        if callee.op is Op.EXTERNAL:
            settings = self.resetting.by_library(callee.name)
        else:
            is_own = callee.op is not Op.ATTRIBUTE or callee.inputs[0] in self.function.parameters[:1]
            settings = self.resetting.by(callee.name, is_own=is_own)
        self.forget_settings(settings)
        for named in call.inputs if self.names.rebound else ():
            scope = self.scopes.get(named.reference.syntax) if named.reference is not None else None
            if named.op is Op.FUNCTION and scope is not None:  # one of another file binds nothing here
                self.state.forget_all(self.names.rebound & scope.declared)

    def _is_evaluating(self, call: Value) -> bool:
        """Whether the called object, the object that has the method, or an argument was put into evaluation mode."""
        marked = self.state.evaluating
        if not marked:
            return False
        seen = call.callee
        while True:
            if seen in marked:
                return True
            if seen.op is Op.ATTRIBUTE or seen.op is Op.SUBSCRIPT or seen.op is Op.ELEMENT:
                seen = seen.inputs[0]
            elif seen.op is Op.CALL and seen.callee.op is Op.ATTRIBUTE and seen.callee.name in SAME_OBJECT:
                seen = seen.callee.inputs[0]  # `net = Net().eval().to(device)`
            else:
                break
        path = path_of(call.syntax.func) if isinstance(call.syntax, cst.Call) else None
        owner = (path or "").rpartition(".")[0]
        paths = [mark for mark in marked if isinstance(mark, str)]
        if path in paths or (owner and any(mark.startswith(f"{owner}.") for mark in paths)):
            return True
        return any(argument in marked for argument in call.arguments)

    def _method_call(self, node: cst.Call, function: cst.Attribute, call: Value) -> None:
        """What a method does to its receiver."""
        name, receiver = function.attr.value, call.callee.inputs[0]
        if name in ("eval", "train"):
            self._switch(name, function.value, receiver, call)
        elif name == "enter_context" and call.arguments:
            self.state.mode = self.mode_inside(call.arguments[0]) or self.state.mode
        elif name == "__enter__":
            self.state.mode = self.mode_inside(receiver) or self.state.mode
        elif name == "backward" or name in method_names(Holds.BACKWARD, distinctive=True):
            self.run_backward(call, receiver)
        elif name in ("register_buffer", "register_parameter"):
            self._register_on_module(node, receiver, call, is_buffer=name == "register_buffer")
        elif name in method_names(Holds.REGISTERS, distinctive=True):
            self._set_attributes(node, receiver, call)
        elif name in INSERTING and call.arguments:
            self.insert(node, function, call)
        elif name in EMPTYING or (name == "get" and is_taken_from_queue(node)):
            self._empty(receiver, is_item=name.startswith(("pop", "get")), is_used=not self.is_bare(node))
        elif changes_receiver(name):
            added = call.arguments[0] if call.arguments else None
            self.update(function.value, call, added, node.args[0].value if node.args else None)

    def _empty(self, receiver: Value, *, is_item: bool, is_used: bool) -> None:
        """``rows.clear()``, and ``for one in (rows, sums): one.clear()``, which empties all that is written there."""
        emptied, loop = [receiver], self.loop
        if loop is not None and receiver.op is Op.ELEMENT and receiver.inputs[0] is loop.iterable:
            if isinstance(receiver.inputs[0].syntax, cst.Tuple | cst.List):
                emptied, loop = list(receiver.inputs[0].inputs), loop.parent
        is_thrown_away = is_item and not is_used
        self.graph.resets += [Reset(one, self.function, loop, is_item, is_thrown_away) for one in emptied]

    def _switch(self, name: str, syntax: cst.CSTNode, receiver: Value, call: Value) -> None:
        first = call.argument(0, "mode")
        if name == "eval" and call.arguments:
            return
        evaluates = name == "eval" or (first is not None and first.op is Op.CONSTANT and first.name == "False")
        marks: set[Value | str] = {receiver, call}
        written: cst.CSTNode = syntax
        while receiver.op is Op.CALL and receiver.callee.op is Op.ATTRIBUTE and receiver.callee.name in SAME_OBJECT:
            if not isinstance(written, cst.Call) or not isinstance(written.func, cst.Attribute):
                break
            receiver, written = receiver.callee.inputs[0], written.func.value  # `net.to(device).eval()`
            marks.add(receiver)
        path = path_of(written)
        if path is not None:
            marks.add(path)
        current = self.state.evaluating
        self.state.evaluating = current | marks if evaluates else current - marks

    def _register_on_module(self, node: cst.Call, receiver: Value, call: Value, *, is_buffer: bool) -> None:
        """``self.register_parameter("scale", nn.Parameter(start))``: a module has it as the attribute of that name."""
        written = {
            one.keyword.value if one.keyword else at: one.value for at, one in enumerate(node.args) if not one.star
        }
        given = dict(zip(call.keys[1:], call.arguments, strict=True))
        named = next((written[key] for key in (0, "name") if key in written), None)
        kept = next((key for key in (1, "tensor", "param", "parameter") if key in written and key in given), None)
        name = constant_of(named) if named is not None else None
        if isinstance(name, str) and kept is not None:
            if is_buffer:
                self.graph.buffers.append((receiver, name))
            self.keep(Kind.ASSIGN, given[kept], written[kept], holder=receiver, attribute=name)

    def _set_attributes(self, node: cst.Call, receiver: Value, call: Value) -> None:
        """``self.register_modules(unet=unet)``: an object keeps each argument as the attribute of its name."""
        for key, value, argument in zip(call.keys[1:], call.arguments, node.args, strict=True):
            if isinstance(key, str):
                self.keep(Kind.ASSIGN, value, argument.value, holder=receiver, attribute=key)

    def is_bare(self, node: cst.Call) -> bool:
        """True when the call is a statement of its own."""
        statement = self.statement
        return type(statement) is cst.SimpleStatementLine and any(
            type(small) is cst.Expr and small.value is node for small in statement.body
        )

    _constant, _string = SpreadBuilder.constant, SpreadBuilder.string
    _sequence, _dictionary = SpreadBuilder.sequence, SpreadBuilder.dictionary

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
