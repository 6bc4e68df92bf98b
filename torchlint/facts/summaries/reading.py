"""What the methods of a class do with what an attribute holds: give it on with its graph, train on it, read numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.domain import Container, is_graphless
from torchlint.facts.values.graph import Function, Op, Place, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

OF_ITEMS = frozenset(["items", "values", "copy"])
"""Methods that give what is in a dictionary."""

OF_KEYS = frozenset(["builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted", "builtins.len"])
"""Functions that take the keys of a dictionary."""

_PARTS = (Op.ELEMENT, Op.SUBSCRIPT, Op.NARROWED, Op.PHI, Op.CONTAINER)
"""What is still what was read, a part of it, or holds it."""


class Reading:
    """Answers it for one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution, self.flows = facts, facts.solution, facts.flows
        self._read_by: dict[Function, frozenset[Place]] = {}

    def readers(self, function: Function, attribute: str) -> tuple[str, ...]:
        """The methods of the class that may give an attribute on with its graph, or run a backward on it."""
        owner = function.owner_around
        if owner is None:
            return ()
        methods = (method for cls in owner.lineage() for method in cls.methods.values())
        return self._of(methods, function, Place(owner.root(), attribute))

    def readers_of_global(self, function: Function, name: str) -> tuple[str, ...]:
        """The functions at the top level that may give a global variable on with its graph, or train on it."""
        module = self.facts.graph.module
        functions = (one for one in self.facts.graph.functions if one.parent is module and one.owner is None)
        return self._of(functions, function, Place(module, name))

    def _of(self, methods: Iterable[Function], function: Function, place: Place) -> tuple[str, ...]:
        # Who puts something there reads it for that alone, as far as is seen.
        return tuple(
            method.name
            for method in methods
            if place in self._places_behind(method) or (method is not function and self._may_give_on(method, place))
            if not self._reads_numbers_only(method, place)
        )

    def _reads_numbers_only(self, method: Function, place: Place) -> bool:
        """``[float(p) for p in self.ranks]``: whether all that a method makes of what a place holds has no graph."""
        pending = [value for value in self._reading[method] if place in self.solution.read_from(value)]
        seen, is_read = set(pending), bool(pending)
        stored = self.solution.stored.get(place, ())
        has_keys = bool(stored) and all(map(is_dictionary, stored))
        if has_keys:  # `list(self.ranks)` takes the keys
            users = (user for value in pending for user in value.users if user.op is Op.CALL)
            seen.update(user for user in users if user.callee.name in OF_KEYS)
        while pending:
            for user in pending.pop().users:
                is_method = user.op is Op.ATTRIBUTE and bool(user.calls)  # `self.centers.detach()`
                given = user.calls if is_method else [user]
                if user in seen or all(is_graphless(atom) for one in given for atom in self.solution.final(one)):
                    continue
                if is_method and user.name in OF_ITEMS:
                    seen.update(given)
                    pending += given
                    continue
                if user is method.result or user in self._stored or user.op not in _PARTS:
                    return False
                seen.add(user)
                pending.append(user)
        return is_read

    def _may_give_on(self, method: Function, place: Place) -> bool:
        """Whether the result of a method may be made of what a place holds, or it trains on that."""
        if place not in self._read_in[method]:
            return False
        return method in self._training or (method.result is not None and self._may_hold_graph(method.result, set()))

    def _may_hold_graph(self, value: Value, seen: set[Value]) -> bool:
        """Whether a graph may be in a value, as deep as the containers and records in it are known."""
        if value in seen:
            return False
        seen.add(value)
        if value.op is Op.PHI:
            return any(self._may_hold_graph(choice, seen) for choice in value.inputs)
        if makes_record(self.facts, value):
            return any(self._may_hold_graph(argument, seen) for argument in value.arguments)
        for atom in self.solution.final(value):
            if isinstance(atom, Container):
                held = [item for _, item in self.solution.held.get(atom.allocation, ())]
                fields = self.solution.fields.get(atom.allocation, {}).values()
                vague = any(not is_graphless(inner) for abstract in fields for inner in abstract)
                if vague or not (held or fields) or any(self._may_hold_graph(item, seen) for item in held):
                    return True
            elif not is_graphless(atom):
                return True
        return False

    @cached_property
    def _stored(self) -> frozenset[Value]:
        return frozenset(store.value for store in self.facts.graph.stores)

    @cached_property
    def _training(self) -> frozenset[Function]:
        return frozenset(b.function for b in self.facts.graph.backwards if not b.by_contract)

    @cached_property
    def _read_in(self) -> dict[Function, set[Place]]:
        """The attributes and globals that each function reads."""
        table: dict[Function, set[Place]] = defaultdict(set)
        for function, values in self._reading.items():
            for value in values:
                table[function].update(self.solution.read_from(value))
        return table

    @cached_property
    def _reading(self) -> dict[Function, list[Value]]:
        """The values by which each function reads attributes and globals."""
        table: dict[Function, list[Value]] = defaultdict(list)
        for value in self.facts.graph.of(Op.READ, Op.ATTRIBUTE):
            table[value.function].append(value)
        return table

    def _places_behind(self, method: Function) -> frozenset[Place]:
        """The attributes and globals of which a method's result is made."""
        if method not in self._read_by:
            behind = self.flows.ancestry.of_all([method.result] if method.result is not None else [])
            reads = (value for value in behind if value.op in (Op.READ, Op.ATTRIBUTE))
            self._read_by[method] = frozenset(place for value in reads for place in self.solution.read_from(value))
        return self._read_by[method]
