"""What of that which a function is given is in a value: which parameters, parts of them, results of their methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.autograd.records import makes_record
from torchlint.facts.summaries.summary import CALLED, item_named, method_in, result_of
from torchlint.facts.values.choices import held_in
from torchlint.facts.values.domain import Argument, Container, Derived, is_graphless, sorted_values
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.novelty import behind_content
from torchlint.facts.values.parameters import star_of
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 1
"""In so many containers, one in another, it is looked for what a function is given, and in what they hold."""


class GivenParts:
    """Says of the values of one file what of parameters is in them."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def whole(self, kept: Value, function: Function) -> dict[tuple[int, str], bool]:
        """The parameters that ``kept`` is, or is computed from; see :meth:`_positions`."""
        return {(position, ""): is_computed for position, is_computed in self._positions(kept, function)}

    def with_parts(
        self, given: dict[tuple[int, str], bool], kept: Value, function: Function
    ) -> dict[tuple[int, str], bool]:
        """The parameters that are ``given`` to ``kept``, or parts of them: of ``logs["loss"]`` that item alone.

        Beside ``count`` of ``count * out.loss`` it is made of that attribute of ``out``.
        """
        parts = dict(self._parts_given(kept, function))
        items = {(position, of): is_computed for (position, of), is_computed in parts.items() if of.startswith("[")}
        named = {position for position, _ in items}
        results = {key: is_computed for key, is_computed in parts.items() if method_in(key[1])}
        whole = {key: given[key] for key in given if key[0] not in named} | items
        others = {key: parts[key] for key in parts if key not in results and (key[0], "") not in given}
        return whole | others | results

    def parts_of(self, position: int, kept: Value, function: Function) -> list[tuple[int, str]]:
        """The parts of one parameter of which ``kept`` is made."""
        return [part for part, _ in self._parts_given(kept, function) if part[0] == position]

    def _parts_given(self, kept: Value, function: Function) -> Iterator[tuple[tuple[int, str], bool]]:
        """What of parameters ``kept`` is made of: ``trainer.loss``, ``logs["loss"]``, or what ``make()`` gives."""
        given = parameters_with_captured(function)
        plain = {parameter for parameter in given if not star_of(parameter)}
        for value in self.behind(kept):
            if value.op is Op.ATTRIBUTE and value.inputs[0] in given and not value.calls:
                yield (given.index(value.inputs[0]), value.name), value is not kept
            elif value.op is Op.CALL and value.callee in given:
                yield (given.index(value.callee), CALLED), value is not kept
            elif _asks_object(value) and value.callee.inputs[0] in plain:
                name = result_of(value.callee.name)
                yield (given.index(value.callee.inputs[0]), name), value not in held_in(kept)
            elif value.op is Op.SUBSCRIPT and value.inputs[0] in plain and isinstance(value.keys[0], str):
                yield (given.index(value.inputs[0]), item_named(value.keys[0])), value not in held_in(kept)

    def parameters_behind(self, value: Value, function: Function) -> tuple[int, ...]:
        """The positions of the parameters whose content goes into a value; the object of a method is none of them."""
        behind = set(behind_content(value))
        own = function.parameters[:1] if function.owner is not None else []
        parameters = enumerate(parameters_with_captured(function))
        return tuple(position for position, one in parameters if one in behind and one not in own)

    def _positions(self, value: Value, function: Function, depth: int = DEPTH) -> Iterator[tuple[int, bool]]:
        """The parameters of ``function`` that ``value`` is, or is computed from, on every path; never one by choice."""
        abstract = sorted_values(self.solution.final(value))
        for atom in abstract:
            if isinstance(atom, Container) and len(abstract) == 1:
                for _, item in self.solution.held.get(atom.allocation, ()):
                    if depth or not self.solution.may_be(item, Container):
                        yield from self._positions(item, function, depth - 1)
        if makes_record(self.facts, value):
            for argument in value.arguments:
                yield from self._positions(argument, function)
        if any(map(is_graphless, abstract)):
            return  # detached, or made a number, on one path: the program looks after it
        found: dict[int, bool] = {}
        for atom in abstract:
            if isinstance(atom, Argument | Derived) and atom.parameter.function is function:
                position = parameters_with_captured(function).index(atom.parameter)
                found[position] = isinstance(atom, Derived)
        yield from found.items()

    def behind(self, value: Value) -> Iterator[Value]:
        """What a value is computed from in its function, with its graph: nothing behind ``.detach()``."""
        return reached([value], lambda current: () if self._ends_graph(current) else current.inputs)

    def _ends_graph(self, value: Value) -> bool:
        return value.op in (Op.CALL, Op.ATTRIBUTE) and all(map(is_graphless, self.solution.final(value)))


def parameters_with_captured(function: Function) -> list[Value]:
    """What a function is given: its parameters, after those of the function in which it is made with each call."""
    outer = function.parent
    is_made = function.owner is None and outer is not None and outer.parent is not None
    return [*outer.parameters, *function.parameters] if is_made and outer is not None else function.parameters


def _asks_object(value: Value) -> bool:
    """``trainer.export()``: whether a CALL is of a method that neither a tensor nor every module has."""
    name = value.callee.name if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE else ""
    return bool(name) and torch_api.method(name) is None and name not in torch_api.module_methods()
