"""What a forward gives that goes on to a function which differentiates: a projection, a solver, a penalty elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

__all__ = ["HandedToTraining"]

KEEPING = (Op.PHI, Op.NARROWED, Op.SUBSCRIPT, Op.ELEMENT, Op.OPERATION, Op.CONTAINER)
"""What has the graph of what it is made of, or of a part of that."""


class HandedToTraining:
    """Answers it for the calls of one file."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Ask ``steps`` which functions run a backward."""
        self.solution, self.steps = solution, steps

    def has(self, call: Value) -> bool:
        """Whether what a CALL gives, be it in a dictionary written around it, is an argument where a backward runs."""
        return any(self._trains_on(value, user) for value in reached([call], self._onward) for user in value.users)

    def _onward(self, value: Value) -> Sequence[Value]:
        kept = [user for user in value.users if user.op in KEEPING]
        return [*kept, *self._written_around.get(value, ())]

    def _trains_on(self, value: Value, user: Value) -> bool:
        is_given = user.op is Op.CALL and value in user.arguments
        return is_given and any(map(self.steps.trains, self.solution.functions_of(user)))

    @cached_property
    def _written_around(self) -> dict[Value, list[Value]]:
        """The dictionaries that are written around each one: ``{**batch, **out}``."""
        found: dict[Value, list[Value]] = {}
        for made, mapping in self._spreads():
            found.setdefault(mapping, []).append(made)
        return found

    def _spreads(self) -> Iterator[tuple[Value, Value]]:
        for made, spreads in self.solution.graph.spreads.items():
            yield from ((made, mapping) for mapping, _ in spreads)
