"""The attributes and variables whose containers collect graphs: what is told of these explains what lies in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Place, Value
from torchlint.facts.values.homes import homes_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


def collecting(facts: Facts) -> frozenset[Place]:
    """Where containers are kept in which graphs pile up, or that go into such a one: ``rows.append(self.row)``."""
    holders = [*(one.holder for one in facts.insertions), *(one.holder for one in facts.records)]
    told = {home for holder in holders for home in homes_of(facts.solution, holder)}
    places = facts.solution.stored.items() if told else ()
    return frozenset(one for one, kept in places if not told.isdisjoint([*kept, *_around(facts, kept)]))


def _around(facts: Facts, values: Sequence[Value]) -> list[Place | Value]:
    """Where the containers are kept into which one of ``values`` goes."""
    made: list[Place | Value] = [value for value in values if value.op is Op.CONTAINER]
    return facts.lifetimes.homes_around(made) if made else []
