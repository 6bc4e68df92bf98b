"""What is a tensor, and what holds tensors: by what made a value, by its annotation, or by what is done with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import (
    PLAIN,
    Carrier,
    Container,
    Instance,
    Tensor,
    Tool,
    sorted_values,
)
from torchlint.facts.values.externals import OF_PYTHON
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Class, Function, Mode, Op, Value
from torchlint.facts.values.returned_items import is_part_of_several, items_at, kept_in_field
from torchlint.facts.values.torch_calls import by_type
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts.turns.steps import Steps
    from torchlint.facts.values.solve import Solution

_NUMBERS = (torch_api.Returns.NUMBER, torch_api.Returns.LIST, torch_api.Returns.ARRAY, torch_api.Returns.NOTHING)

PARTS = (Op.ELEMENT, Op.SUBSCRIPT, Op.ATTRIBUTE)
"""How one of several tensors is taken."""

_PLAIN = frozenset(["int", "float", "bool", "str"])

COLLECTIVES = frozenset(
    f"torch.distributed.{name}" for name in ("all_reduce", "broadcast", "isend", "irecv", "recv", "reduce", "send")
)
"""Functions that send a tensor, their first argument, to other processes or fetch one."""


class Tensors:
    """Says of the values of a file whether they are, or hold, tensors."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Read what the solver found."""
        self.solution = solution
        self.steps = steps
        self._known: dict[Value, bool] = {}
        self._known_to_hold: dict[Value, bool] = {}

    def is_tensor(self, value: Value) -> bool:
        """Whether there is evidence that ``value`` is a tensor."""
        return _searched(value, self._is_tensor, self._known)

    def _is_tensor(self, value: Value, seen: set[Value]) -> bool:
        if value in seen or value in self._known:
            return self._known.get(value, False)
        seen.add(value)
        if self.solution.may_be(value, Tensor | Carrier) and self._is_evident(value):
            return True
        if value.op is Op.PHI:
            return any(self._is_tensor(choice, seen) for choice in value.inputs)
        if value.op is Op.READ and value.place is not None:
            return any(self._is_tensor(stored, seen) for stored in self.solution.stored.get(value.place, ()))
        if value.op is Op.PARAMETER:
            if self._is_annotated(value) or any(self._is_tensor(a, seen) for a in self.given(value)):
                return True
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT) and not _is_text(value):
            if any(self._is_tensor(one, seen) for one in [value.inputs[0], *items_at(self.solution, value)]):
                return True
        if value.op is Op.ATTRIBUTE and any(self._is_tensor(o, seen) for o in kept_in_field(self.solution, value)):
            return True
        if value.op in PARTS and is_part_of_several(self.solution, value):
            callee = value.inputs[0].callee
            if callee.op is Op.EXTERNAL or self._is_tensor(callee.inputs[0], seen):
                return True
        if value.op is Op.OPERATION and any(self._is_tensor(operand, seen) for operand in value.inputs):
            return True
        if value.op is Op.CALL and self._is_made_by_tensor(value, seen):
            return True
        return self._is_used_as_tensor(value, seen)

    def _is_evident(self, value: Value) -> bool:
        """Whether the alternative "tensor without a graph" says something: under ``no_grad`` any operation has it."""
        if value.mode is not Mode.OFF or value.op in (Op.PHI, Op.READ, Op.PARAMETER):
            return True
        if value.op is Op.CALL:
            return value.callee.op is not Op.ATTRIBUTE or value.callee.name not in OF_PYTHON
        known = (Container, Tensor, Tool)
        sources = [
            one
            for one in value.inputs[:1]
            if one.op is not Op.CALL or self._is_evident(one) or self.is_tensor(one.callee.inputs[0])
        ]  # `text.split()` gives words, and under a guard they look like tensors
        return value.op is not Op.OPERATION and any(
            isinstance(atom, known) for source in sources for atom in self.solution.final(source)
        )

    def given(self, parameter: Value) -> list[Value]:
        """What calls in this file pass for ``parameter``, through a decorator of the file as well."""
        inner = parameter.function
        direct = self.solution.arguments_of(parameter)
        if direct:
            return direct
        decorated = self._decorated_by.get(inner.parent, []) if inner.parent is not None else []
        position = inner.parameters.index(parameter)
        found: list[Value] = []
        for function in decorated:
            if position < len(function.parameters):
                found += self.solution.arguments_of(function.parameters[position])
        return found

    @cached_property
    def _decorated_by(self) -> dict[Function, list[Function]]:
        """For each function of the file that is used as a decorator, what it decorates."""
        named = {v.name: v.reference for v in self.solution.graph.of(Op.FUNCTION)}
        found: dict[Function, list[Function]] = {}
        for function in self.solution.graph.functions:
            for name in function.decorators:
                decorator = named.get(name)
                if isinstance(decorator, Function):
                    found.setdefault(decorator, []).append(function)
        return found

    def _is_annotated(self, parameter: Value) -> bool:
        """``x: torch.Tensor``, also behind ``Optional``; a union with something else says too little."""
        syntax = parameter.syntax
        if not isinstance(syntax, cst.Param) or syntax.annotation is None:
            return False
        return _is_of_tensor(syntax.annotation.annotation)

    def _is_made_by_tensor(self, call: Value, seen: set[Value]) -> bool:
        """Whether a method of a tensor gives another one, ``x.to(device)``, or a function or a method of the file."""
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            operation = torch_api.function(callee.name)
            return operation is not None and operation.returns is torch_api.Returns.TENSOR
        functions = self.solution.functions_of(call)
        if functions or callee.op is not Op.ATTRIBUTE:
            return any(f.result is not None and self._is_tensor(f.result, seen) for f in functions)
        known = torch_api.method(callee.name)
        if (
            known is None
            or known.returns in _NUMBERS
            or callee.name in OF_PYTHON
            or by_type(call, callee.name) == PLAIN
        ):
            return False
        return self._is_tensor(callee.inputs[0], seen)

    def is_used_as_tensor(self, value: Value) -> bool:
        """Whether the program does something with this very value that can be done with a tensor only."""
        return self._is_used_as_tensor(value, set())

    def _is_used_as_tensor(self, value: Value, seen: set[Value]) -> bool:
        """Whether a module, a function of torch or a method that only tensors have is called with (or on) it.

        A text, and what is declared to be one or a number, is none, whatever else goes where it does.
        """
        if value.op is Op.CONSTANT or is_declared_plain(value):
            return False
        for user in value.users:
            if user.op is Op.ATTRIBUTE and user.inputs[0] is value:
                known = torch_api.method(user.name) or (
                    torch_api.attribute(user.name) if user.name in ("grad_fn", "requires_grad") else None
                )
                if known is not None and user.name not in OF_PYTHON and any(u.op is Op.CALL for u in user.users):
                    return True
            elif user.op is Op.CALL and value in user.arguments:
                if user.callee.op is Op.EXTERNAL and self._takes_tensor(user, value):
                    return True
                if self.steps.calls_module(user):
                    return True
                for function in self.solution.functions_of(user):
                    binding = self.solution.callers[function].get(user, {})
                    if any(given is value and self._is_tensor(p, seen) for p, given in binding.items()):
                        return True
        return False

    def _takes_tensor(self, call: Value, value: Value) -> bool:
        """Whether a function of torch computes with its first argument, or sends it to other processes."""
        if call.callee.name in COLLECTIVES:
            return call.argument(0, "tensor") is value
        operation = torch_api.function(call.callee.name)
        computes = operation is not None and operation.history is torch_api.History.KEEPS
        return computes and call.argument(0) is value

    def is_module(self, value: Value) -> bool:
        """Whether ``value`` is a module."""
        return may_be_module(self.solution, value)

    def holds_tensors(self, value: Value) -> bool:
        """Whether ``value`` is a tensor, a module, or a container or an object of the file that holds one."""
        return _searched(value, self._holds, self._known_to_hold)

    def _holds(self, value: Value, seen: set[Value]) -> bool:
        if value in seen or value in self._known_to_hold:
            return self._known_to_hold.get(value, False)
        seen.add(value)
        if self.is_tensor(value) or self.is_module(value):
            return True
        if value.op in (Op.CONTAINER, Op.PHI) and any(self._holds(item, seen) for item in value.inputs):
            return True
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Container):
                if any(self._holds(held, seen) for _, held in self.solution.held.get(atom.allocation, ())):
                    return True
                fields = self.solution.fields.get(atom.allocation, {})
                if any(isinstance(item, Tensor) for field in fields.values() for item in field):
                    return True
            elif isinstance(atom, Instance) and self.keeps_tensors(atom.cls, seen):
                return True
        return False

    def keeps_tensors(self, cls: Class, seen: set[Value] | None = None) -> bool:
        """Whether instances of a class of the file hold tensors: modules, datasets, and what has a tensor attribute."""
        if is_module_class(cls):
            return True
        if any(
            (known := torch_api.torch_class(base)) is not None and known.kind == "dataset" for base in cls.all_bases()
        ):
            return True
        family = {ancestor.root() for ancestor in cls.lineage()}
        seen = set() if seen is None else seen
        return any(
            self._holds(value, seen)
            for owner in family
            for _, values in self.solution.stored_with(owner)
            for value in values
        )


def _searched(value: Value, search: Callable[[Value, set[Value]], bool], known: dict[Value, bool]) -> bool:
    """What a search for evidence finds from ``value`` on, told to ``known``.

    Where it finds none, there is none at anything that it came by either.
    """
    if value not in known:
        seen = set[Value]()
        known |= {value: True} if search(value, seen) else dict.fromkeys(seen, False)
    return known[value]


def is_declared_plain(parameter: Value) -> bool:
    """Whether a parameter is declared to be a number or a text, or None: ``n: int``, ``n: int | None``."""
    syntax = parameter.syntax
    annotation = syntax.annotation if isinstance(syntax, cst.Param) else None
    names = {node.value for node in walk(annotation) if isinstance(node, cst.Name)} if annotation is not None else set()
    return bool(names & _PLAIN) and names <= _PLAIN | {"None", "Optional", "Union", "typing"}


def _is_text(item: Value) -> bool:
    """Whether an item is put together with a text: ``item + ".csv"``."""
    return any(
        isinstance(part.syntax, cst.SimpleString | cst.FormattedString)
        for user in item.users
        if user.op is Op.OPERATION and user.name in ("Add", "AddAssign")
        for part in user.inputs
    )


def declares_tensors(made: Value) -> bool:
    """``known: Dict[str, torch.Tensor] = {}``: whether a dictionary is said to hold tensors where it is made."""
    line = made.statement.body[0] if isinstance(made.statement, cst.SimpleStatementLine) else None
    annotation = line.annotation.annotation if isinstance(line, cst.AnnAssign) and line.value is made.syntax else None
    if not isinstance(annotation, cst.Subscript) or len(annotation.slice) != 2:
        return False
    held = annotation.slice[1].slice
    return isinstance(held, cst.Index) and _is_of_tensor(held.value)


def _is_of_tensor(annotation: cst.BaseExpression) -> bool:
    names = [dotted(node) or "" for node in walk(annotation) if isinstance(node, cst.Name | cst.Attribute)]
    if any(name.rpartition(".")[2] == "Union" for name in names) or "int" in names or "float" in names:
        return False
    return any(name in ("Tensor", "torch.Tensor") or name.endswith(".Tensor") for name in names)
