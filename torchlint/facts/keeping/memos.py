"""Dictionaries that are used as caches: what is not found in them is computed and put in, and nothing is taken out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.gathering import Gathering
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.keeping.lookups import Lookups, begins_group
from torchlint.facts.keeping.requested import RequestedTexts
from torchlint.facts.summaries.effect_kinds import FILLING, EffectKind
from torchlint.facts.values.choices import choices
from torchlint.facts.values.dictionaries import is_setdefault
from torchlint.facts.values.domain import FunctionReference
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.novelty import Novelty
from torchlint.facts.values.tensors import Tensors, declares_tensors
from torchlint.facts.values.writing import Use, text_of

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
        self.gathering, self.lookups = Gathering(facts), Lookups(facts)

    def found(self) -> list[Memo]:
        """Each insertion of a tensor under a key that no later turn asks for."""
        found = []
        for statement, holder, target, key, written, value in self._insertions():
            homes, lookup = self.lookups.homes(holder), self.lookups.of(statement, holder, key, value)
            if lookup is None or not (self._is_of_tensors(homes, value) or self._is_tensor_key(key)):
                continue
            known, by = self._bringing(key, value)
            by = by or self._asked_for(key, value)
            if by is None or not self._outlives(homes, by):
                continue
            if self._is_of_call(homes, value.function) and not self.gathering.brings_data(by):
                continue
            name = text_of(target, holder)
            made = next((h.statement for h in homes if isinstance(h, Value) and h.op is not Op.READ), None)
            found.append(Memo(statement, name, key, written, by, made, lookup, unseen=known is None))
        told = {memo.statement for memo in found}
        elsewhere = (*self._elsewhere(), *self._filled_elsewhere())
        return found + [memo for memo in elsewhere if memo.statement not in told]

    def _elsewhere(self) -> Iterator[Memo]:
        """What this file hands to caches of other files: ``store.put(text, vector)``."""
        for kept in kept_elsewhere(self.facts):
            call, value = kept.call, kept.given.value
            if kept.keep.averages or kept.is_replaced(self.solution):
                continue  # a sum, or the last value, under each name
            is_told_so = kept.keep.of_tensors and not begins_group(value)
            if not (is_told_so or self._holds_tensors(value)):
                continue
            if not self._is_asked(kept) or _is_made_beside(call, kept.holder):
                continue
            passed = (self.solution.passed(call, kept.function, key) for key in kept.keep.cached_under)
            for key in filter(None, passed):
                known, by = self._bringing(key, value)
                if by is not None:
                    statement, name = self.facts.statement_of(call), f"{kept.name}.{kept.keep.attribute}"
                    written = self.facts.name_in(call, key)
                    yield Memo(statement, name, key, written, by, None, statement, unseen=known is None)
                    break

    def _filled_elsewhere(self) -> Iterator[Memo]:
        """Functions of other files that this one asks, and that keep what they compute: ``scorer.text(prompt)``."""
        for kind in FILLING:
            for effect in self.facts.effects.of(kind):
                call, holder = effect.call, _receiver(effect.call)
                called, _, name = effect.done.name.rpartition(".")
                if called and not self._gives_output(effect.function, called):
                    continue
                keys = effect.given
                if kind is EffectKind.CACHES_OF_GIVEN:
                    if len(keys) != len(effect.done.of) or not self._runs_network(keys[0]):
                        continue
                    keys = keys[1:]
                if _is_made_beside(call, holder) or self._is_emptied(name):
                    continue
                name = name if holder is None else f"{self.facts.name_in(call, holder)}.{name}"
                statement = self.facts.statement_of(call)
                for key in keys:
                    known = self._asks(key, kind)
                    others = known or self._decides(key, kind)
                    by = known if kind is EffectKind.CACHES else others
                    if by is not None:
                        written = self.facts.name_in(call, key)
                        yield Memo(statement, name, key, written, by, None, statement, unseen=known is None)
                        break

    def _gives_output(self, method: Function, attribute: str) -> bool:
        """Whether all that this file gives the objects of a class for an attribute gives what a network computes."""
        given = [
            kept.given.value
            for kept in kept_elsewhere(self.facts)
            if kept.keep.attribute == attribute and _is_of_class(kept.function, method) and not kept.keep.grows
        ]
        return bool(given) and all(map(self._runs_network, given))

    def _runs_network(self, given: Value) -> bool:
        atoms = self.solution.final(given)
        functions = [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
        if not functions:
            return may_be_module(self.solution, given)
        results = [one.result for one in functions if one.result is not None]
        is_output = self.facts.extents.is_output
        return len(results) == len(functions) and all(is_output(r) and self._holds_tensors(r) for r in results)

    def _asks(self, key: Value, kind: EffectKind) -> Function | Loop | None:
        """What asks a cache of another file for a new key with each turn or call."""
        known = self._brings(key, is_output=kind is not EffectKind.CACHES)
        return known or (self.texts.handler_giving(key) if kind is EffectKind.CACHES_BY_TEXT else None)

    def _decides(self, key: Value, kind: EffectKind) -> Function | Loop | None:
        """What decides how many keys there are; that anybody may ask for outputs is said where a network gives them."""
        if kind in (EffectKind.CACHES_CALLED, EffectKind.CACHES_OF_GIVEN):
            return self._said_by_others(key)
        return self.texts.read_in(key) or self.texts.taken_in(key)

    def _is_emptied(self, attribute: str) -> bool:
        """Whether this file empties what some object has under the name of an attribute, or sets it anew."""
        holders = (reset.holder for reset in self.facts.graph.resets)
        is_reset = any(holder.op is Op.ATTRIBUTE and holder.name == attribute for holder in holders)
        return is_reset or any(
            store.attribute == attribute and store.kind is Kind.ASSIGN for store in self.facts.graph.stores
        )

    def _is_asked(self, kept: KeptElsewhere) -> bool:
        """Whether what keeps it asks for the key first, or this file calls a method that does."""
        keep, owner = kept.keep, kept.function.owner
        if not keep.cached_under or owner is None:
            return False
        if kept.function.name in keep.asked_by:
            return True
        methods = (method for name in keep.asked_by if (method := owner.method(name)) is not None)
        return any(map(self.solution.callers_in_file, methods))

    def _bringing(self, key: Value, value: Value) -> tuple[Function | Loop | None, Function | Loop | None]:
        """What brings a new key for a value; and that, or what may bring such keys for outputs without end."""
        is_output = self.facts.extents.is_output(value)
        known = self._brings(key, is_output=is_output)
        return known, known or (self._said_by_others(key) if is_output else None)

    def _asked_for(self, key: Value, value: Value) -> Function | None:
        """The function that anybody may ask for what something computes of a tensor, ``encode(tokens)``.

        Tensors are compared by identity: a new one is never found. What torch itself makes of one, ``zeros_like(p)``,
        may belong to a weight, which comes again.
        """
        is_open = key.op is Op.PARAMETER and not self.solution.callers.get(key.function)
        is_computed = value.op is Op.CALL and value.callee.op is not Op.EXTERNAL and key in value.arguments
        return key.function if is_open and is_computed and self.tensors.is_tensor(key) else None

    def _brings(self, key: Value, *, is_output: bool) -> Function | Loop | None:
        """What brings a new key with each turn or call."""
        known = self.novelty.of(key) or self.texts.asked_by(key)
        return known or (self.texts.typed_in(key) if is_output else None)

    def _said_by_others(self, key: Value) -> Function | Loop | None:
        """What brings a key that the data, or whoever asks, decide: how many of them there are, nobody here knows."""
        return self.texts.asked_by_others(key) or self.texts.read_in(key) or self.texts.taken_in(key)

    def _holds_tensors(self, value: Value) -> bool:
        return not begins_group(value) and (self.tensors.holds_tensors(value) or self.texts.is_encoded(value))

    def _is_of_tensors(self, homes: frozenset[Place | Value], value: Value) -> bool:
        """Whether a value is or has tensors, by itself or as all that its dictionary is said to hold."""
        made = [home for home in homes if isinstance(home, Value)]
        is_declared = any(map(declares_tensors, made)) and not begins_group(value)
        return is_declared or self._holds_tensors(value)

    def _is_tensor_key(self, key: Value) -> bool:
        """Whether a key is a tensor; what a named part of a sample is, its name or number maybe, only its use says.

        The keys of a dictionary are of one kind: one that is made of numbers on any path is no tensor on the others.
        """
        is_part = key.op is Op.SUBSCRIPT and isinstance(key.keys[0], str)
        if is_part:
            return self.tensors.is_used_as_tensor(key)
        return all(map(self.tensors.holds_tensors, choices(key)))

    def _insertions(self) -> Iterator[tuple[cst.CSTNode, Value, cst.CSTNode | None, Value, str, Value]]:
        """(statement, dictionary, how it is written, key, how that is written, value) of each insertion by key."""
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.is_item and store.index is not None and store.holder is not None:
                yield store.statement, store.holder, store.target, store.index, self._text(store), store.value
        for call in self.facts.calls():
            node = call.syntax
            if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
                continue
            if is_setdefault(call):
                statement, written = self.facts.statement_of(call), self.facts.code(node.args[0].value)
                key, value = call.arguments
                yield statement, call.callee.inputs[0], node.func.value, key, written, value

    def _text(self, store: Store) -> str:
        assert store.index is not None
        node: cst.BaseExpression | None = None
        for target in _targets(store.statement):
            if isinstance(target, cst.Subscript) and isinstance(target.slice[-1].slice, cst.Index):
                node = target.slice[-1].slice.value
        return self.facts.name_of(Use(store.index, node))

    # -- how long it lives --------------------------------------------------------------------------------------------

    def _is_of_call(self, homes: frozenset[Place | Value], filling: Function) -> bool:
        """Whether a dictionary is made anew in each call of a function, which takes it along or fills it at once.

        It is not where that function returns the one that fills it, which has it from then on: a decorator. What an
        ``__init__`` makes is its object's, unless it is in no attribute.
        """
        made = [home for home in homes if isinstance(home, Value)]
        is_kept = len(made) < len(homes)
        return all(
            value.function.parent is not None
            and not (is_kept and value.function.name == "__init__")
            and not _gives(value, filling)
            for value in made
        )

    def _outlives(self, homes: frozenset[Place | Value], by: Loop | Function) -> bool:
        """Whether the dictionary is older than the turns of ``by``."""
        made = [home for home in homes if isinstance(home, Value)]
        return not any(self.novelty.is_made_by(value, by) for value in made)


def _is_of_class(one: Function, other: Function) -> bool:
    return one.owner is not None and other.owner is not None and one.owner.root() is other.owner.root()


def _gives(made: Value, filling: Function) -> bool:
    """Whether the function that makes a dictionary returns the one that fills it."""
    return any(choice.reference is filling for choice in choices(made.function.result))


def _receiver(call: Value) -> Value | None:
    """The object whose method a CALL runs."""
    return call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None


def _is_made_beside(call: Value, holder: Value | None) -> bool:
    """Whether the object that keeps is made where it is used, by a function or in a turn: it goes with that."""
    if holder is None or holder.op is not Op.CALL or holder.function is not call.function:
        return False
    return (holder.loop is call.loop or call.loop is None) and holder.function.parent is not None


def _targets(statement: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    if isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            if isinstance(small, cst.Assign):
                yield from (target.target for target in small.targets)
