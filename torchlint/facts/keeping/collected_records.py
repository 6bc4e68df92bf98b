"""Records of a turn that a pass puts aside: ``rows.append({"name": name, "mask": net(x)})``, and what becomes of each
of the things in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.keeping.fates import End, Fates
from torchlint.facts.values.graph import Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.writing import Use, operands

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Field:
    """One thing in a record.

    Attributes:
        written: the thing, as it is written where it is put there.
        ends: what becomes of it by being taken of the record.
    """

    written: Use
    ends: list[End]


class CollectedRecords:
    """Answers it for one file."""

    def __init__(self, facts: Facts, fates: Fates) -> None:
        """Work on ``facts``; ``fates`` know where things go."""
        self.facts, self.solution, self.fates = facts, facts.solution, fates

    def of(self, item: Value) -> Iterator[Field]:
        """The things in an item of a list; none for what is no record, or if it is not seen which one."""
        if makes_record(self.facts, item):
            written = {use.value: use for use in operands(item)}
            for argument in item.arguments:
                yield Field(written.get(argument, Use(argument, None)), self.fates.of_argument(item, argument))
            return
        for record in allocations_of(self.solution, item):
            if isinstance(record.syntax, cst.Dict | cst.Tuple):
                uses = (*operands(record), *self._put_later(record)) if record.function is item.function else ()
                written = {use.value: use for use in uses}  # what another function makes, others may train on
                for key, part in self.solution.held.get(record, ()):
                    yield Field(written.get(part, Use(part, None)), self.fates.of_item(record, key))

    def _put_later(self, record: Value) -> Iterator[Use]:
        """``row["mask"] = mask``: what is put into a record behind its making."""
        for store in self.facts.graph.stores:
            if store.is_item and store.holder is not None and record in allocations_of(self.solution, store.holder):
                yield Use(store.value, store.syntax if isinstance(store.syntax, cst.BaseExpression) else None)
