"""Dictionaries that are asked whether a key is in them, and from which nothing is taken out: caches without a bound."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.graph import Class, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.syntax.conditions import holding

if TYPE_CHECKING:
    from torchlint.facts import Facts

GROUPS = frozenset(["builtins.list", "builtins.dict", "builtins.set", "collections.deque", "collections.OrderedDict"])
"""What makes something empty that takes one thing after the other."""

MESSAGES = frozenset(["print", "info", "debug", "warning", "log", "format"])
"""Last names of what is only told something."""

MISSING = "__missing__"
"""The method that gives what a dictionary has under a new key: https://docs.python.org/3/library/stdtypes.html#dict"""


class Lookups:
    """Says of the insertions of one file whether they fill such a cache; tables are made when they are asked for."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def of(self, statement: cst.CSTNode, holder: Value, key: Value, value: Value) -> cst.CSTNode | None:
        """Where a dictionary is asked for a key, by which it is a cache that keeps what is put into it.

        Args:
            statement: what puts something in.
            holder: the dictionary.
            key: under which it is put.
            value: what is put in.

        Returns:
            None for what is no dictionary, is asked for nothing, or in which not every entry stays.
        """
        homes = self.homes(holder)
        made = [home for home in homes if isinstance(home, Value)]
        if not made or not all(map(is_dictionary, made)) or homes & (self._bounded | self._sums):
            return None
        if self._is_in(value, homes) or self._is_there(statement, key, homes):
            return None
        asked = next((value.statement for home in homes for value in self._asked.get(home, ())), None)
        return asked or self._handler_around(statement) or _method_for_missing(holder)

    def of_store(self, store: Store) -> cst.CSTNode | None:
        """The :meth:`of` of what a store puts under a key; None for one that puts it under none."""
        if store.holder is None or store.index is None:
            return None
        return self.of(store.statement, store.holder, store.index, store.value)

    def _is_there(self, statement: cst.CSTNode, key: Value, homes: frozenset[Place | Value]) -> bool:
        """Whether a dictionary has the key under which something is put in: ``if name not in self.mean: continue``."""
        asked = {value.syntax: value for home in homes for value in self._asked.get(home, ())}
        return any(
            (found := asked.get(test)) is not None
            and found.op is Op.COMPARISON
            and found.inputs[0].unnarrowed() is key.unnarrowed()
            and isinstance(test, cst.Comparison)
            and isinstance(test.comparisons[0].operator, cst.In) is truth
            for test, truth in holding(self.facts.parents, statement)
        )

    def asking(self, store: Store, owner: Class) -> tuple[str, ...]:
        """The methods of a class that ask the dictionary into which a store puts something, one ``except`` included."""
        homes = self.homes(store.holder) if store.holder is not None else frozenset()
        functions = [value.function for home in homes for value in self._asked.get(home, ())]
        functions += [store.function] if self._handler_around(store.statement) is not None else []
        return tuple(sorted({f.name for f in functions if f.owner is not None and f.owner.root() is owner.root()}))

    def homes(self, holder: Value) -> frozenset[Place | Value]:
        """Where a dictionary is kept, and what makes it."""
        homes = homes_of(self.solution, holder)
        kept = [home for home in homes if isinstance(home, Place) or home.op in (Op.CONTAINER, Op.CALL)]
        return frozenset(kept)

    def _is_in(self, value: Value, homes: frozenset[Place | Value]) -> bool:
        """Whether a value is read from the very dictionary into which it is put, under another key."""
        return value.op is Op.SUBSCRIPT and bool(homes & self.homes(value.inputs[0]))

    @cached_property
    def _asked(self) -> dict[Place | Value, list[Value]]:
        """For each dictionary what asks it for a key: ``key in d``, ``d.get(key)``."""
        table: dict[Place | Value, list[Value]] = {}
        for value in self.facts.graph.values:
            asked = None
            if value.op is Op.COMPARISON and isinstance(value.syntax, cst.Comparison):
                if isinstance(value.syntax.comparisons[0].operator, cst.In | cst.NotIn):
                    asked = value.inputs[1]
            elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ("get", "setdefault"):
                asked = value.callee.inputs[0]
            if asked is not None and value.statement is not None:
                for home in self.homes(asked):
                    table.setdefault(home, []).append(value)
        return table

    def _handler_around(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """The ``except KeyError`` in which an entry is put in."""
        node: cst.CSTNode | None = statement
        while node is not None:
            if isinstance(node, cst.ExceptHandler):
                names = self.facts.code(node.type) if node.type is not None else ""
                return self.facts.parents.get(node) if "KeyError" in names else None
            node = self.facts.parents.get(node)
        return None

    @cached_property
    def _bounded(self) -> frozenset[Place | Value]:
        """Dictionaries from which something is taken out, whose length is asked for, or that are set anew."""
        found: set[Place | Value] = set()
        for reset in self.facts.graph.resets:
            found |= self.homes(reset.holder)
        for call in self.facts.calls():
            if call.callee.name == "builtins.len" and call.arguments and not _is_told_only(call):
                found |= self.homes(call.arguments[0])
        assigned: dict[Place | Value, int] = {}
        for store in self.facts.graph.stores:
            if store.kind is Kind.ASSIGN:
                for target in targets_of(self.solution, store):
                    assigned[target] = assigned.get(target, 0) + 1
        return frozenset(found | {place for place, times in assigned.items() if times > 1})

    @cached_property
    def _sums(self) -> frozenset[Place | Value]:
        """Dictionaries whose entries are made of what was there under the same key: their keys come again."""
        found: set[Place | Value] = set()
        for store in self.facts.graph.stores:
            if store.is_item and store.holder is not None and store.value.op in (Op.OPERATION, Op.CALL):
                homes = self.homes(store.holder)
                if any(self._is_entry(part, store, homes) for part in store.value.computed_from()):
                    found |= homes
        return frozenset(found)

    def _is_entry(self, part: Value, store: Store, homes: frozenset[Place | Value]) -> bool:
        """Whether what a store puts in is made of what its dictionary has under that key."""
        if store.value.op is Op.OPERATION and part in store.value.inputs and self._is_in(part, homes):
            return True
        indices = self.facts.graph.indices.get(part, ())
        return store.index in indices and self._is_in(part, homes)


def _method_for_missing(holder: Value) -> cst.CSTNode | None:
    """``def __missing__(self, key): self[key] = ...``: a dictionary runs it for a key that is not in it."""
    function = holder.function
    is_own = holder in function.parameters[:1] and function.owner is not None
    return function.syntax if is_own and function.name == MISSING else None


def begins_group(value: Value) -> bool:
    """Whether something empty is put in, ``setdefault(label, [])``: what comes into it is sorted by its keys.

    Nothing is computed for the key, so that nothing is saved by asking for it.
    """
    is_made = value.op is Op.CALL and value.callee.name in GROUPS and not value.arguments
    return is_made or (isinstance(value.syntax, cst.List | cst.Dict) and not value.inputs)


def _is_told_only(number: Value) -> bool:
    """Whether a number is only put into an answer or a message, and nothing is decided by it."""
    users = number.users
    return bool(users) and all(map(_tells, users))


def _tells(user: Value) -> bool:
    """``{"size": n}``, ``f"{n} entries"``, ``log.info("%d", n)``; ``def __len__(self): return n``, for whoever asks."""
    if user.op is Op.CALL:
        return user.callee.name.rpartition(".")[2] in MESSAGES
    is_own_length = user is user.function.result and user.function.name == "__len__"
    return user.op is Op.CONTAINER or is_own_length or (user.op is Op.CONSTANT and bool(user.inputs))
