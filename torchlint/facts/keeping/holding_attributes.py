"""Attributes that hold what others of the same object are: ``self.optimizer``, which has the weights of ``self.model``.

A class that derives from that of another file gives up the one, and may not see that the other was made of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.keeping.holders import Holders, is_none
from torchlint.facts.keeping.letting_go import LettingGo
from torchlint.facts.summaries.summary import HoldSummary
from torchlint.facts.values.domain import Module
from torchlint.facts.values.graph import Class, Drop, Function, Kind, Place, Value
from torchlint.facts.values.homes import targets_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

LASTING = ("itself", "parameters", "wrapper")
"""How an attribute holds another for as long as nobody takes it away; a list may be emptied, and a graph freed."""


class HoldingAttributes:
    """Answers for the classes of one file."""

    def __init__(self, facts: Facts, holders: Holders) -> None:
        """Ask ``holders`` who holds what."""
        self.facts, self.solution = facts, facts.solution
        self.holders = holders

    def of(self, cls: Class) -> Iterator[HoldSummary]:
        """What attributes of the objects of a class hold of the networks that are others of their attributes."""
        stored = {place.path: list(values) for place, values in self.solution.stored_with(cls)}
        for name in self._networks(cls, stored):
            held = frozenset(made for one in stored[name] if not is_none(one) for made in self.holders.objects(one))
            for other, values in stored.items():
                kept = [one for one in values if other != name and self.holders.how(one, held) in LASTING]
                if kept:
                    by = tuple(dict.fromkeys(self._storing(Place(cls, other), kept)))
                    yield HoldSummary(other, name, self.holders.how(kept[0], held), by)

    def _networks(self, cls: Class, stored: Mapping[str, Sequence[Value]]) -> Iterator[str]:
        """The attributes that are networks, be it by what is done with them."""
        for name, values in stored.items():
            evidence = self.solution.evidence.get(Place(cls, name), ())
            if any(isinstance(atom, Module) for atom in evidence) or any(map(self.holders.is_model, values)):
                yield name

    def _storing(self, place: Place, values: Sequence[Value]) -> Iterator[str]:
        """The methods that put one of the values at a place."""
        for store in self.facts.graph.stores:
            if store.kind is Kind.ASSIGN and store.value in values and place in targets_of(self.solution, store):
                yield store.function.name


class HeldByBases:
    """Answers what the attributes of a base class in another file hold of an attribute that is given up here."""

    def __init__(self, facts: Facts, letting_go: LettingGo) -> None:
        """Ask ``letting_go`` who takes attributes away."""
        self.facts, self.foreign = facts, facts.graph.foreign
        self._letting_go = letting_go

    def of(self, drop: Drop, released: Collection[Place]) -> Iterator[tuple[Place, str, str]]:
        """The attributes that hold what an object gives up, and that no method of it is seen to take away.

        Args:
            drop: an attribute of the object is given up, in a method.
            released: the attributes that are let go as well.

        Yields:
            the attribute, how it holds what is given up, and the name of the file that puts it there.
        """
        cls = drop.function.owner
        if cls is None or drop.holder not in drop.function.parameters[:1]:
            return
        for base in cls.lineage():
            for hold in self.foreign.held_by.get(base, ()):
                place, maker = Place(cls.root(), hold.attribute), self._maker(cls, base, hold)
                if hold.of == drop.attribute and maker is not None and place not in released:
                    if not self._is_taken_away(cls, hold.attribute):
                        yield place, hold.how, self.foreign.files[maker]

    def _maker(self, cls: Class, base: Class, hold: HoldSummary) -> Function | None:
        """The method of a base that puts there what holds, where objects of a class have it or call it by theirs."""
        for name in hold.by:
            method = base.method(name)
            if method is not None and (cls.method(name) is method or self.facts.solution.callers.get(method)):
                return method
        return None

    def _is_taken_away(self, cls: Class, attribute: str) -> bool:
        """Whether any method of an object takes an attribute away, or another file of the run does."""
        classes = cls.lineage()
        if any(attribute in self.foreign.let_go.get(one, ()) for one in classes):
            return True
        own = (method for one in classes if not one.is_foreign for method in one.methods.values())
        is_own = any((0, attribute) in self._letting_go.by(method) for method in own)
        return is_own or self.facts.others_let_go(attribute)
