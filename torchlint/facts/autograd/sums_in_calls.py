"""Sums that are handed to a function in each turn and come back with more in them: ``total = step(batch, total)``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchlint.facts.values.choices import choices
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution


@dataclass(frozen=True)
class Handed:
    """A sum that goes through something: a turn of a loop, a function that is called to add to it.

    Attributes:
        before: what it is when that begins: a loop's PHI, a parameter.
        after: what it may be when that ends, one for each way.
    """

    before: Value
    after: tuple[Value, ...]


def sums_in_calls(solution: Solution, turn: Handed) -> Iterator[Handed]:
    """What a sum of a loop is in the functions of this file that are handed it, and in those which these hand it.

    Args:
        solution: of the file.
        turn: what the sum is before and after a turn.

    Returns:
        one for each parameter that takes the sum, where the function gives back what it is then.
    """
    found = reached([turn], lambda handed: list(_within(solution, handed)))
    return (handed for handed in found if handed is not turn)


def _within(solution: Solution, handed: Handed) -> Iterator[Handed]:
    for given in _choices_of(handed.after):
        call = given.inputs[0] if given.op is Op.ELEMENT else given
        for function in solution.functions_of(call) if call.op is Op.CALL else ():
            if function.is_foreign or is_forward(function):
                continue  # a state that goes through a layer is carried, which is no sum
            taken = solution.callers[function].get(call, {})
            results = choices(function.result)
            if given.op is Op.ELEMENT:
                results = [item for result in results for item in _items(result, given)]
            yield from (Handed(to, tuple(results)) for to, argument in taken.items() if argument is handed.before)


def _choices_of(values: Iterable[Value]) -> list[Value]:
    """What each of ``values`` is on the paths that join in it."""
    return [choice for value in values for choice in choices(value)]


def _items(result: Value, taken: Value) -> list[Value]:
    """What stands in a tuple or dictionary, which a function builds to return it, where an ELEMENT takes it out."""
    if result.op is not Op.CONTAINER:
        return []
    return [item for key, item in zip(result.keys, result.inputs, strict=True) if key == taken.keys[0]]
