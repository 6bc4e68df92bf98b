"""Definitions: functions and classes, each with its decorators; their bodies are built after the code around them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import libcst as cst

from torchlint.facts.building.data_classes import (
    TUPLE_MAKERS,
    DataField,
    define_initializer,
    fields_of,
    has_fields,
    is_named_tuple,
    named_tuple,
    replaces_fields,
)
from torchlint.facts.building.decorating import alters_arguments, converts_result, makes_cache, may_replace, puts_away
from torchlint.facts.building.expressions import ExpressionBuilder
from torchlint.facts.building.guards import (
    ENTERING,
    SETTERS,
    SWITCHES,
    WRITTEN,
    may_guard,
    mode_of_argument,
    mode_of_guard,
    switches_off,
    wrapping_mode,
)
from torchlint.facts.building.names import all_parameters, imported_name
from torchlint.facts.building.own_guards import OwnGuards
from torchlint.facts.building.own_items import own_items
from torchlint.facts.building.properties import keep_method
from torchlint.facts.values.graph import Class, Function, Mode, Op, Value
from torchlint.syntax.tree import dotted

DISPATCHING = frozenset(["functools.singledispatch", "functools.singledispatchmethod"])
"""Decorators that choose a function by what it is given: what it returns may be what another one does."""


class DefinitionBuilder(ExpressionBuilder):
    """Makes the functions and classes of a file."""

    @cached_property
    def own_guards(self) -> OwnGuards:
        """The guards that the file defines."""
        return OwnGuards(self.graph.module.syntax, self.imports)

    @abstractmethod
    def run(self, body: cst.BaseSuite) -> None:
        """The statements of a block."""

    def full_name(self, node: cst.CSTNode) -> str | None:
        """The full dotted name of an expression that is reached through an import of the module."""
        return imported_name(self.imports, node)

    def function_defined(self, node: cst.FunctionDef) -> None:
        """A ``def``."""
        value = self.define(node)
        function = value.reference
        if isinstance(function, Function) and not DISPATCHING.isdisjoint(function.decorators):
            self.assign(node.name, self.unknown(node), None)
            return
        if self.cls is not None and isinstance(function, Function):
            keep_method(self.cls, function)
        self.assign(node.name, value, None)

    def define(self, node: cst.FunctionDef | cst.Lambda) -> Value:
        """A FUNCTION value; the body is built after the code around it."""
        is_generator = self.scopes[node].is_generator
        if isinstance(node, cst.FunctionDef):
            is_async = node.asynchronous is not None
            function = Function(node.name.value, node, self.cls, self.function, is_async, is_generator)
            filled = [value for value in self._decorate(function, node) if self._puts_away(value)]
            around = self.cls.syntax if self.cls is not None else None
            function.wraps = wrapping_mode(node, self._mode_written) or self.own_guards.of(node, around)
            function.alters, function.memoises = alters_arguments(node), makes_cache(self.scopes[node])
            function.converts = converts_result(node)
            if self.function.parent is None and switches_off(node, self.full_name):
                self.switching_off.add(f"{self.cls.name}.{function.name}" if self.cls is not None else function.name)
        else:
            filled = []
            function = Function("<lambda>", node, None, self.function, False, is_generator)
        defaults = {p: self.visit(p.default) for p in all_parameters(node.params) if p.default is not None}
        outside = self.function
        self.function = function
        for parameter in all_parameters(node.params):
            inputs = (defaults[parameter],) if parameter in defaults else ()
            position = len(function.parameters)
            value = self.make(Op.PARAMETER, inputs, parameter, name=parameter.name.value, keys=(position,))
            function.parameters.append(value)
        function.result = self.make(Op.PHI, (), None, name="<result>")
        self.function = outside
        self.graph.functions.append(function)
        self.pending.append((function, node))
        value = self.make(Op.FUNCTION, (), node, name=function.name, reference=function)
        for decorator in filled:
            self._register(decorator, value)
        return value

    def _mode_written(self, guard: cst.BaseExpression) -> Mode | None:
        """The grad mode under what is written at a block: a guard of torch, or one of the project, of any file."""
        named = guard.func if isinstance(guard, cst.Call) else guard
        name = self.full_name(named)
        if name in WRITTEN:
            return WRITTEN[name]
        if name is not None:
            linked = self.linker.link(name)
            return Mode.UNKNOWN if linked is None and may_guard(name) else _mode_of(linked)
        return self.own_guards.named((dotted(named) or "").rpartition(".")[2])

    def _decorate(self, function: Function, node: cst.FunctionDef) -> list[Value]:
        """Say what the decorators of a function do to it; gives what they are."""
        decorators = self._decorators(node)
        function.decorators = tuple(name.removeprefix("builtins.") for name, _ in decorators)
        for name, value in decorators:
            self.graph.decorated.append((value, function))
            function.is_altered = function.is_altered or _alters(value)
            function.is_memoised = function.is_memoised or _memoises(value)
            function.is_converted = function.is_converted or _converts(value)
            function.is_replaced = function.is_replaced or _may_replace(name, value) or self._may_train(value)
            if function.is_async:
                continue  # torch's guards wrap a call, and calling an async function runs none of it
            wraps = _wraps(value)
            if wraps is not None:
                function.guard = wraps
            elif name in SETTERS and value.op is Op.CALL:
                function.guard = mode_of_argument(value, Mode.OFF)
            elif name in SWITCHES:
                function.guard = mode_of_guard(value) or SWITCHES[name]
            elif _function_of(value) is None and may_guard(name):
                function.guard = Mode.UNKNOWN
        return [value for _, value in decorators]

    def _may_train(self, decorator: Value) -> bool:
        """Whether a decorator of the project, or what makes one, may run a backward over what a function returns."""
        function, named = _function_of(decorator), decorator.callee if decorator.op is Op.CALL else decorator
        if function is not None and function.is_foreign:
            return self.linker.imports.mention_below("backward")
        defined = (one for one in self.own_guards.defined(named.name) if not isinstance(one, cst.ClassDef))
        return any("backward" in self.scopes[one].mentioned for one in defined)

    def _decorators(self, node: cst.FunctionDef | cst.ClassDef) -> list[tuple[str, Value]]:
        """What decorates a definition, each with its full dotted name, that of what is called if it is a call."""
        values = [self.visit(decorator.decorator) for decorator in node.decorators]
        return [((value.callee if value.op is Op.CALL else value).name, value) for value in values]

    def class_defined(self, node: cst.ClassDef) -> None:
        """A ``class``, with its body."""
        bases, parents, read = [], [], []
        for argument in node.bases:
            value = self.visit(argument.value)
            if value.op is Op.SUBSCRIPT and isinstance(argument.value, cst.Subscript):
                value = value.inputs[0]  # `Trainer[Batch]`: a generic base of a kind
            if value.op is Op.CLASS and isinstance(value.reference, Class):
                parents.append(value.reference)
                named = [value.name] if value.reference.is_foreign else []
                read += named
                bases += named
            else:
                bases.append(value.name if value.op is Op.EXTERNAL else dotted(argument.value) or "")
        decorating = self._decorators(node)
        decorators = tuple(name for name, _ in decorating)
        number = len(self.graph.classes)
        cls = Class(node.name.value, node, number, tuple(bases), tuple(parents), tuple(read), decorators)
        self.graph.classes.append(cls)
        outside, self.cls = self.cls, cls
        before = self.state
        self.state = before.copy()
        self.run(node.body)
        self.state, self.cls = before, outside
        self._initialize(cls, node)
        value = self.make(Op.CLASS, (), node, name=cls.name, reference=cls)
        for _, decorator in decorating:
            self._register(decorator, value)
        self.assign(node.name, value, None)

    def _puts_away(self, decorator: Value) -> bool:
        """Whether a decorator of the file, or what makes one, keeps functions and leaves them as they are.

        A method of that name of any class of the file counts: whose object has it, the fixpoint says.
        """
        named = decorator.callee if decorator.op is Op.CALL else decorator
        if named.op is Op.ATTRIBUTE:
            methods = (cls.methods[named.name] for cls in self.graph.classes if named.name in cls.methods)
            written = [one.syntax for one in methods if not one.is_foreign and not one.is_static]
            return any(isinstance(one, cst.FunctionDef) and puts_away(one, is_method=True) for one in written)
        function = _function_of(decorator)
        syntax = function.syntax if function is not None and not function.is_foreign else None
        return isinstance(syntax, cst.FunctionDef) and puts_away(syntax)

    def _register(self, decorator: Value, defined: Value) -> None:
        """``@register("lstm")`` over a class: a function of the file is called with it, and may put it into a table."""
        named = decorator.callee if decorator.op is Op.CALL else decorator
        if named.op in (Op.FUNCTION, Op.ATTRIBUTE):
            self.make(Op.CALL, (decorator, defined), decorator.syntax, name=decorator.name, keys=(None, 0))

    def _initialize(self, cls: Class, node: cst.ClassDef) -> None:
        """A data class or a named tuple gets its ``__init__``, unless it has one or inherits from what is not seen."""
        if "__new__" in cls.methods and not self.fields.keys().isdisjoint(cls.parents):
            cls.parents = tuple(parent for parent in cls.parents if parent not in self.fields)
            cls.forget_lineage()  # it is given something else than the fields
        if not has_fields(cls):
            self._begin_items(cls, node)
            return
        inherited = (field for parent in cls.parents for field in self.fields.get(parent, ()))
        fields = {field.name: field for field in (*inherited, *fields_of(node, self.full_name))}
        if replaces_fields(node):
            fields = {name: replace(field, is_kept=False) for name, field in fields.items()}
        self._keep_what_is_given(cls, tuple(fields.values()))

    def _begin_items(self, cls: Class, node: cst.ClassDef) -> None:
        """What a class that is a container has begins with its objects, in an ``__init__`` of its own if need be."""
        items = own_items(cls, node)
        if items is None:
            return
        self.fields[cls] = (items,)
        if "__init__" not in cls.methods:
            self._keep_what_is_given(cls, (items,))

    def _keep_what_is_given(self, cls: Class, fields: tuple[DataField, ...]) -> None:
        self.fields[cls] = fields
        cls.methods["__init__"], syntax = define_initializer(self, cls, fields)
        self.pending.append((cls.methods["__init__"], syntax))

    def is_tuple_class(self, named: Value) -> bool:
        """Whether a value is a class of named tuples of this file, by the name under which it is defined."""
        if named.op not in (Op.READ, Op.CLASS):
            return False
        return any(cls.name == named.name and is_named_tuple(cls) for cls in self.fields)

    def operator(self, node: cst.Call, name: str, given: Sequence[Value]) -> Value | None:
        """What a call of an imported function is, also where it makes a class: ``namedtuple("Sums", "loss steps")``."""
        made = named_tuple(node, TUPLE_MAKERS[name], self.statement) if name in TUPLE_MAKERS else None
        if made is None:
            return super().operator(node, name, given)
        called, fields = made
        syntax = cst.ClassDef(cst.Name(called), cst.IndentedBlock([]))
        cls = Class(called, syntax, len(self.graph.classes), ("typing.NamedTuple",))
        self.graph.classes.append(cls)
        self._keep_what_is_given(cls, fields)
        return self.make(Op.CLASS, (), node, name=called, reference=cls)


def _alters(decorator: Value) -> bool:
    """Whether a decorator of the project, or what makes one, decides what is handed to what it decorates."""
    function = _function_of(decorator)
    return function is not None and function.alters


def _memoises(decorator: Value) -> bool:
    """Whether a decorator of the project, or what makes one, keeps what it decorates returns."""
    function = _function_of(decorator)
    return function is not None and function.memoises


def _converts(decorator: Value) -> bool:
    """Whether a decorator of the project, or what makes one, gives callers anything but what the function returns."""
    function = _function_of(decorator)
    return function is not None and function.converts


def _may_replace(name: str, decorator: Value) -> bool:
    """Whether what has this full name and decorates is not seen."""
    made = decorator.callee if decorator.op is Op.CALL else decorator
    return made.op is Op.EXTERNAL and may_replace(name)


def _wraps(decorator: Value) -> Mode | None:
    """The grad mode in which a decorator of the project, or what makes one, runs what it decorates."""
    return entered_mode(decorator) if decorator.op is Op.CALL else _mode_by(decorator)


def entered_mode(manager: Value) -> Mode | None:
    """The grad mode in a block under what a CALL makes: a context manager of the project, or an object that is one."""
    return _mode_by(manager.callee)


def _mode_by(maker: Value) -> Mode | None:
    return _mode_of(maker.reference if isinstance(maker.reference, Class) else _function_of(maker))


def _mode_of(defined: object) -> Mode | None:
    """The grad mode in a block under what a class or a function of the project makes."""
    if isinstance(defined, Class):
        entering = defined.method(ENTERING)
        bases = (SWITCHES[base] for base in defined.all_bases() if base in SWITCHES)
        return next(bases, None) if entering is None else entering.wraps
    if not isinstance(defined, Function):
        return None
    defined.open()
    return defined.wraps


def _function_of(decorator: Value) -> Function | None:
    """The function of the project that decorates, or that makes what does."""
    named = decorator.callee if decorator.op is Op.CALL else decorator
    if not isinstance(named.reference, Function):
        return None
    named.reference.open()
    return named.reference
