"""What functions take away from the objects that they are given: ``self.model = None``, ``del trainer.optimizer``.

Who was made with a model holds it no longer, once all of its attributes that do are gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.keeping.holders import Holders, is_none
from torchlint.facts.values.domain import Instance, Tool
from torchlint.facts.values.graph import Function, Kind, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


class LettingGo:
    """Answers for the functions of one file, and for those of other files that it calls."""

    def __init__(self, facts: Facts, holders: Holders) -> None:
        """Ask ``holders`` who holds what."""
        self.facts = facts
        self.solution = facts.solution
        self.holders = holders
        self._known: dict[Function, tuple[tuple[int, str], ...]] = {}

    def by(self, function: Function) -> tuple[tuple[int, str], ...]:
        """The attributes that a function takes away, each behind the parameter, from 0, whose object had it."""
        if function.is_foreign:
            return self.solution.graph.foreign.releases.get(function, ())
        if function not in self._known:
            self._known[function] = ()  # a cycle of calls takes no more than it takes
            places = {parameter: i for i, parameter in enumerate(function.parameters)}
            taken = ((places[one], name) for one, name, _ in self._taken_in(function) if one in places)
            self._known[function] = tuple(dict.fromkeys(taken)) if function.name != "__init__" else ()
        return self._known[function]

    def has_let_go(self, value: Value, held: frozenset[Value], function: Function, until: int | None) -> bool:
        """Whether an object no longer has what it was made with, for what a function does to it.

        Args:
            value: the object, as the function has it.
            held: what the object was made with.
            function: which may take it away, or have it taken away.
            until: the place, if any, behind which it is too late.
        """
        objects = self.holders.objects(value)
        gone = {
            name
            for one, name, index in self._taken_in(function)
            if (until is None or index <= until) and self.holders.objects(one) & objects
        }
        return bool(gone) and gone.issuperset(self._holding(value, held))

    def _holding(self, value: Value, held: frozenset[Value]) -> Iterator[str]:
        """The attributes of an object that hold one of ``held``; any optimizer does, if another file made it."""
        roots = {atom.cls.root() for atom in self.solution.final(value) if isinstance(atom, Instance)}
        for place, values in self.solution.stored.items():
            if place.owner in roots and "." not in place.path:
                if any(not is_none(one) and (self.holders.how(one, held) or self._trains(one)) for one in values):
                    yield place.path

    def _trains(self, value: Value) -> bool:
        atoms = self.solution.final(value) if value.op is Op.GIVEN else ()
        return any(isinstance(atom, Tool) and atom.kind in ("optimizer", "scheduler") for atom in atoms)

    def _taken_in(self, function: Function) -> Iterator[tuple[Value, str, int]]:
        """(object, attribute, place) of what a function takes away, by itself or by what it calls."""
        yield from self._written.get(function, ())
        for call in self.facts.steps.calls_in(function):
            for callee in self.solution.functions_of(call):
                for position, name in self.by(callee):
                    given = self.solution.passed(call, callee, position)
                    if given is not None:
                        yield given, name, call.index

    @cached_property
    def _written(self) -> dict[Function, list[tuple[Value, str, int]]]:
        """What the functions of the file delete or set to None."""
        table: dict[Function, list[tuple[Value, str, int]]] = defaultdict(list)
        for drop in self.facts.graph.drops:
            if drop.holder is not None and drop.is_deleted:
                table[drop.function].append((drop.holder, drop.attribute, drop.index))
        for store in self.facts.graph.stores:
            if store.kind is Kind.ASSIGN and store.attribute and store.holder is not None and is_none(store.value):
                table[store.function].append((store.holder, store.attribute, store.value.index))
        return table
