"""Which fields of the records that a class keeps its methods give on with a graph, or train on.

A replay memory keeps ``(seen, action, odds, value)`` of each step and samples the first two: for the others' graphs
nobody has any use, whoever trains on what it samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.keeping.by_field import EACH, ByField
from torchlint.facts.values.domain import is_graphless
from torchlint.facts.values.graph import Class, Function, Loop, Op, Place, Value
from torchlint.facts.values.parameters import LISTING, spread_as
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.record_fields import CHOOSING
from torchlint.facts.values.writing import is_slice

if TYPE_CHECKING:
    from torchlint.facts import Facts

_TAKING = frozenset(["pop", "popleft"])
"""Methods of a list that give one of the rows."""

_CHANGING = frozenset(["append", "appendleft", "extend", "insert", "clear", "remove", "sort", "reverse"])
"""Methods of a list that give none."""


class FieldsRead:
    """Answers it for one file."""

    def __init__(self, facts: Facts, by_field: ByField) -> None:
        """Work on ``facts``; ``by_field`` knows the fields of records."""
        self.facts, self.solution, self.by_field = facts, facts.solution, by_field

    def of(
        self, readers: Sequence[str], kept: Value, owner: Class | None, attribute: str
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The fields that each of the ``readers``, methods of a class, gives on of the records in its attribute.

        A method that may give all of a record, or do with it what is not seen, is left out.

        Args:
            readers: their names.
            kept: what is put there, a new record or a starred parameter whose values make up a tuple.
            owner: the class.
            attribute: where the class keeps the records.
        """
        is_record = self.by_field.names(kept) or kept.op is Op.PARAMETER
        if owner is None or not is_record:
            return ()
        place, names = Place(owner.root(), attribute), self.by_field.names(kept) or (EACH,)
        methods = ((name, owner.method(name)) for name in readers)
        read = ((name, self._given_on(method, place, names)) for name, method in methods if method is not None)
        return tuple((name, fields) for name, fields in read if fields is not None)

    def _given_on(self, method: Function, place: Place, names: tuple[str, ...]) -> tuple[str, ...] | None:
        fields = self._fields_read(method, place, names)
        if fields is None:
            return None
        return tuple(sorted({name for name, read in fields if self._goes_on(method, read)}))

    def _fields_read(self, method: Function, place: Place, names: tuple[str, ...]) -> list[tuple[str, Value]] | None:
        """What a method reads of each record, by the field; None where it does anything else with one, or with all."""
        rows = [one for one in self._reads.get(method, ()) if place in self.solution.read_from(one)]
        records, fields = list[Value](), list[tuple[str, Value]]()
        seen = set(rows)
        while rows or records:
            is_row = not records
            value = rows.pop() if is_row else records.pop()
            for user in value.users:
                if user in seen or self._is_end(user):
                    continue
                seen.add(user)
                if user is method.result:
                    return None
                if is_row and (columns := self._columns(user, value, names)) is not None:
                    fields += columns
                elif is_row and _is_of_column(user, value):
                    if any(self._leaves(one) for one in reached([user], self._before_columns)):
                        return None
                elif is_row and _is_record(user, value):
                    records.append(user)
                elif is_row and _are_rows(user, value):
                    rows.append(user)
                elif is_row and user.op is Op.ATTRIBUTE and _is_called(user, _TAKING):
                    records += user.users
                elif is_row and user.op is Op.ATTRIBUTE and _is_called(user, _CHANGING):
                    continue
                elif not is_row and user.op is Op.CONTAINER and isinstance(user.syntax, cst.BaseComp):
                    rows.append(user)
                elif not is_row and user.op is Op.PHI:
                    records.append(user)
                elif not is_row and (name := _field_read(user, names)):
                    fields.append((name, user))
                else:
                    return None
        return fields

    def _columns(self, user: Value, rows: Value, names: tuple[str, ...]) -> list[tuple[str, Value]] | None:
        """``seen, done = zip(*rows)``, ``Step(*zip(*rows))``: under each field what the rows have there.

        Be it that something is made of each column: ``seen, done = (torch.stack(one) for one in zip(*rows))``.
        """
        if not _gives_columns(user, rows):
            return None
        made = user.users[0] if len(user.users) == 1 else user
        if made.op is Op.CALL and spread_as(made, "*") == [user] and self.by_field.names(made) == names:
            found = list(made.users)
        else:
            taken = self._taken_of_columns(user)
            if taken is None:
                return None
            found = taken
        fields = [(_field_read(one, names), one) for one in found]
        return fields if all(name for name, _ in fields) else None

    def _taken_of_columns(self, columns: Value) -> list[Value] | None:
        """What is taken of columns, or of what is made of each of them in their order; None where that is not seen."""
        found, pending = list[Value](), [columns]
        while pending:
            whole = pending.pop()
            in_order = [one for one in whole.users if _keeps_order(one, whole)]
            found += [one for one in whole.users if one not in in_order]
            made = [self._made_in(loop) for loop in self.facts.graph.loops if loop.iterable is whole]
            if None in made or whole in self._kept:
                return None
            pending += [*in_order, *(one for one in made if one is not None)]
        return found

    def _made_in(self, loop: Loop) -> Value | None:
        """The list, or the generator, that has something for each turn of a loop; None for any other loop."""
        turns = loop.syntax
        if not isinstance(turns, cst.CompFor) or turns.ifs or turns.inner_for_in is not None:
            return None
        for made in self.facts.graph.of(Op.CONTAINER):
            if isinstance(made.syntax, cst.GeneratorExp | cst.ListComp) and made.syntax.for_in is turns:
                return made
        return None

    def _before_columns(self, value: Value) -> Iterator[Value]:
        """Where a value goes in the turn of a loop over columns, up to what is made of them."""
        return self._further(value) if not isinstance(value.syntax, cst.BaseComp) else iter(())

    def _is_end(self, user: Value) -> bool:
        """Whether nothing of a graph goes on through a use: a length, a number, what is computed without gradients."""
        is_own = user.op is Op.CALL and bool(self.solution.functions_of(user))
        return not is_own and all(map(is_graphless, self.solution.final(user)))

    def _goes_on(self, method: Function, read: Value) -> bool:
        """Whether what is read, or is computed from it, leaves the method with its graph, is kept, or is trained on."""
        return any(value is method.result or self._leaves(value) for value in reached([read], self._further))

    def _leaves(self, value: Value) -> bool:
        return value in self._kept or self._is_handed_on(value)

    def _further(self, value: Value) -> Iterator[Value]:
        return (user for user in value.users if not self._is_end(user))

    def _is_handed_on(self, value: Value) -> bool:
        """Whether a value is what a function gives that may do with its arguments what is not seen."""
        if value.op is not Op.CALL:
            return False
        return bool(self.solution.functions_of(value)) or self.facts.flows.is_unknown_call(value)

    @cached_property
    def _kept(self) -> frozenset[Value]:
        """What is put anywhere, or is where a backward begins."""
        stored = {store.value for store in self.facts.graph.stores}
        return frozenset(stored.union(backward.root for backward in self.facts.graph.backwards))

    @cached_property
    def _reads(self) -> dict[Function, list[Value]]:
        found: dict[Function, list[Value]] = {}
        for value in self.facts.graph.of(Op.READ, Op.ATTRIBUTE):
            found.setdefault(value.function, []).append(value)
        return found


def _gives_columns(user: Value, rows: Value) -> bool:
    return user.op is Op.CALL and user.callee.name == "builtins.zip" and spread_as(user, "*") == [rows]


def _keeps_order(user: Value, columns: Value) -> bool:
    """``list(zip(*rows))``, ``map(torch.stack, zip(*rows))``: whether a CALL gives something for each column."""
    if user.op is not Op.CALL or user.arguments[-1:] != (columns,):
        return False
    if user.callee.name != "builtins.map":
        return user.callee.name in LISTING and len(user.arguments) == 1
    return len(user.arguments) == 2 and torch_api.function(user.arguments[0].name) is not None


def _is_of_column(user: Value, rows: Value) -> bool:
    """Whether it is what a turn over the columns of rows has of one row: an item of ``column``."""
    source = user.loop.iterable if user.op is Op.ELEMENT and user.loop is not None else None
    while source is not None and source.op is Op.CALL and not _gives_columns(source, rows):
        source = source.arguments[-1] if source.arguments and _keeps_order(source, source.arguments[-1]) else None
    return source is not None and _gives_columns(source, rows)


def _is_record(user: Value, rows: Value) -> bool:
    """``rows[i]``, or what a loop takes of them."""
    return user.op in (Op.ELEMENT, Op.SUBSCRIPT) and user.inputs[0] is rows and not is_slice(user)


def _are_rows(user: Value, rows: Value) -> bool:
    if user.op is Op.SUBSCRIPT:
        return user.inputs[0] is rows
    return user.op is Op.PHI or (user.op is Op.CALL and user.callee.name in CHOOSING and user.arguments[:1] == (rows,))


def _is_called(method: Value, names: frozenset[str]) -> bool:
    return method.name in names and all(one.op is Op.CALL and one.callee is method for one in method.users)


def _field_read(user: Value, names: tuple[str, ...]) -> str:
    """``row.seen``, ``row["seen"]``, ``row[0]`` or the first of what is unpacked; "" for any other use."""
    if user.op is Op.ATTRIBUTE:
        return user.name if user.name in names else ""
    key = user.keys[0] if user.op in (Op.ELEMENT, Op.SUBSCRIPT) and user.keys else None
    if names == (EACH,):
        return str(key) if isinstance(key, int) and key >= 0 else ""
    if isinstance(key, int) and key < len(names) and key >= -len(names):
        return names[key]
    return key if isinstance(key, str) and key in names else ""
