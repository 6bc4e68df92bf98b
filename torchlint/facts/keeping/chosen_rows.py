"""Rows of a batch that are kept where something of the row says so, each with the memory of all rows.

Row after row a loop takes all of a tensor, and who keeps each of them keeps no more than that. Who keeps those that are
hard, or that are drawn, keeps the others as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.building.names import assigned_in, paths_read
from torchlint.facts.keeping.ways import View
from torchlint.facts.values.draws import is_drawn
from torchlint.facts.values.graph import Loop, Op, Store, Value
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.writing import text_of
from torchlint.syntax.conditions import holding

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.views import Views


class ChosenRows:
    """Answers for the insertions of one file which of them keep some rows of a tensor."""

    def __init__(self, facts: Facts, views: Views) -> None:
        """Look at the statements of ``facts`` when asked."""
        self.facts, self.views = facts, views

    def of(self, store: Store, item: Value) -> View | None:
        """The tensor of which a statement puts a row somewhere, if it takes some of those that a loop goes over."""
        row = unpacked(item)
        rows = self.views.rows_of(row) if row.op is Op.ELEMENT else None
        if rows is None or row.loop is None or not self._is_chosen(store, row.loop):
            return None
        # `x.cpu()` may be a copy, which is as large.
        base = self.views.base_of(rows) or next(ends([rows], self._given), rows)
        return View(base, row, surely_smaller=False, entered=None)

    def is_put_anywhere(self, store: Store) -> bool:
        """Whether a number that is drawn says whose place a row takes: a reservoir keeps rows of all batches."""
        return store.is_item and store.index is not None and is_drawn(self.facts.solution, store.index)

    def _given(self, rows: Value) -> Sequence[Value]:
        """What callers pass where a function goes over the rows of what it is given, if that is one thing."""
        given = self.facts.solution.arguments_of(rows) if rows.op is Op.PARAMETER else []
        return given if len(given) == 1 else []

    def _is_chosen(self, store: Store, loop: Loop) -> bool:
        """Whether a condition on what differs from turn to turn decides, and not how full it is that takes the row."""
        varying = {name for name in assigned_in(loop.syntax) if name.isidentifier()}
        holder = text_of(store.target, store.holder) if store.holder is not None else ""
        asked = holding(self.facts.parents, store.statement) if store.statement is not None else ()
        reads = (paths_read(test) for test, _ in asked)
        return any(holder not in read and not read.isdisjoint(varying) for read in reads)
