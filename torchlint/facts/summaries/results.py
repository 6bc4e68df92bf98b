"""What a function returns, as others see it: alternatives without a graph, and the calls of which they come."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.records import makes_record
from torchlint.facts.summaries.parts import SUM, Part, PartKind, Shape
from torchlint.facts.summaries.shapes import Shapes
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import ClassReference, Derived, History, Tensor, Unknown, is_graphless
from torchlint.facts.values.graph import Class, Function, Key, Mode, Op, Value
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

OF_RESULTS = frozenset(["values", "T", "mT"])
"""Attributes of a tensor, or of what ``x.max(1)`` gives, that have its graph."""


class Results:
    """Tells it of the functions of one file."""

    def __init__(self, facts: Facts, shapes: Shapes, classes: Set[Class]) -> None:
        """Give values their ``shapes``; ``classes`` are those that others can name."""
        self._facts, self.solution, self.flows = facts, facts.solution, facts.flows
        self.shapes = shapes
        self._classes = classes

    def of(self, function: Function, calls: list[Value]) -> Shape:
        """What a function returns on its paths; ``calls`` are those that its summary tells."""
        return self.shape_of(function.result, function, calls) if function.result is not None else ()

    def shape_of(self, value: Value, function: Function, calls: list[Value]) -> Shape:
        """What a function hands to others with a value of its own, be it by one of its ``calls``."""
        return tuple(dict.fromkeys(part for one in choices(value) for part in self._parts(one, function, calls)))

    def _parts(self, value: Value, function: Function, calls: list[Value]) -> Sequence[Part]:
        base, path = path_from_parameter(value, function)
        if (told := self._by_a_call(value, calls)) is not None:
            return [told]
        if base == 0 and function.owner is not None and (path or not is_of_class(function)):
            return [Part(PartKind.OWN, ".".join(path))]
        if (row := self._row(value, calls)) is not None:
            return [row]
        if makes_record(self._facts, value) and (record := self._record(value)) is not None:
            return [record]
        return self.shapes.of(value)

    def _by_a_call(self, value: Value, calls: list[Value]) -> Part | None:
        """What is returned is the result of one of ``calls``, an item of it, or computed from it; None for all else."""
        if not self.solution.may_be(value, Unknown):
            return self._by_a_network(value, calls)
        if value.op is Op.ELEMENT and value.inputs[0] in calls and value.keys[0] is not None:
            return Part(PartKind.RESULT, position=calls.index(value.inputs[0]), items=((value.keys[0], ()),))
        called = self.call_behind(value, calls)
        return None if called is None else Part(PartKind.RESULT, position=calls.index(called), flag=called is not value)

    def call_behind(self, value: Value, calls: list[Value]) -> Value | None:
        """The one of ``calls`` whose result a value is, or is computed from; None for anything else."""
        if not self.solution.may_be(value, Unknown):
            return None
        only_computes = self._only_computes(value)
        called = self._computed_from(value, calls) if only_computes or value not in calls else value
        return value if called is None and value in calls else called

    def _by_a_network(self, value: Value, calls: list[Value]) -> Part | None:
        """What is returned has a graph if a network that the function is given trains: that shows where it is given."""
        if not all(isinstance(atom, Tensor) and atom.history is History.LIVE for atom in self.solution.final(value)):
            return None
        function, parameters = value.function, value.function.parameters
        if any(backward.retains and backward.function is function for backward in self.solution.graph.backwards):
            return None  # its graph is as whole as that of a loss whose backward is still to come
        found = [one for one in reached([value], self._operands_and_items) if one in calls and one.callee in parameters]
        return Part(PartKind.RESULT, position=calls.index(found[0]), flag=True) if len(found) == 1 else None

    def _operands_and_items(self, value: Value) -> Sequence[Value]:
        items = (item for _, item in self.solution.held.get(value, ()))
        return [*self._operands(value), *items, *(value.inputs if value.op in (Op.PHI, Op.NARROWED) else ())]

    def _row(self, value: Value, calls: list[Value]) -> Part | None:
        """``return logits, {"loss": loss}`` where both are known only where the function is called; else None."""
        added = [(key, item) for key, item in self.solution.held.get(value, ()) if item not in value.inputs]
        if not isinstance(value.syntax, cst.Tuple | cst.Dict) or any(key is None for key, _ in added):
            return None
        told, entries = False, list[tuple[Key, Shape]]()
        for key, item in (*zip(value.keys, value.inputs, strict=True), *added):
            part = self._by_a_call(item, calls) or self._row(item, calls) or _sum_of_another(item, value.inputs)
            told |= part is not None
            entries.append((key, (part,) if part is not None else self.shapes.of(item)))
        return Part(PartKind.CONTAINER, items=tuple(entries)) if told else None

    def _record(self, made: Value) -> Part | None:
        """``return StepResult(step, loss)``; None for a class that others cannot name, or where two are possible."""
        classes = [atom.cls for atom in self.solution.final(made.callee) if isinstance(atom, ClassReference)]
        if len(classes) != 1 or classes[0] not in self._classes or None in made.keys[1:]:
            return None
        items = zip(made.keys[1:], map(self.shapes.of, made.arguments), strict=True)
        return Part(PartKind.RECORD, classes[0].name, items=tuple(items))

    def _computed_from(self, value: Value, calls: list[Value]) -> Value | None:
        """The one of ``calls`` from whose result a value is computed by operations of torch: a loss of an output."""
        behind = reached([value], partial(self._operands_or_paths, calls))
        found = [one for one in behind if one in calls and not (self._only_computes(one) or self._gives_numbers(one))]
        found = [one for one in found if one.mode is not Mode.OFF] or found  # which say nothing of a graph
        # `target.flatten()` computes, too; what is called with it tells more.
        return next((one for one in found if not self.flows.is_arithmetic(one)), found[0] if found else None)

    def _gives_numbers(self, call: Value) -> bool:
        """Whether a CALL is known to give nothing with a graph: ``x.size()``, which only says how large another is."""
        return all(map(is_graphless, self.solution.final(call)))

    def _operands_or_paths(self, calls: list[Value], value: Value) -> Sequence[Value]:
        """What a value is computed from; a join only where it comes of one of ``calls`` on each of its paths."""
        if value.op is not Op.PHI:
            return self._operands(value)
        paths = choices(value)
        return paths if all(any(one in calls for one in reached([path], self._operands)) for path in paths) else ()

    def _only_computes(self, call: Value) -> bool:
        """Whether a CALL is of a function of the file that gives what operations compute of its arguments alone."""
        functions = self.solution.functions_of(call) if call.op is Op.CALL else []
        if len(functions) != 1 or functions[0].is_foreign or functions[0].owner is not None or not functions[0].result:
            return False
        given = [atom for atom in self.solution.final(functions[0].result) if not is_graphless(atom)]
        return bool(given) and all(
            isinstance(atom, Derived) and atom.parameter in functions[0].parameters for atom in given
        )

    def _operands(self, value: Value) -> Sequence[Value]:
        """What operations of torch compute a value from."""
        if value.op is Op.CALL and self.flows.is_arithmetic(value):
            receiver = [value.callee.inputs[0]] if value.callee.op is Op.ATTRIBUTE else []
            return [*map(_whole_of, receiver), *map(_whole_of, value.arguments)]
        if self._only_computes(value):
            return value.arguments
        if value.op is Op.SUBSCRIPT:  # of what is computed it is a part, of what is returned maybe a number
            return value.inputs[:1] if self._operands(value.inputs[0]) else ()
        is_part = value.op is Op.ATTRIBUTE and value.name in OF_RESULTS
        return value.inputs if value.op is Op.OPERATION or is_part else ()


def _sum_of_another(item: Value, items: Sequence[Value]) -> Part | None:
    """``total`` of ``total = sum(parts.values())`` and ``return total, parts``; None for anything else."""
    given = item.arguments[0] if item.op is Op.CALL and item.callee.name == SUM and item.arguments else None
    if given is not None and given.op is Op.CALL and given.callee.op is Op.ATTRIBUTE and given.callee.name == "values":
        given = given.callee.inputs[0]
    return Part(PartKind.SUMMED, position=items.index(given)) if given in items else None


def _whole_of(operand: Value) -> Value:
    """The call whose result an operand of torch is a part of: ``out["logits"]``, ``out.logits``, an unpacked item.

    By itself such a part may be a number; what torch computes with is none.
    """
    whole = operand
    while whole.op in (Op.SUBSCRIPT, Op.ELEMENT) or (whole.op is Op.ATTRIBUTE and not _is_of_tensor(whole.name)):
        whole = whole.inputs[0]
    return whole if whole.op is Op.CALL else operand


def _is_of_tensor(name: str) -> bool:
    return torch_api.attribute(name) is not None or torch_api.method(name) is not None


def is_of_class(function: Function) -> bool:
    """Whether the first parameter of a method is no object: it is static, or a class."""
    return function.is_static or "classmethod" in function.decorators


def path_from_parameter(callee: Value, function: Function) -> tuple[int, tuple[str, ...]]:
    """``self.net.encode``: 0 and ("net", "encode"); -1 for what no parameter leads to by attributes alone."""
    path: list[str] = []
    while callee.op is Op.ATTRIBUTE:
        path.append(callee.name)
        callee = callee.inputs[0]
    if callee not in function.parameters:
        return -1, ()
    return function.parameters.index(callee), tuple(reversed(path))
