"""What the objects that a call makes keep of its arguments: records, data classes, objects with an ``__init__``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Argument, Derived, Instance, sorted_values
from torchlint.facts.values.graph import Function, Kind, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def kept_arguments(facts: Facts, call: Value) -> list[Value]:
    """The arguments of a CALL that the object which it makes keeps, or from which is computed what it keeps."""
    if makes_record(facts, call):
        return list(call.arguments)
    return _given_to(facts, call, [(maker, _kept_by(facts, maker)) for maker in _initializers(facts, call)])


def held_arguments(facts: Facts, call: Value) -> list[Value]:
    """The arguments of a CALL that the object which it gives has as they are, be it made by a function elsewhere."""
    if makes_record(facts, call):
        return list(call.arguments)
    makers = [(maker, _held_by(facts, maker)) for maker in _initializers(facts, call)]
    elsewhere = [function for function in facts.solution.functions_of(call) if function.is_foreign]
    return _given_to(facts, call, [*makers, *((function, _recorded_by(facts, function)) for function in elsewhere)])


def _initializers(facts: Facts, call: Value) -> list[Function]:
    atoms = sorted_values(facts.solution.final(call))
    makers = [atom.cls.method("__init__") for atom in atoms if isinstance(atom, Instance)]
    return [maker for maker in makers if maker is not None]


def _given_to(facts: Facts, call: Value, wanted: Sequence[tuple[Function, Iterable[Value]]]) -> list[Value]:
    """What a CALL gives for each of the wanted parameters of the functions that it calls."""
    bound = [(parameters, facts.solution.callers.get(function, {}).get(call)) for function, parameters in wanted]
    return [
        given
        for parameters, binding in bound
        if binding is not None
        for parameter in dict.fromkeys(parameters)
        if (given := binding.get(parameter)) is not None
    ]


def _kept_by(facts: Facts, maker: Function) -> Iterator[Value]:
    """The parameters of an ``__init__``, here or in another file, that it keeps on its object, or what it makes of."""
    for keep in facts.graph.foreign.keeps.get(maker, ()):
        if keep.into == 0 and not keep.of:
            yield maker.parameters[keep.position]
    for value in _assigned_by(facts, maker):
        atoms = sorted_values(facts.solution.final(value))
        yield from (parameter for parameter in maker.parameters if parameter is value)
        yield from (atom.parameter for atom in atoms if isinstance(atom, Argument | Derived))


def _held_by(facts: Facts, maker: Function) -> Iterator[Value]:
    """The parameters of an ``__init__``, here or in another file, that are attributes of its object as they come."""
    for keep in facts.graph.foreign.keeps.get(maker, ()):
        if keep.into == 0 and keep.is_shared and not (keep.of or keep.is_computed):
            yield maker.parameters[keep.position]
    for value in _assigned_by(facts, maker):
        yield from (choice for choice in choices(value) if choice in maker.parameters)


def _assigned_by(facts: Facts, maker: Function) -> Iterator[Value]:
    """What an ``__init__`` of this file assigns to attributes of its object."""
    own = () if maker.is_foreign else facts.graph.stores
    for store in own:
        if store.function is maker and store.kind is Kind.ASSIGN and store.holder in maker.parameters[:1]:
            yield store.value


def _recorded_by(facts: Facts, function: Function) -> Iterator[Value]:
    """The parameters of a function of another file that are in the record which it returns, as they are given."""
    made = (choice for choice in choices(function.result) if makes_record(facts, choice))
    for item in (argument for record in made for argument in record.arguments):
        atoms = sorted_values(facts.solution.final(item))
        yield from (atom.parameter for atom in atoms if isinstance(atom, Argument))
