"""Fields of records that an object keeps, and that none of its methods gives on with a graph.

A replay memory keeps ``(seen, action, reward)`` of each step, and its ``sample`` detaches the rewards: whoever trains
on what it samples has no use for their graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.by_field import ByField
from torchlint.facts.keeping.fields_read import FieldsRead
from torchlint.facts.values.graph import Op, Place, Store
from torchlint.facts.values.homes import readers_of

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.values.writing import Use


def left_in(facts: Facts, statement: cst.CSTNode, parts: Sequence[Use]) -> list[Use]:
    """The ``parts`` of a record, put into a list of an object by a statement, that nobody reads with their graphs.

    Empty where what is put there is no record, or where a record may be read by code that is not a method of the
    object, or that does with it what is not seen.
    """
    fields = ByField(facts)
    for store in facts.graph.stores:
        given_on = _given_on(facts, fields, store) if store.statement is statement else None
        if given_on is not None:
            named = ((use, fields.fields(store.value, use.value)) for use in parts)
            return [use for use, names in named if names and given_on.isdisjoint(names)]
    return []


def _given_on(facts: Facts, fields: ByField, store: Store) -> frozenset[str] | None:
    """The fields of the records in an attribute which methods of the object give on; None where that is not known."""
    owner, holder = store.function.owner, store.holder
    if owner is None or holder is None or holder.op is not Op.ATTRIBUTE:
        return None
    place = Place(owner.root(), holder.name)
    reads = readers_of(facts.solution, [place])
    if any(one.function.owner is not owner for one in reads) or holder not in reads:
        return None
    readers = dict.fromkeys(one.function.name for one in reads)
    known = dict(FieldsRead(facts, fields).of(list(readers), store.value, owner, holder.name))
    return frozenset(name for names in known.values() for name in names) if len(known) == len(readers) else None
