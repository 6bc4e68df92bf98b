"""Arithmetic followed backwards: whether a value is computed from another, and whether it is scaled on the way."""

from __future__ import annotations

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import ClassReference, Derived, Instance
from torchlint.facts.values.externals import COLLECTIONS
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.library_calls import LIKE_ANOTHER

SCALING = ("Multiply", "Divide", "mul", "lerp", "div")
"""Operations after which old content counts less: running averages."""


class Arithmetic:
    """Follows sums, products and torch's operations; calls of modules are no arithmetic."""

    def __init__(self, flows: Flows) -> None:
        """Look through the helpers that ``flows`` knows."""
        self.flows = flows
        self._combinations: dict[Function, bool | None] = {}

    def comes_from(self, value: Value, source: Value) -> bool:
        """Whether ``value`` is ``source`` or computed from it."""
        return self.trace(value, source, {}) is not None

    def trace(self, value: Value, source: Value, updates: dict[Value, bool]) -> bool | None:
        """Follow arithmetic from ``value`` back to ``source``; collect the operations on the way.

        Args:
            value: where to begin.
            source: the holder's old content.
            updates: takes each operation on the way, and whether the old content is scaled before it or by it.

        Returns:
            None when ``value`` does not come from ``source``, else whether it is scaled on the way.
        """
        return self._trace(value, source, updates, {source: False})

    def _trace(
        self, value: Value, source: Value, updates: dict[Value, bool], known: dict[Value, bool | None]
    ) -> bool | None:
        if value in known:
            return known[value]
        known[value] = None  # a cycle adds nothing to itself
        operands = [] if value.op is Op.PHI else self.operands(value)
        steps = list(value.inputs) if value.op is Op.PHI else operands or self.parts(value)
        arrived: list[bool] = []
        for step in steps:
            scaled = self._trace(step, source, updates, known)
            if scaled is not None:
                arrived.append(scaled)
                if value.op is Op.PHI:
                    known[value] = any(arrived)  # what an inner loop adds to it comes from there, too
        if not arrived:
            return None
        scales = any(arrived)
        if operands:
            scales = scales or value.name.rpartition(".")[2].startswith(SCALING) or self._scales_inside(value)
            updates[value] = scales
        known[value] = scales
        return scales

    def _scales_inside(self, call: Value) -> bool:
        """Whether a helper of this file multiplies what it is given."""
        return any(self._combination(function) for function in self.flows.solution.functions_of(call))

    def _combination(self, function: Function) -> bool | None:
        """Whether a function computes its result from a parameter by arithmetic, scaling it; None if it does not."""
        if function.is_foreign:
            return self._combination_elsewhere(function)
        if function not in self._combinations:
            self._combinations[function] = None  # a recursion adds nothing to itself
            found = None
            for parameter in function.parameters:
                updates: dict[Value, bool] = {}
                if (
                    function.result is not None
                    and self.trace(function.result, parameter, updates) is not None
                    and updates
                ):
                    found = bool(found) or any(updates.values())
            self._combinations[function] = found
        return self._combinations[function]

    def _combination_elsewhere(self, function: Function) -> bool | None:
        """The same of a function of another file, by its summary: a third number, a momentum, scales the rest."""
        result = () if function.result is None else self.flows.solution.final(function.result)
        derived = {atom.parameter for atom in result if isinstance(atom, Derived)}
        return len(derived) > 2 if derived.intersection(function.parameters) else None

    def parts(self, value: Value) -> list[Value]:
        """What a value is taken from or built of without arithmetic: an item, a tuple, ``tuple(...)``."""
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.CONTAINER):
            return list(value.inputs)
        if value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in COLLECTIONS:
            return list(value.arguments)
        if value.op is Op.CALL and self._makes_record(value):
            return list(value.arguments)
        return [value.inputs[0]] if value.op is Op.ATTRIBUTE and self._is_field(value) else []

    def _makes_record(self, call: Value) -> bool:
        """``State(step + 1, state.total + loss)``, where the class has the ``__init__`` that Python writes."""
        made = self.flows.solution.final(call.callee)
        return bool(made) and all(isinstance(atom, ClassReference) and _keeps_all(atom.cls) for atom in made)

    def _is_field(self, attribute: Value) -> bool:
        """``state.total`` of such an object, whatever method it is that has made it anew."""
        owners = self.flows.solution.final(attribute.inputs[0])
        return any(isinstance(atom, Instance) and _keeps_all(atom.cls) for atom in owners)

    def operands(self, value: Value) -> list[Value]:
        """What arithmetic combines in ``value``; nothing for calls that are no arithmetic of torch."""
        if value.op is Op.OPERATION:
            return list(value.inputs)
        if value.op is Op.ELEMENT and value.inputs[0].op is Op.CONTAINER:
            return [v for k, v in zip(value.inputs[0].keys, value.inputs[0].inputs, strict=True) if k == value.keys[0]]
        if value.op is not Op.CALL:
            return []
        if any(self._combination(function) is not None for function in self.flows.solution.functions_of(value)):
            return list(value.arguments)
        if not self.flows.is_arithmetic(value):
            return []
        receiver = [value.callee.inputs[0]] if value.callee.op is Op.ATTRIBUTE else []
        if receiver and value.callee.name in LIKE_ANOTHER:
            return receiver
        items = [item for argument in value.arguments for item in (argument, *_literal_items(argument))]
        return receiver + items


def _keeps_all(cls: Class) -> bool:
    made_by = cls.method("__init__")
    return made_by is not None and not made_by.is_written


def _literal_items(value: Value) -> tuple[Value, ...]:
    return value.inputs if value.op is Op.CONTAINER else ()
