"""Items of a dictionary that others have replaced before it is kept: ``out["loss"] = out["loss"].detach()``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

import libcst as cst

from torchlint.facts.values.graph import Key, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.solve import Solution

__all__ = ["ReplacedItems"]

_Item: TypeAlias = "tuple[Value, Key]"


class ReplacedItems:
    """Answers it for what the stores of one file keep."""

    def __init__(self, solution: Solution) -> None:
        """Work on ``solution``; nothing is looked up yet."""
        self.solution = solution

    def left(self, parts: Iterable[Value], store: Store) -> list[Value]:
        """Those of ``parts``, items of what is stored, that are still in it when it is."""
        return [part for part in parts if not self._is_replaced(part, store)]

    def _is_replaced(self, part: Value, store: Store) -> bool:
        """Whether each dictionary that had a part has another one in its place when the turn that stores it ends."""
        items = [
            (made, key)
            for made in allocations_of(self.solution, store.value)
            for key, held in self.solution.held.get(made, ())
            if held is part
        ]
        return bool(items) and all(self._is_filled_anew(item, part, store) for item in items)

    def _is_filled_anew(self, item: _Item, part: Value, store: Store) -> bool:
        stores = self._filled.get(item, ())
        put_in = [at for at, one in enumerate(stores) if one.value is part]
        later = stores[put_in[-1] + 1 if put_in else 0 :]
        return any(_is_done_with(one, store) for one in later)

    @cached_property
    def _filled(self) -> dict[_Item, list[Store]]:
        """What is assigned to each item of a dictionary that has a constant key, in the order of the file."""
        found: dict[_Item, list[Store]] = defaultdict(list)
        for store in self.solution.graph.stores:
            if store.is_item and store.key is not None and store.holder is not None:
                for made in allocations_of(self.solution, store.holder):
                    found[made, store.key].append(store)
        return found


def _is_done_with(one: Store, other: Store) -> bool:
    """Whether a store is done in each turn, or call, that another one is done in: no condition is on it."""
    if one.function is not other.function or one.loop is not other.loop:
        return False
    around = other.loop or other.function
    body = around.syntax.body if isinstance(around.syntax, cst.For | cst.While | cst.FunctionDef) else None
    return isinstance(body, cst.IndentedBlock) and any(statement is one.statement for statement in body.body)
