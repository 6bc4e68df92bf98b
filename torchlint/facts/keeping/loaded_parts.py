"""Where what is read from a file goes: all that is, or holds, a part of it, and what copies weights out of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.adopting import adopts
from torchlint.facts.keeping.external_names import external_name
from torchlint.facts.values.domain import Container, sorted_values
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Function, Key, Kind, Op, Value
from torchlint.facts.values.homes import readers_of, targets_of
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

PASSING = frozenset(
    ["get", "pop", "items", "values", "copy", "setdefault", "popitem", "state_dict", "to", "cuda", "cpu", "float",
     "half", "double", "eval", "train", "requires_grad_"]
)  # fmt: skip
"""Methods that give back their receiver or a part of it."""

COPYING = frozenset(["load_state_dict", "copy_"])
"""Methods that copy what they are given into what their receiver holds already."""

LOAD_OBJECTS = "ignite.handlers.Checkpoint.load_objects"
"""A function that has each object of one dictionary copy its state out of another: ``to_load``, ``checkpoint``.

https://docs.pytorch.org/ignite/generated/ignite.handlers.checkpoint.Checkpoint.html
"""

COPIED = "<copied>"
"""A key under which nothing lies: a copy is no part of what was loaded, and only marks the way that leads to it."""


@dataclass
class Parts:
    """All that is, or holds, a part of what a call gave.

    Attributes:
        whole: the values themselves.
        heavy: those of them from which weights are copied into something else, and what stands for these as well.
        copies: the calls that copy: ``load_state_dict``.
        keeps: True when something takes the tensors over as its own: ``load_state_dict(..., assign=True)``.
    """

    whole: set[Value] = field(default_factory=set)
    heavy: set[Value] = field(default_factory=set)
    copies: list[Value] = field(default_factory=list)
    keeps: bool = False


class LoadedParts:
    """Follows what a call gave through variables, attributes, containers and the functions of one file."""

    def __init__(self, facts: Facts) -> None:
        """Follow when first asked."""
        self.facts = facts
        self.solution = facts.solution
        self._parts: dict[Value, Parts] = {}

    def of(self, load: Value) -> Parts:
        """All that a call gave, followed through variables, attributes, containers and the file's functions."""
        if load not in self._parts:
            self._parts[load] = self._follow(load)
        return self._parts[load]

    def _follow(self, load: Value) -> Parts:
        before: dict[Value, set[Value]] = defaultdict(set)
        after: dict[Value, set[Value]] = defaultdict(set)
        seen: set[tuple[Value, Key]] = set()
        pending: list[tuple[Value, Key]] = [(load, None)]
        parts = Parts()
        while pending:
            value, key = pending.pop()
            if (value, key) in seen:
                continue
            seen.add((value, key))
            if key is None:
                parts.whole.add(value)
            for found, at in self._next(value, key, parts):
                if not _is_taken_out(found, value):
                    before[found].add(value)
                if self._is_same(value, key, found):
                    after[value].add(found)
                pending.append((found, at))
        # What is copied into a part of the very same load changes that, and fills no model.
        parts.copies = [c for c in parts.copies if c.callee.name != "copy_" or c.callee.inputs[0] not in parts.whole]
        copied = _beyond(parts.copies, before)
        parts.heavy = copied | {v for v in _beyond(copied, after) if v in parts.whole or v in self._results}
        return parts

    def _is_same(self, value: Value, key: Key, found: Value) -> bool:
        """Whether ``found`` is, or holds, the very object that lies under ``key`` of ``value``, and no part of it."""
        if found.op in (Op.PHI, Op.NARROWED, Op.PARAMETER, Op.READ) or value in self._results:
            return True
        if found.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return key is not None
        if found.op is Op.CONTAINER and value in found.inputs:
            return not isinstance(found.syntax, cst.BaseComp)
        return any(store.holder is found for store in self.facts.stores_of.get(value, ()))

    def _next(self, value: Value, key: Key, parts: Parts) -> Iterator[tuple[Value, Key]]:
        """What holds ``value`` one step on; ``key`` says under which key of ``value`` the part lies, None for all."""
        for user in value.users:
            if user.op in (Op.SUBSCRIPT, Op.ELEMENT):
                if key is None or user.keys[0] is None or user.keys[0] == key:
                    yield user, None
            elif user.op in (Op.PHI, Op.NARROWED):
                yield user, key
            elif user.op is Op.ATTRIBUTE and key is None:
                yield from self._attribute(user)
            elif user.op is Op.CONTAINER:
                at = next(k for k, item in zip(user.keys, user.inputs, strict=True) if item is value)
                yield user, at
            elif user.op is Op.CALL and user.callee is not value:
                yield from self._argument(user, value, key, parts)
        yield from self._stored(value, key)
        if value in self._results:
            for call in self.solution.callers.get(self._results[value], {}):
                yield call, key

    def _attribute(self, attribute: Value) -> Iterator[tuple[Value, Key]]:
        called = attribute.calls
        if not called:
            yield attribute, None
        elif attribute.name in PASSING:
            for call in called:
                yield call, None

    def _argument(self, call: Value, value: Value, key: Key, parts: Parts) -> Iterator[tuple[Value, Key]]:
        is_helped = _loads_objects(call, value) and not self.solution.functions_of(call)
        if is_helped or (copies_by_method(call) and not adopts(self.facts, call)):
            assign = call.argument(2, "assign")
            if assign is not None and assign.name != "False":
                parts.keeps = True
            elif call not in parts.copies:
                parts.copies.append(call)
            yield call, COPIED
            return
        for function in self.solution.functions_of(call):
            for parameter, given in self.solution.callers[function].get(call, {}).items():
                if given is value:
                    yield parameter, key
        if meaning_of(external_name(self.facts, call) or "") in (Meaning.COLLECTS, Meaning.FIRST):
            yield call, None

    def _stored(self, value: Value, key: Key) -> Iterator[tuple[Value, Key]]:
        for store in self.facts.stores_of.get(value, ()):
            if store.kind is Kind.ASSIGN:
                for reader in readers_of(self.solution, targets_of(self.solution, store)):
                    yield reader, key
            elif store.holder is not None and store.kind is Kind.INSERT:
                yield store.holder, None
                for atom in sorted_values(self.solution.final(store.holder)):
                    if isinstance(atom, Container):
                        yield atom.allocation, None

    @cached_property
    def _results(self) -> dict[Value, Function]:
        functions = self.facts.graph.functions
        return {function.result: function for function in functions if function.result is not None}


def copies_by_method(call: Value) -> bool:
    """``load_state_dict``, ``copy_``: whether a CALL copies what it is given into what its receiver holds."""
    return call.callee.op is Op.ATTRIBUTE and call.callee.name in COPYING


def _loads_objects(call: Value, checkpoint: Value) -> bool:
    """Whether a CALL is :data:`LOAD_OBJECTS`, or a function of that name and its keywords, with this checkpoint."""
    callee, name = call.callee, LOAD_OBJECTS.rpartition(".")[2]
    is_known = callee.op is Op.EXTERNAL and callee.name == LOAD_OBJECTS
    is_alike = callee.name.rpartition(".")[2] == name and {"to_load", "checkpoint"} <= {*call.keys}
    return (is_known or is_alike) and call.argument(1, "checkpoint") is checkpoint


def _is_taken_out(part: Value, holder: Value) -> bool:
    """``part = holder.pop(key)``: the holder has it no longer."""
    return part.op is Op.CALL and part.callee.name in ("pop", "popitem") and holder in part.callee.inputs


def _beyond(starts: Iterable[Value], edges: dict[Value, set[Value]]) -> set[Value]:
    """Where ``edges`` lead to from ``starts``; to one of these only if they lead back."""
    first = (value for start in starts for value in edges.get(start, ()))
    return set(reached(first, lambda value: edges.get(value, ())))
