"""Where containers begin: what holds them for longest, and where that is made."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from torchlint.facts.values.domain import ClassReference, Container, sorted_values
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Op, Place, Value
from torchlint.facts.values.homes import targets_of
from torchlint.facts.values.sizes import COMPREHENSIONS
from torchlint.facts.values.solve import Solution

MADE = (Op.CONTAINER, Op.CALL, Op.OPERATION)
"""What makes a holder where it runs."""


@dataclass(frozen=True)
class Position:
    """A place at which something runs.

    Attributes:
        function: in which it is.
        loop: the innermost around it there, None for none.
    """

    function: Function
    loop: Loop | None


class Births:
    """Answers it for one file."""

    def __init__(self, solution: Solution) -> None:
        """Work on ``solution``; the tables are made when they are first asked for."""
        self.solution = solution

    def of(self, allocation: Value) -> list[Position]:
        """Where a container was made; for one that is kept in another, where that one was made."""
        return self._of(allocation, set())

    def _of(self, allocation: Value, seen: set[Value]) -> list[Position]:
        seen.add(allocation)
        around = (container for container in self.kept_in.get(allocation, ()) if container not in seen)
        outer = [container for container in around if not _is_made_within(container, allocation.loop)]
        outer = [container for container in outer if not _shows(container, allocation)] or outer
        if outer:
            return [position for container in outer for position in self._of(container, seen)]
        begun = [place.owner for place in self.begun_at.get(allocation, ())] if allocation.op in MADE else []
        if begun:
            return [Position(made.function, made.loop) for owner in begun for made in self.objects_of.get(owner, ())]
        return [Position(allocation.function, allocation.loop)] if allocation.op in MADE else []

    @cached_property
    def begun_at(self) -> dict[Value, list[Place]]:
        """What is made only where an attribute or a global has nothing yet, with these.

        It lives as long as the object: ``if not hasattr(self, "rows"): self.rows = []``.
        """
        graph, table = self.solution.graph, defaultdict[Value, list[Place]](list)
        for store in graph.stores:
            if store.kind is Kind.ASSIGN and store.value in graph.beginnings:
                places = [target for target in targets_of(self.solution, store) if isinstance(target, Place)]
                lasting = (one for one in places if isinstance(one.owner, Class) or one.owner is graph.module)
                table[store.value] += lasting
        return table

    @cached_property
    def objects_of(self) -> dict[Function | Class | Value, list[Value]]:
        """The calls that make objects, by the root of their class."""
        table: dict[Function | Class | Value, list[Value]] = defaultdict(list)
        for call in self.solution.graph.of(Op.CALL):
            for atom in sorted_values(self.solution.final(call.callee)):
                if isinstance(atom, ClassReference):
                    table[atom.cls.root()].append(call)
        return table

    @cached_property
    def kept_in(self) -> dict[Value, list[Value]]:
        """For each container, the containers into which it is put; the pair that ``items()`` gives is nobody's home."""
        table: dict[Value, list[Value]] = defaultdict(list)
        for container, items in self.solution.held.items():
            if container.op is Op.CONTAINER and container.syntax is None:
                continue
            for _, item in items:
                for atom in sorted_values(self.solution.final(item)):
                    if isinstance(atom, Container) and atom.allocation is not container:
                        table[atom.allocation].append(container)
        return table


def _shows(container: Value, item: Value) -> bool:
    """``(table[name] for name in names)``: whether a comprehension has a container that something else holds."""
    return isinstance(container.syntax, COMPREHENSIONS) and item not in container.inputs


def _is_made_within(container: Value, loop: Loop | None) -> bool:
    """Whether a container is made anew in each turn of a loop inside ``loop``, the innermost around what it holds."""
    around = container.loop.around() if container.loop is not None else []
    return container.loop is not loop and (loop is None or loop in around) and bool(around)
