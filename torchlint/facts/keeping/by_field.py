"""Records that are kept and given on field by field: a replay memory samples named tuples, and makes one of them.

What is kept under a field is then found again under that name, and nowhere else: who reads only other fields of what
the memory gives has no use for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.values.domain import ClassReference, is_graphless, sorted_values
from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.homes import readers_of
from torchlint.facts.values.parameters import spread_as, star_of
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.record_fields import CHOOSING
from torchlint.facts.values.writing import is_slice

if TYPE_CHECKING:
    from torchlint.facts import Facts

EACH = "*"
"""Stands for the fields of a tuple that is made of a starred parameter: each of its values has its number for one."""


class ByField:
    """Tells of one file under which fields its records keep things, and whether methods give them on so."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def record(self, kept: Value) -> Class | None:
        """The class of which a kept value is a new record; None for anything else."""
        made = kept.unnarrowed()
        atoms = sorted_values(self.solution.final(made.callee)) if makes_record(self.facts, made) else []
        classes = [atom.cls for atom in atoms if isinstance(atom, ClassReference)]
        return classes[0] if len(classes) == 1 and _fields(classes[0]) else None

    def names(self, kept: Value) -> tuple[str, ...]:
        """The fields of a kept value, where that is a new record: of a class, a named tuple, a tuple, a dictionary.

        The items of a tuple have their numbers for names; empty for what is no record.
        """
        made = kept.unnarrowed()
        if made.op is Op.CONTAINER:
            is_record = isinstance(made.syntax, cst.Tuple | cst.Dict) and all(key is not None for key in made.keys)
            return tuple(map(str, made.keys)) if is_record else ()
        cls = self.record(made)
        return _fields(cls) if cls is not None else ()

    def fields(self, kept: Value, parameter: Value) -> tuple[str, ...]:
        """The fields of a new record that are what is given for a parameter: of a starred one each takes a field."""
        names, made = self.names(kept), kept.unnarrowed()
        if made is parameter:
            return (EACH,) if star_of(parameter) == "*" else ()
        if not names:
            return ()
        spread = spread_as(made, "*")
        if spread and list(made.arguments) == spread and star_of(spread[0]) == "*":
            return names if spread == [parameter] else self._passed_by_position(spread[0], parameter, names)
        given = zip(made.keys, made.inputs, strict=True)
        found = [_named(names, key) for key, argument in given if parameter in argument.computed_from()]
        return tuple(found) if len(found) == 1 and found[0] else ()

    def _passed_by_position(self, values: Value, given: Value, names: Sequence[str]) -> tuple[str, ...]:
        """The fields that a value takes where a starred parameter, which callers give it to, makes up the record."""
        first = values.function.parameters.index(values) - (values.function.owner is not None)
        calls = self.solution.callers.get(values.function, {})
        passed = ((key, one) for call in calls for key, one in zip(call.keys[1:], call.arguments, strict=True))
        places = [key - first for key, one in passed if isinstance(key, int) and one is given]
        return tuple(names[place] for place in dict.fromkeys(places) if 0 <= place < len(names))

    def readers(self, names: Sequence[str], kept: Value, owner: Class | None, attribute: str) -> tuple[str, ...]:
        """Those of the methods of a class, by name, that give the records in its attribute on field by field."""
        cls = self.record(kept)
        if owner is None or cls is None:
            return ()
        place, methods = Place(owner.root(), attribute), [(name, owner.method(name)) for name in names]
        return tuple(name for name, method in methods if method is not None and self.gives_on(method, place, cls))

    def gives_on(self, method: Function, place: Place, cls: Class) -> bool:
        """Whether all that comes of the rows at ``place`` in a method are rows, or records of the same fields."""
        rows = [one for one in readers_of(self.solution, [place]) if one.function is method]
        records = list[Value]()
        return self._are_rows(method, rows, records, cls) and all(
            self._is_taken_apart_by_name(method, one, cls) for one in records
        )

    def _are_rows(self, method: Function, rows: list[Value], records: list[Value], cls: Class) -> bool:
        """Whether nothing else is done with rows; what is one of them, or made of all, is added to ``records``."""
        pending, seen = list(rows), set(rows)
        while pending:
            row = pending.pop()
            for user in row.users:
                if user in seen or user is method.result or self._has_no_graph(user):
                    continue
                seen.add(user)
                if _gives_some(user, row) or user.op is Op.PHI:
                    pending.append(user)
                elif user.op in (Op.ELEMENT, Op.SUBSCRIPT) and not is_slice(user):
                    records.append(user)
                elif (whole := self._transposed(user, row, cls)) is not None:
                    records.append(whole)
                else:
                    return False
        return True

    def _transposed(self, user: Value, rows: Value, cls: Class) -> Value | None:
        """``Step(*zip(*rows))``: the record that has under each field what the rows have there."""
        if user.op is not Op.CALL or user.callee.name != "builtins.zip" or spread_as(user, "*") != [rows]:
            return None
        made = user.users[0] if len(user.users) == 1 else None
        is_same = made is not None and made.op is Op.CALL and self.record(made) is cls
        return made if made is not None and is_same and spread_as(made, "*") == [user] else None

    def _is_taken_apart_by_name(self, method: Function, record: Value, cls: Class) -> bool:
        """Whether what a record has goes only into records that have it under the same name."""
        for user in record.users:
            if user.op is not Op.ATTRIBUTE:
                is_row = user is method.result or (user.op is Op.CONTAINER and isinstance(user.syntax, cst.BaseComp))
                if not is_row and not self._has_no_graph(user):
                    return False
            elif user.name not in _fields(cls) or not self._goes_back(method, user, cls):
                return False
        return True

    def _goes_back(self, method: Function, read: Value, cls: Class) -> bool:
        """Whether a field that is read, and all that is computed from it, ends in records, there under its name."""
        ways = list(reached([read], partial(self._users_before_records, cls)))
        stored = {store.value for store in self.facts.graph.stores}
        if method.result in ways or not stored.isdisjoint(ways):
            return False
        names = _fields(cls)
        return all(
            _named(names, key) == read.name
            for made in _users(ways) if made.op is Op.CALL and self.record(made) is cls
            for key, argument in zip(made.keys[1:], made.arguments, strict=True) if argument in ways
        )  # fmt: skip

    def _users_before_records(self, cls: Class, value: Value) -> Iterator[Value]:
        yield from (
            one for one in value.users
            if not self._has_no_graph(one) and not (one.op is Op.CALL and self.record(one) is cls)
        )  # fmt: skip

    def _has_no_graph(self, value: Value) -> bool:
        return all(map(is_graphless, self.solution.final(value)))


def asks_for_part(user: Value) -> bool:
    """Whether a use of an object reads an attribute of it that is no method."""
    return user.op is Op.ATTRIBUTE and not user.calls


def _users(values: Iterable[Value]) -> set[Value]:
    return {user for value in values for user in value.users}


def _fields(cls: Class) -> tuple[str, ...]:
    maker = cls.method("__init__")
    return tuple(one.name for one in maker.parameters[1:]) if maker is not None and not maker.is_written else ()


def _named(names: Sequence[str], key: str | int | None) -> str:
    """The field that an argument of a record is for; "" where that cannot be told."""
    if isinstance(key, int):
        return "".join(names[key : key + 1])
    return key or ""


def _gives_some(user: Value, rows: Value) -> bool:
    if user.op is Op.SUBSCRIPT:
        return is_slice(user)
    return user.op is Op.CALL and user.callee.name in CHOOSING and user.arguments[:1] == (rows,)
