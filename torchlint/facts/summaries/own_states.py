"""What a method leaves on its own object with a graph, and what it goes on from that was left there before."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Function, Kind, Op, Store


class OwnStates:
    """Answers it for the methods of one file."""

    def __init__(self, flows: Flows) -> None:
        """Look when first asked."""
        self.flows = flows

    def left_by(self, function: Function) -> tuple[str, ...]:
        """The attributes that a method sets, by itself, to what has a graph; in alphabetical order."""
        stores = (store for store in self._stores[function] if store.kind is Kind.ASSIGN and store.attribute)
        return tuple(sorted({store.attribute for store in stores if store.holder in function.parameters[:1]}))

    def continued_by(self, function: Function) -> tuple[str, ...]:
        """The attributes of which a method reads what has a graph, be it a container; in alphabetical order.

        What it has set before it reads it is none of them.
        """
        own = function.parameters[:1] if function.owner is not None else []
        reads = {user for one in own for user in one.users if user.op is Op.ATTRIBUTE}
        live = {read.name for read in reads if self.flows.live_parts(read)}
        live |= {store.holder.name for store in self._stores[function] if store.holder in reads and store.holder}
        return tuple(sorted(live))

    @cached_property
    def _stores(self) -> dict[Function, list[Store]]:
        """By function, what has a graph and is kept on an object or in a container."""
        found: dict[Function, list[Store]] = defaultdict(list)
        for store in self.flows.solution.graph.stores:
            if store.holder is not None and store.function.owner is not None and self.flows.live_parts(store.value):
                found[store.function].append(store)
        return found
