"""What the objects that a call makes keep of its arguments: records, data classes, objects with an ``__init__``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.values.domain import Argument, Derived, Instance, sorted_values
from torchlint.facts.values.graph import Function, Kind, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def kept_arguments(facts: Facts, call: Value) -> list[Value]:
    """The arguments of a CALL that the object which it makes keeps, or from which is computed what it keeps."""
    if makes_record(facts, call):
        return list(call.arguments)
    atoms = sorted_values(facts.solution.final(call))
    makers = [atom.cls.method("__init__") for atom in atoms if isinstance(atom, Instance)]
    bound = [(maker, facts.solution.callers.get(maker, {}).get(call)) for maker in makers if maker is not None]
    return [
        given
        for maker, binding in bound
        if binding is not None
        for parameter in dict.fromkeys(_kept_by(facts, maker))
        if (given := binding.get(parameter)) is not None
    ]


def _kept_by(facts: Facts, maker: Function) -> Iterator[Value]:
    """The parameters of an ``__init__``, here or in another file, that it keeps on its object."""
    for keep in facts.graph.foreign.keeps.get(maker, ()):
        if keep.into == 0 and not keep.of:
            yield maker.parameters[keep.position]
    for store in facts.graph.stores:
        if store.function is maker and store.kind is Kind.ASSIGN and store.holder in maker.parameters[:1]:
            atoms = sorted_values(facts.solution.final(store.value))
            yield from (parameter for parameter in maker.parameters if parameter is store.value)
            yield from (atom.parameter for atom in atoms if isinstance(atom, Argument | Derived))
