"""Arithmetic followed backwards: whether a value is computed from another, and whether it is scaled on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Atom, ClassReference, Container, Derived, Instance
from torchlint.facts.values.externals import COLLECTIONS, EXTREMES
from torchlint.facts.values.graph import Class, Function, Key, Mode, Op, Value
from torchlint.facts.values.library_calls import LIKE_ANOTHER, read_from
from torchlint.facts.values.writing import Use, is_slice

SCALING = ("Multiply", "Divide", "mul", "lerp", "div")
"""Operations after which old content counts less: running averages."""


class Arithmetic:
    """Follows sums, products and torch's operations; calls of modules are no arithmetic."""

    def __init__(self, flows: Flows) -> None:
        """Look through the helpers that ``flows`` knows."""
        self.flows = flows
        self._combinations: dict[tuple[Function, Key], dict[Value, bool]] = {}

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
                if not operands:
                    known[value] = any(arrived)  # what an inner loop adds to it, or puts into it, comes from there, too
        if not arrived:
            return None
        scales = any(arrived)
        if operands:
            scales = scales or value.name.rpartition(".")[2].startswith(SCALING) or self._scales_inside(value)
            updates[value] = scales
        known[value] = scales
        return scales

    def _scales_inside(self, value: Value) -> bool:
        """Whether a helper of this file multiplies what it is given."""
        call, taken = _taken_from(value)
        return any(any(self._combination(f, taken).values()) for f in self.flows.solution.functions_of(call))

    def _combination(self, function: Function, taken: Key) -> dict[Value, bool]:
        """From which parameters a function computes by arithmetic what is taken of its result, and which it scales."""
        if function.is_foreign:
            return self._combination_elsewhere(function, taken)
        if (function, taken) not in self._combinations:
            self._combinations[function, taken] = {}  # a recursion adds nothing to itself
            # Of a list that is cut, `rows[-9:] + [loss]`, no more than so much is left.
            results = [one for one in _items(function.result, taken) if not any(map(_is_slice, spread_in(one)))]
            found: dict[Value, bool] = {}
            for parameter in function.parameters if results else ():
                updates: dict[Value, bool] = {}
                for result in results:
                    self.trace(result, parameter, updates)
                    if any(self.comes_from(part, parameter) for part in spread_in(result)):
                        updates.setdefault(result, False)
                if updates and all(map(self.flows.modes.records, updates)):
                    found[parameter] = any(updates.values())
            self._combinations[function, taken] = found
        return self._combinations[function, taken]

    def _combination_elsewhere(self, function: Function, taken: Key) -> dict[Value, bool]:
        """The same of a function of another file, by its summary: a third number, a momentum, scales the rest."""
        solution = self.flows.solution
        result = frozenset[Atom]() if function.result is None else solution.final(function.result)
        made = [atom.allocation for atom in result if isinstance(atom, Container)]
        items = [item for one in made for key, item in zip(one.keys, one.inputs, strict=True) if taken in (None, key)]
        # Of all that is given back at once what comes of one thing alone may be anything beside the sum.
        computed = [(result, 1), *((solution.final(item), 2 if taken is None else 1) for item in items)]
        found: dict[Value, bool] = {}
        for abstract, fewest in computed:
            derived = {atom.parameter for atom in abstract if isinstance(atom, Derived)}
            if len(derived) >= fewest:
                found |= dict.fromkeys(derived.intersection(function.parameters), len(derived) > 2)
        for key, positions in solution.graph.foreign.lengthened.get(function, ()):
            found |= dict.fromkeys([function.parameters[one] for one in positions if taken in (None, key)], False)
        return found

    def lengthened(self, function: Function) -> Iterator[tuple[Key, tuple[int, ...]]]:
        """What a function of this file returns that is a list which it is given with more in it: ``rows + [loss]``.

        Returns:
            for each, under which key of the result it is, None for all of it, and the positions of the parameters that
            are that list, or in what is added.
        """
        keys = {key for one in choices(function.result) if one.op is Op.CONTAINER for key in one.keys}
        for taken in (None, *sorted(keys - {None}, key=str)):
            if any(map(spread_in, _items(function.result, taken))):
                combined = self._combination(function, taken)
                yield taken, tuple(position for position, one in enumerate(function.parameters) if one in combined)

    def parts(self, value: Value) -> list[Value]:
        """What a value is taken from or built of without arithmetic: an item, a tuple, ``tuple(...)``."""
        if (passed := self._passed_through_helpers(value)) is not None:
            return passed
        if _is_slice(value) and self.flows.solution.may_be(value.inputs[0], Container):
            return []  # a window of a list
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.CONTAINER):
            return [*value.inputs, *self._put_into(value)]
        if (read := read_from(value)) is not None and self.flows.solution.may_be(read, Container):
            return [read]
        if value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in COLLECTIONS | EXTREMES:
            return [*value.arguments, *self._put_into(value)]
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
        if value.op is Op.OPERATION and not self.flows.solution.functions_of(value):
            return list(value.inputs)  # that of an object of the project does what its method does
        if value.op is Op.ELEMENT and value.inputs[0].op is Op.CONTAINER:
            return [v for k, v in zip(value.inputs[0].keys, value.inputs[0].inputs, strict=True) if k == value.keys[0]]
        combined = self._combined_by_helpers(value)
        if combined or value.op is not Op.CALL:
            records = [one for one in combined if one.op is Op.CALL and self._makes_record(one)]
            return [*combined, *(part for record in records for part in record.arguments)]
        if not self.flows.is_arithmetic(value):
            return []
        receiver = [value.callee.inputs[0]] if value.callee.op is Op.ATTRIBUTE else []
        if receiver and value.callee.name in LIKE_ANOTHER:
            return receiver
        items = [item for argument in value.arguments for item in (argument, *_literal_items(argument))]
        return [*receiver, *items, *(use.value for use in self.written_into(value))]

    def written_into(self, value: Value) -> Sequence[Use]:
        """What is written into a tensor once it is computed: ``fresh = proto.clone()``, then ``fresh[i] = row``."""
        return self._written.get(value, ())

    def _put_into(self, made: Value) -> list[Value]:
        """What is put under keys of a container once it is made."""
        is_container = made in self._written and self.flows.solution.may_be(made, Container)
        return [use.value for use in self._written[made]] if is_container else []

    @cached_property
    def _written(self) -> dict[Value, list[Use]]:
        found: dict[Value, list[Use]] = defaultdict(list)
        for store in self.flows.solution.graph.stores:
            if store.is_item and store.holder is not None and store.mode is not Mode.OFF:
                written = store.syntax if isinstance(store.syntax, cst.BaseExpression) else None
                found[store.holder].append(Use(store.value, written))
        return found

    def _combined_by_helpers(self, value: Value) -> list[Value]:
        """The arguments from which functions that are seen compute by arithmetic what they return, or an item of it."""
        call, taken = _taken_from(value)
        found: dict[Value, None] = {}
        for function in self.flows.solution.functions_of(call) if call.op in (Op.CALL, Op.OPERATION) else ():
            given = self.flows.solution.callers[function].get(call, {})
            if call.op is Op.OPERATION:
                given = {**given, function.parameters[0]: call.inputs[0]}  # the object that has the method
            combined = self._combination(function, taken)
            found |= {argument: None for to, argument in given.items() if argument is not None and to in combined}
        return list(found)

    def _passed_through_helpers(self, value: Value) -> list[Value] | None:
        """The arguments that functions give back as they are in the item which an ELEMENT takes; None for all else."""
        call, taken = _taken_from(value)
        functions = self.flows.solution.functions_of(call) if taken is not None and call.op is Op.CALL else []
        if not functions or any(f.is_foreign or _items(f.result, taken) == choices(f.result) for f in functions):
            return None
        passed: dict[Value, None] = {}
        for function in functions:
            given = self.flows.solution.callers[function].get(call, {})
            taking = _items(function.result, taken)
            passed |= {argument: None for to, argument in given.items() if argument is not None and to in taking}
        return list(passed)


def _taken_from(value: Value) -> tuple[Value, Key]:
    """The call whose result an ELEMENT is taken from, and under which key; else the value itself, of which all is."""
    return (value.inputs[0], value.keys[0]) if value.op is Op.ELEMENT else (value, None)


def _items(result: Value | None, taken: Key) -> list[Value]:
    """What a function may return, or what stands there under a key, where it builds all that it returns."""
    found = choices(result)
    if taken is None or any(one.op is not Op.CONTAINER or taken not in one.keys for one in found):
        return found
    return [item for one in found for key, item in zip(one.keys, one.inputs, strict=True) if key == taken]


def _keeps_all(cls: Class) -> bool:
    made_by = cls.method("__init__")
    return made_by is not None and not made_by.is_written


def spread_in(value: Value) -> Sequence[Value]:
    """Of a list, tuple or dictionary that is another one with more in it, ``[*rows, loss]``, what that is made of."""
    if value.op is Op.CONTAINER and len(value.inputs) > 1 and any(map(_is_any_item, value.inputs)):
        return [one.inputs[0] if _is_any_item(one) else one for one in value.inputs]
    joins = value.op is Op.OPERATION and value.name == "Add"
    return value.inputs if joins and any(map(_literal_items, value.inputs)) else ()


def _is_slice(value: Value) -> bool:
    """``rows[-9:]``."""
    return value.op is Op.SUBSCRIPT and is_slice(value)


def _is_any_item(value: Value) -> bool:
    return value.op is Op.ELEMENT and value.keys[0] is None


def _literal_items(value: Value) -> tuple[Value, ...]:
    return value.inputs if value.op is Op.CONTAINER else ()
