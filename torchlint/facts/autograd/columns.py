"""Lists of rows that one function makes, fills and takes apart: what it takes out of a row at a place was put in there.

A rollout keeps ``(seen, worth, reward)`` of each step, reads ``worth.data`` of each row and trains on what was seen:
nothing of the worths flows into that training, though they lie in the same rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.values.domain import is_graphless
from torchlint.facts.values.graph import Kind, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.parameters import spread_as
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.writing import is_slice

SAME_ROWS = frozenset(["builtins.reversed", "builtins.list", "builtins.tuple", "random.sample"])
"""Functions that give the rows that they are given, or some of them."""


@dataclass(frozen=True)
class Rows:
    """A list of rows of which all is seen.

    Attributes:
        made: the list.
        rows: all that is put into it: tuples and lists of one length, which stay as they are.
        read: all that is taken out of the rows, with its place there.
    """

    made: Value
    rows: tuple[Value, ...]
    read: dict[Value, int]

    def at(self, place: int) -> list[Value]:
        """What the rows have at a place."""
        return [row.inputs[place] for row in self.rows]


def lists_of_rows(solution: Solution) -> list[Rows]:
    """Every such list of a file.

    None of those that hold anything else, or of which something else is done, also with one row, but to take a part out
    that has a fixed place.
    """
    filled = defaultdict[Value, list[Store]](list)
    for store in solution.graph.stores:
        for made in _held_by(solution, store):
            filled[made].append(store)
    candidates = {made: rows for made, stores in filled.items() if (rows := _rows_in(made, stores))}
    if not candidates:
        return []  # the most
    elsewhere = solution.graph.of(Op.READ, Op.PARAMETER, Op.ATTRIBUTE)
    known = {made for one in elsewhere for made in allocations_of(solution, one)}
    kept = {store.value for store in solution.graph.stores} | {f.result for f in solution.graph.functions}
    found = []
    for made, rows in candidates.items():
        is_own = made not in known and not any(row in filled for row in rows)
        items = _items_of(solution, made, kept) if is_own else None
        read = _read_of(solution, items, len(rows[0].inputs)) if items is not None else None
        if read is not None:
            found.append(Rows(made, rows, read))
    return found


def _held_by(solution: Solution, store: Store) -> list[Value]:
    """The containers into which a store may put something."""
    return allocations_of(solution, store.holder) if store.holder is not None else []


def _rows_in(made: Value, stores: list[Store]) -> tuple[Value, ...]:
    """All that is put into an empty list, where each is a new row of the same length, in one function; else nothing."""
    if made.op is not Op.CONTAINER or not isinstance(made.syntax, cst.List) or made.inputs:
        return ()
    rows = tuple(store.value.unnarrowed() for store in stores)
    is_added = (one.kind is Kind.INSERT and not one.is_item and one.function is made.function for one in stores)
    if not all(is_added) or not all(map(_is_row, rows, stores)):
        return ()
    return rows if len({len(row.inputs) for row in rows}) == 1 else ()


def _is_row(value: Value, store: Store) -> bool:
    """Whether a value is a tuple or a list that is written out, and only put away."""
    is_written = value.op is Op.CONTAINER and isinstance(value.syntax, cst.Tuple | cst.List)
    is_whole = bool(value.inputs) and list(value.keys) == list(range(len(value.inputs)))
    return is_written and is_whole and all(user is store.call for user in value.users)


def _items_of(solution: Solution, made: Value, kept: Set[Value | None]) -> list[Value] | None:
    """The rows that are taken out of a list, one by one or as columns; None where something else is done with it.

    ``kept``: all that is stored or returned anywhere.
    """
    pending, seen, items = [made], {made}, list[Value]()
    while pending:
        rows = pending.pop()
        for user in (one for one in rows.users if one not in seen and not _has_no_graph(solution, one)):
            seen.add(user)
            is_part = user.op in (Op.ELEMENT, Op.SUBSCRIPT) and user.inputs[0] is rows
            if (is_part and not is_slice(user)) or _is_turned(user, rows):
                items.append(user)
            elif is_part or user.op in (Op.PHI, Op.NARROWED) or _gives_rows(user):
                pending.append(user)
            elif not _only_adds(user) and not _is_unpacked(user):
                return None
    return items if kept.isdisjoint(seen) else None


def _read_of(solution: Solution, items: list[Value], width: int) -> dict[Value, int] | None:
    """What is taken out of rows, with its place there; None where that cannot be told."""
    users = [(user, item) for item in items for user in item.users]
    read = {user: key % width for user, item in users if -width <= (key := _place(user, item, width)) < width}
    return read if all(user in read or _has_no_graph(solution, user) for user, _ in users) else None


def _place(user: Value, row: Value, width: int) -> int:
    """At which fixed place of a row, or of all columns, a use takes something out; ``width`` where that is not told."""
    is_part = user.op in (Op.ELEMENT, Op.SUBSCRIPT) and user.inputs[0] is row and not is_slice(user)
    key = user.keys[0] if is_part else None
    return key if isinstance(key, int) else width


def _has_no_graph(solution: Solution, value: Value) -> bool:
    """``len(rows)``, ``row is None``"""
    return all(map(is_graphless, solution.final(value)))


def _gives_rows(user: Value) -> bool:
    return user.op is Op.CALL and user.callee.name in SAME_ROWS


def _only_adds(user: Value) -> bool:
    """``rows.append``"""
    return user.op is Op.ATTRIBUTE and user.name == "append" and all(one.op is Op.CALL for one in user.users)


def _is_unpacked(user: Value) -> bool:
    """``rows, total = [], 0.0``"""
    return user.op is Op.CONTAINER and not user.users


def _is_turned(user: Value, rows: Value) -> bool:
    """``zip(*rows)``, which has each column where the rows have their part of it."""
    return user.op is Op.CALL and user.callee.name == "builtins.zip" and spread_as(user, "*") == [rows]


def parts_read(lists: list[Rows]) -> Iterator[tuple[Value, list[Value]]]:
    """All that is taken out of rows at a place, each with what they have there."""
    return ((user, one.at(place)) for one in lists for user, place in one.read.items())
