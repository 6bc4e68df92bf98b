"""What the helpers of an object keep of its model: a list in ``self.gauge`` to which the model was handed.

The class of the helper may stand in this file or in another one, of which a summary tells what a method keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from torchlint.facts.keeping.holders import Holders, is_none
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Class, Drop, Op, Place, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


class HeldByParts:
    """Answers for the attributes of one file that are given up."""

    def __init__(self, facts: Facts, holders: Holders) -> None:
        """Ask ``holders`` who holds what."""
        self.facts = facts
        self.solution = facts.solution
        self.holders = holders

    def of(
        self,
        drop: Drop,
        owners: Collection[Class],
        held: frozenset[Value],
        released: Collection[Place],
        keeps_on: Callable[[str, Value], bool],
    ) -> Iterator[tuple[str, str, Value]]:
        """What the other attributes of an object hold of what it gives up.

        Args:
            drop: an attribute is given up.
            owners: the classes of the object.
            held: the values that made what is given up.
            released: the attributes that are let go as well.
            keeps_on: says of a value, and how it holds, that it is not let go.

        Yields:
            the holder as the program would write it, how it holds, and what it is.
        """
        prefix = drop.path.rpartition(".")[0]
        for place, part in self._parts(owners):
            if place in released:
                continue
            name = f"{prefix}.{place.path}"
            for inner, values in self.solution.stored.items():
                if inner.owner is part and "." not in inner.path and inner not in released:
                    found = ((self.holders.how(one, held), one) for one in values if not is_none(one))
                    held_by = next(
                        ((how, one) for how, one in found if how == "container" and keeps_on(how, one)), None
                    )
                    if held_by is not None:
                        yield f"{name}.{inner.path}", *held_by
            if part.is_foreign:
                yield from self._kept_elsewhere(name, place, drop, held)

    def _parts(self, owners: Collection[Class]) -> Iterator[tuple[Place, Class]]:
        """The attributes of an object that hold objects of other classes, each with the class."""
        for place, values in self.solution.stored.items():
            if place.owner in owners and "." not in place.path:
                atoms = (atom for value in values for atom in self.solution.final(value))
                roots = {atom.cls.root() for atom in atoms if isinstance(atom, Instance)}
                yield from ((place, root) for root in sorted(roots, key=lambda cls: cls.name) if root not in owners)

    def _kept_elsewhere(
        self, name: str, place: Place, drop: Drop, held: frozenset[Value]
    ) -> Iterator[tuple[str, str, Value]]:
        """What a method of another file adds to a container of its object, where no other method lets go of it."""
        calls = [call for call in self.facts.calls() if self._is_of(call, place)]
        keeping = [(call, attribute) for call in calls for attribute in self._added_to(call, held)]
        others = {call.callee.name for call in calls} - {call.callee.name for call, _ in keeping}
        if keeping and not others:
            call, attribute = keeping[0]
            yield f"{name}.{attribute}", "container", call

    def _is_of(self, call: Value, place: Place) -> bool:
        """Whether a CALL is of a method of what an attribute holds."""
        return call.callee.op is Op.ATTRIBUTE and place in self.solution.read_from(call.callee.inputs[0])

    def _added_to(self, call: Value, held: frozenset[Value]) -> Iterator[str]:
        """The attributes of its object to whose content a method of another file adds one of ``held``."""
        for function in self.solution.functions_of(call):
            for keep in self.solution.graph.foreign.keeps.get(function, ()):
                given = self.solution.passed(call, function, keep.position)
                is_whole = keep.grows and not keep.bounded and not keep.is_computed and not keep.of and keep.into == 0
                if is_whole and given is not None and self.holders.objects(given) & held:
                    yield keep.attribute
