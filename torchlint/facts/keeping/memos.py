"""Dictionaries that are used as caches: what is not found in them is computed and put in, and nothing is taken out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.gathering import Gathering
from torchlint.facts.keeping.requested import RequestedTexts
from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.novelty import Novelty
from torchlint.facts.values.tensors import Tensors
from torchlint.facts.values.writing import shortened, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Memo:
    """A dictionary of tensors to which each turn adds an entry.

    Attributes:
        statement: where the entry is put in.
        name: how the program names the dictionary.
        key: the value under which it is put.
        written: the key as it is written.
        by: the loop or function that brings a new key each time.
        made: the statement that makes the dictionary, if it is seen.
        looked_up: where it is asked whether there is an entry.
        unseen: True when outputs of a network are kept and nobody is seen to ask for them: how many is up to others.
    """

    statement: cst.CSTNode
    name: str
    key: Value
    written: str
    by: Loop | Function
    made: cst.CSTNode | None
    looked_up: cst.CSTNode
    unseen: bool = False

    @property
    def function(self) -> Function | None:
        """The function each call of which brings a new entry, None when a loop does."""
        return self.by if isinstance(self.by, Function) else None


class Memos:
    """Finds the dictionaries of a file that are caches without a bound."""

    def __init__(self, facts: Facts, tensors: Tensors, novelty: Novelty) -> None:
        """Ask ``novelty`` for keys that are new in each turn."""
        self.facts = facts
        self.solution = facts.solution
        self.tensors = tensors
        self.novelty = novelty
        self.texts = RequestedTexts(facts)
        self.gathering = Gathering(facts)

    def found(self) -> list[Memo]:
        """Each insertion of a tensor under a key that no later turn asks for."""
        found = []
        for statement, holder, target, key, written, value in self._insertions():
            homes = self._homes(holder)
            if (
                not self._is_dictionary(holder, homes)
                or homes & (self._bounded | self._sums)
                or self._is_in(value, homes)
            ):
                continue
            lookup = next((node for home in homes for node in self._lookups.get(home, ())), None)
            lookup = lookup or self._handler_around(statement)
            if lookup is None or not (self._holds_tensors(value) or self._is_tensor_key(key)):
                continue
            is_output = self.facts.extents.is_output(value)
            known = (
                self.novelty.of(key) or self.texts.asked_by(key) or (self.texts.typed_in(key) if is_output else None)
            )
            by = known or (self._said_by_others(key) if is_output else None)
            if by is None or not self._outlives(homes, by):
                continue
            if self._is_of_call(homes) and not self.gathering.brings_data(by):
                continue
            name = text_of(target, holder)
            made = next((h.statement for h in homes if isinstance(h, Value) and h.op is not Op.READ), None)
            found.append(Memo(statement, name, key, written, by, made, lookup, unseen=known is None))
        return found

    def _said_by_others(self, key: Value) -> Function | Loop | None:
        """What brings a key that the data, or whoever asks, decide: how many of them there are, nobody here knows."""
        return self._asked_by_others(key) or self.texts.read_in(key) or self.texts.taken_in(key)

    def _asked_by_others(self, key: Value) -> Function | None:
        """The function that nobody here is seen to call, where a key is what it is given, or is made of that.

        Of what calls that function only a server's handlers are asked: anything else runs once for all that is seen.
        """
        for part in key.computed_from():
            function = part.function
            itself = function.parameters[:1] if function.owner is not None and not function.is_static else []
            if part.op is Op.PARAMETER and part not in itself and not self.solution.callers.get(function):
                return function
        return self.texts.handler_giving(key)

    def _holds_tensors(self, value: Value) -> bool:
        return self.tensors.holds_tensors(value) or self.texts.is_encoded(value)

    def _is_tensor_key(self, key: Value) -> bool:
        """Whether a key is a tensor; what a named part of a sample is, its name or number maybe, only its use says."""
        is_part = key.op is Op.SUBSCRIPT and isinstance(key.keys[0], str)
        return self.tensors.is_used_as_tensor(key) if is_part else self.tensors.holds_tensors(key)

    def _is_in(self, value: Value, homes: frozenset[Place | Value]) -> bool:
        """Whether a value is read from the very dictionary into which it is put, under another key."""
        return value.op is Op.SUBSCRIPT and bool(homes & self._homes(value.inputs[0]))

    def _insertions(self) -> Iterator[tuple[cst.CSTNode, Value, cst.CSTNode | None, Value, str, Value]]:
        """(statement, dictionary, how it is written, key, how that is written, value) of each insertion by key."""
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.is_item and store.index is not None and store.holder is not None:
                yield store.statement, store.holder, store.target, store.index, self._text(store), store.value
        for call in self.facts.calls():
            node = call.syntax
            if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
                continue
            if call.callee.op is Op.ATTRIBUTE and call.callee.name == "setdefault" and len(call.arguments) == 2:
                statement, written = self.facts.statement_of(call), self.facts.code(node.args[0].value)
                key, value = call.arguments
                yield statement, call.callee.inputs[0], node.func.value, key, written, value

    def _text(self, store: Store) -> str:
        assert store.index is not None
        node = store.index.syntax
        for target in _targets(store.statement):
            if isinstance(target, cst.Subscript) and isinstance(target.slice[-1].slice, cst.Index):
                node = target.slice[-1].slice.value
        text = self.facts.code(node) if node is not None else store.index.name or "it"
        return shortened(text)

    def _homes(self, holder: Value) -> frozenset[Place | Value]:
        homes = homes_of(self.solution, holder)
        kept = [home for home in homes if isinstance(home, Place) or home.op in (Op.CONTAINER, Op.CALL)]
        return frozenset(kept)

    def _is_dictionary(self, holder: Value, homes: frozenset[Place | Value]) -> bool:
        made = [home for home in homes if isinstance(home, Value)]
        return bool(made) and all(is_dictionary(value) for value in made)

    # -- what is done with it -------------------------------------------------------------------------------------

    @cached_property
    def _lookups(self) -> dict[Place | Value, list[cst.CSTNode]]:
        """For each dictionary the places where it is asked for a key: ``key in d``, ``d.get(key)``."""
        table: dict[Place | Value, list[cst.CSTNode]] = {}
        for value in self.facts.graph.values:
            asked = None
            if value.op is Op.COMPARISON and isinstance(value.syntax, cst.Comparison):
                if isinstance(value.syntax.comparisons[0].operator, cst.In | cst.NotIn):
                    asked = value.inputs[1]
            elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ("get", "setdefault"):
                asked = value.callee.inputs[0]
            if asked is not None and value.statement is not None:
                for home in self._homes(asked):
                    table.setdefault(home, []).append(value.statement)
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
            found |= self._homes(reset.holder)
        for call in self.facts.calls():
            if call.callee.name == "builtins.len" and call.arguments and not _is_told_only(call):
                found |= self._homes(call.arguments[0])
        assigned: dict[Place | Value, int] = {}
        for store in self.facts.graph.stores:
            if store.kind is Kind.ASSIGN:
                for target in targets_of(self.solution, store):
                    assigned[target] = assigned.get(target, 0) + 1
        return frozenset(found | {place for place, times in assigned.items() if times > 1})

    @cached_property
    def _sums(self) -> frozenset[Place | Value]:
        """Dictionaries to whose entries something is added: their keys come again."""
        found: set[Place | Value] = set()
        for store in self.facts.graph.stores:
            if store.is_item and store.holder is not None and store.value.op is Op.OPERATION:
                homes = self._homes(store.holder)
                if any(self._is_in(part, homes) for part in store.value.inputs):
                    found |= homes
        return frozenset(found)

    def _is_of_call(self, homes: frozenset[Place | Value]) -> bool:
        """Whether a dictionary is made anew in each call of a function, which takes it along or fills it at once."""
        made = [home for home in homes if isinstance(home, Value)]
        return all(value.function.parent is not None and value.function.name != "__init__" for value in made)

    def _outlives(self, homes: frozenset[Place | Value], by: Loop | Function) -> bool:
        """Whether the dictionary is older than the turns of ``by``."""
        made = [home for home in homes if isinstance(home, Value)]
        return not any(self.novelty.is_made_by(value, by) for value in made)


def _is_told_only(number: Value) -> bool:
    """Whether a number is only put into an answer or a message, and nothing is decided by it."""
    users = number.users
    return bool(users) and all(user.op is Op.CONTAINER or (user.op is Op.CONSTANT and user.inputs) for user in users)


def _targets(statement: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    if isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            if isinstance(small, cst.Assign):
                yield from (target.target for target in small.targets)
