"""Containers that give up their oldest items once they are full: ``if len(rows) > 99: rows.pop(0)``, ``rows[-99:]``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.values.choices import joined_into, with_joins
from torchlint.facts.values.graph import Function, Op, Place, Store, Value
from torchlint.facts.values.homes import allocations_of, homes_of, targets_of
from torchlint.facts.values.literals import literal
from torchlint.facts.values.solve import Solution

__all__ = ["Windows"]


class Windows:
    """Answers it for the containers of one file."""

    def __init__(self, solution: Solution) -> None:
        """Work on ``solution``; nothing is looked up yet."""
        self.solution = solution

    def has(self, homes: Collection[Place | Value]) -> bool:
        """Whether one of the places and containers is kept at a length."""
        return not self._thinned.isdisjoint(homes) or not self._cut.isdisjoint(homes)

    @cached_property
    def _thinned(self) -> frozenset[Place | Value]:
        """What loses a range, or items that nobody uses in a function that asks how many there are."""
        thrown = (one for one in self.solution.graph.resets if one.is_thrown_away)
        resets = [one for one in thrown if not one.is_item or one.function in self._measuring]
        homes = frozenset(home for one in resets for home in homes_of(self.solution, one.holder)[1:])
        return homes.union(one.holder for one in resets if one.holder.op is Op.PARAMETER)

    @cached_property
    def _measuring(self) -> frozenset[Function]:
        """The functions that compare a length with something: ``while len(self.rows) > self.most:``.

        Who asks whether there is anything at all takes all of it, one by one.
        """
        compared = (one.inputs for one in self.solution.graph.of(Op.COMPARISON))
        return frozenset(p.function for parts in compared for p in parts if _is_length(p) and not self._has_zero(parts))

    def _has_zero(self, parts: Sequence[Value]) -> bool:
        return any(literal(self.solution, part) == 0 for part in parts)

    @cached_property
    def _cut(self) -> frozenset[Place | Value]:
        """What becomes a range of itself: ``rows = rows[-99:]``, ``self.rows = self.rows[1:]``."""
        ranges = [part for part in self.solution.graph.of(Op.SUBSCRIPT) if _is_range(part)]
        found = {home for part in ranges for home in self._going_on(part)}
        return frozenset(found.union(home for store in self.solution.graph.stores for home in self._stored_back(store)))

    def cuts(self, store: Store) -> bool:
        """Whether a store puts nothing in that was not there: ``rows[:] = rows[-99:]``."""
        return any(True for _ in self._stored_back(store))

    def _going_on(self, part: Value) -> Iterator[Value]:
        """The containers of a variable that a range of itself replaces."""
        whole = part.inputs[0]
        if not set(joined_into(part)).isdisjoint(with_joins([whole])):
            yield from allocations_of(self.solution, whole)

    def _stored_back(self, store: Store) -> Iterator[Place | Value]:
        """What is read from where a range of it is stored."""
        if not _is_range(store.value):
            return
        whole = store.value.inputs[0]
        homes = homes_of(self.solution, whole)[1:]
        holder = homes_of(self.solution, store.holder) if store.holder is not None and store.is_item else []
        if not {*targets_of(self.solution, store), *holder}.isdisjoint(homes):
            yield from homes


def _is_length(part: Value) -> bool:
    return part.op is Op.CALL and part.callee.name == "builtins.len"


def _is_range(part: Value) -> bool:
    """``rows[1:]``, ``rows[-99:]``, ``rows[:99]``"""
    elements = part.syntax.slice if part.op is Op.SUBSCRIPT and isinstance(part.syntax, cst.Subscript) else ()
    node = elements[0].slice if len(elements) == 1 else None
    return isinstance(node, cst.Slice) and node.step is None and (node.lower is None) != (node.upper is None)
