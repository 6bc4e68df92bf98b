"""Models that are taken out of one table while another one, which was filled along with it, has them still.

``model = self.models.pop(name)``, ``del model``: where ``self.optimizers[name]`` was made for it, or a pipeline with it
was put under the same name elsewhere, nothing is freed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.autograd.insertions import is_bounded
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.unloaded import Holder
from torchlint.facts.values.graph import Drop, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.writing import text_of, written_key

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.asking_back import AskingBack

TAKING = "pop"
"""The method by which a table gives up what it has under a name."""

LASTING = frozenset(["itself", "parameters", "wrapper", "container"])
"""The ways to hold a model that end with the entry of a table."""


class TakenBeside:
    """Says of the models of one file that are given up which other table has them."""

    def __init__(self, facts: Facts, asking: AskingBack, holders: Holders) -> None:
        """Ask ``asking`` where memory is asked back, ``holders`` who holds what."""
        self.facts, self.solution = facts, facts.solution
        self.asking, self.holders = asking, holders

    def holder_of(self, drop: Drop) -> Holder | None:
        """The table that keeps what a variable was given by another one, and from which nothing is ever taken."""
        taken = drop.value.unnarrowed() if drop.value is not None else None
        if taken is None or taken.op is not Op.CALL or taken.callee.op is not Op.ATTRIBUTE:
            return None
        if taken.callee.name != TAKING or not self.asking.is_asked_after(drop):
            return None
        own = self._tables(taken.callee.inputs[0])
        filling = self._filling() if own else []
        for put in filling:
            if own.isdisjoint(self._tables_of(put)) or not self.holders.is_model(put.value):
                continue
            held = self.holders.objects(put.value)
            for beside in filling:
                if beside.function is put.function and self._is_same_key(beside, put):
                    how = self.holders.how(beside.value, held)
                    tables = self._tables_of(beside)
                    if how in LASTING and tables and own.isdisjoint(tables) and not self._gives_up(tables):
                        name = f"{text_of(beside.target, beside.holder or beside.value)}{written_key(beside)}"
                        return Holder(name, how, beside.value)
        return None

    def _filling(self) -> list[Store]:
        """What is put into tables under a name that is computed."""
        return [s for s in self.facts.graph.stores if s.kind is Kind.INSERT and s.is_item and s.index is not None]

    def _is_same_key(self, one: Store, other: Store) -> bool:
        if one is other or one.index is None or other.index is None:
            return False
        written = [index.syntax for index in (one.index, other.index)]
        return one.index is other.index or (
            None not in written and len({self.facts.code(node) for node in written if node is not None}) == 1
        )

    def _tables_of(self, store: Store) -> set[Place | Value]:
        return self._tables(store.holder) if store.holder is not None else set()

    def _tables(self, holder: Value) -> set[Place | Value]:
        """The containers that a holder may be, and their attributes and variables; none where one empties itself."""
        homes = homes_of(self.solution, holder)[1:]
        if any(isinstance(one, Value) and is_bounded(one) for one in homes):
            return set()
        return set(homes) if any(isinstance(one, Place) for one in homes) else set()

    def _gives_up(self, tables: set[Place | Value]) -> bool:
        """Whether anything in the file takes something out of a table, or sets it anew."""
        return any(not tables.isdisjoint(homes_of(self.solution, reset.holder)) for reset in self.facts.graph.resets)
