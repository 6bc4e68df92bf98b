"""Tensors that are made once and written in place, part by part: ``self.values[i] = value``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.autograd.liveness import ENDS
from torchlint.facts.turns.handoffs import origins
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Kind, Op, Value
from torchlint.facts.values.homes import readers_of, targets_of
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.written_tables import begins_without_graph

if TYPE_CHECKING:
    from torchlint.facts import Facts

THROUGH = (Op.PHI, Op.PARAMETER, Op.READ, Op.ATTRIBUTE)
"""How a buffer comes to where it is written from where it was made."""


def whole_of(facts: Facts, value: Value) -> Value:
    """The tensor into which a write goes: ``values`` for ``values[i][j] = value``, of which a view is written."""
    while value.op is Op.SUBSCRIPT and begins_without_graph(facts.solution, value.inputs[0]):
        value = value.inputs[0]
    return value


def buffers_of(facts: Facts, whole: Value) -> list[Value]:
    """Where a buffer may have been made; nothing where it may be more than a tensor that was made without a graph."""
    made = [origin for origin in origins(facts, whole) if origin.op not in THROUGH]
    return made if all(begins_without_graph(facts.solution, one) for one in made) else []


def is_trained_on(facts: Facts, made: Sequence[Value]) -> bool:
    """Whether something that is computed from a buffer flows into a backward; followed forwards.

    Args:
        facts: of the file.
        made: where the buffer was made.
    """
    roots = {backward.root for backward in facts.graph.backwards}
    return any(
        value in roots or (value in facts.flows.trained and value not in made) for value in _computed_with(facts, made)
    )


def is_read_by_forward(facts: Facts, written: Value) -> bool:
    """Whether a network computes what it gives with all that was ever written into a buffer: keys and values.

    A second step would train through what the first has freed, and raise: it is no network in training that fills it.
    """
    made = buffers_of(facts, whole_of(facts, written))
    return any(value is value.function.result and is_forward(value.function) for value in _computed_with(facts, made))


def _computed_with(facts: Facts, made: Sequence[Value]) -> Iterator[Value]:
    """The buffers, wherever they are found again, and what is computed from them with a graph."""

    def goes_on(value: Value) -> Iterator[Value]:
        is_end = value.op is Op.CALL and (value.name.rpartition(".")[2] in ENDS or not facts.modes.records(value))
        return iter(()) if is_end and value not in made else _further(facts, value)

    return reached(made, goes_on)


def _further(facts: Facts, value: Value) -> Iterator[Value]:
    """What is made of a value, and where it is found again: at the callers of the function that returns it, as a
    parameter, in an attribute.
    """
    solution = facts.solution
    for user in value.users:
        functions = solution.functions_of(user) if user.op is Op.CALL else []
        for function in functions:
            yield from (p for p, given in solution.callers[function][user].items() if given is value)
        if not functions or any(one.is_foreign or one.name == "__init__" for one in functions):
            yield user  # of functions of the file, what they make of it comes back by what they return
    if value is value.function.result:
        yield from solution.callers.get(value.function, {})
    for store in facts.stores_of.get(value, ()):
        if store.kind is Kind.ASSIGN:
            yield from readers_of(solution, targets_of(solution, store))
