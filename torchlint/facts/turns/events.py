"""Functions that a program keeps under the names of events, and runs when one comes: ``for f in self.handlers[event]``.

Who runs what is kept under one name runs no function that is kept under others only: what a loop of steps fires after
each epoch is none of its steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Atom, ClassReference, Container, External, FunctionReference, Partial
from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.literals import UNWRITTEN, literal
from torchlint.facts.values.parameters import LISTING, star_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

LOOKING_UP = frozenset(["get", "setdefault", "pop"])
"""Methods of dictionaries that give what is kept under their first argument."""


class Events:
    """Answers for the functions of one file."""

    def __init__(self, solution: Solution) -> None:
        """Read tables and calls from ``solution``."""
        self.solution = solution

    def may_run(self, chain: tuple[Value, ...], handed: Atom | None = None) -> bool:
        """Whether each call of a chain may be made by the next one, as far as the names of events tell.

        Args:
            chain: a CALL, one that runs its function, one that runs the function of that, and so on.
            handed: what the first one calls, where that is no function of the file and was handed to it.
        """
        if handed is not None and not self._may_be_handed(handed, chain):
            return False
        for position, call in enumerate(chain[1:], start=1):
            handler = chain[position - 1].function
            name = self.asked_by(call) or self._asked_through(call, handler)
            for caller in chain[position + 1 :]:
                name = self._given(name, caller)
            if not self._is_kept_for(handler, name):
                return False
        return True

    def _may_be_handed(self, handed: Atom, chain: tuple[Value, ...]) -> bool:
        """Whether the first CALL of a chain may call what is kept, or passed on to it."""
        name, source = self.asked_by(chain[0]), chain[0].callee
        while source.op in (Op.ELEMENT, Op.SUBSCRIPT):
            source = source.inputs[0]
        given: Value | None = source
        for caller in chain[1:]:
            name, given = self._given(name, caller), self._given(given, caller)
        if name is not None and name.op is not Op.PARAMETER and self._named(name) is UNWRITTEN:
            return False  # an event that is not known
        return self._is_kept_for(handed, name) and (given is source or self._holds(given, handed))

    def _holds(self, value: Value | None, handed: Atom) -> bool:
        """Whether a value may be what is called, or have it among its items, or those of one of them."""
        return value is not None and any(atom == handed for atom in self._within(value))

    def _within(self, value: Value, depth: int = 2) -> Iterator[Atom]:
        """What a value may be, and what its items may be."""
        for atom in self.solution.final(value):
            yield atom
            for _, item in self.solution.held.get(atom.allocation, ()) if isinstance(atom, Container) else ():
                if depth:
                    yield from self._within(item, depth - 1)

    def _is_kept_for(self, handler: Function | Atom, name: Value | None) -> bool:
        """Whether a function may be kept under a name; of one that is kept under none nothing is known."""
        event = self._named(name)
        return event is UNWRITTEN or not self._names_of(handler) or event in self._names_of(handler)

    def asked_by(self, call: Value) -> Value | None:
        """The name under which a CALL looks up the functions that it runs; None where it looks none up."""
        callee = call.callee
        return self._key_of(callee.inputs[0] if callee.op is Op.ELEMENT else callee)

    def _asked_through(self, call: Value, handler: Function) -> Value | None:
        """The name for which a CALL runs a function by one that looks it up, and hands on what it is given."""
        between = (one for one in self.solution.functions_of(call) if one is not handler)
        fired = (one for function in between for one in self._fired_in.get(function, ()))
        found = (one for one in fired if handler in self.solution.functions_of(one))
        return next((self._given(self.asked_by(one), call) for one in found), None)

    def run_by(self, call: Value) -> list[Function]:
        """The functions of the file that a CALL runs; of one that fires an event, those that are kept for that."""
        functions = self.solution.functions_of(call)
        if self._fired_in.keys().isdisjoint(functions):
            return functions
        meant = [one for one in functions if self._is_kept_for(one, self._asked_through(call, one))]
        return [run for function in meant for run in self._run_in(function, call)]

    def _run_in(self, function: Function, call: Value) -> list[Function]:
        """A function that a CALL runs; or what is kept for the event, if it does nothing else that is seen."""
        fired = self._fired_in.get(function, [])
        kept = self.solution.functions_of(fired[0]) if len(fired) == 1 else []
        if not kept or not all(map(self._names_of, kept)):
            return [function]
        event = self._named(self._given(self.asked_by(fired[0]), call))
        others = (one for one in self._calls_of[function] if one is not fired[0] and self.solution.functions_of(one))
        if event is UNWRITTEN or any(others):
            return [function]
        return [one for one in kept if event in self._names_of(one)]

    @cached_property
    def _calls_of(self) -> dict[Function, list[Value]]:
        table: dict[Function, list[Value]] = defaultdict(list)
        for call in self.solution.graph.of(Op.CALL):
            table[call.function].append(call)
        return table

    @cached_property
    def _fired_in(self) -> dict[Function, list[Value]]:
        """For each function its calls of what it looks up by a name that it is given."""
        fired = {function: [one for one in calls if self._is_given(one)] for function, calls in self._calls_of.items()}
        return {function: calls for function, calls in fired.items() if calls}

    def _is_given(self, call: Value) -> bool:
        name = self.asked_by(call)
        return name is not None and name.op is Op.PARAMETER

    def _given(self, name: Value | None, caller: Value) -> Value | None:
        """What a caller gives for a name that is a parameter of what it calls; the name itself for any other."""
        if name is None or name.op is not Op.PARAMETER:
            return name
        given = self.solution.callers.get(name.function, {}).get(caller, {}).get(name)
        return name if given is None else given

    def _named(self, name: Value | None) -> object:
        """The event that a value names: a constant, or a member of a class; UNWRITTEN where that is not seen."""
        if name is None or name.op is Op.PARAMETER:
            return UNWRITTEN
        if name.op is Op.EXTERNAL:
            return name.name
        if name.op is Op.ATTRIBUTE:
            classes = (a.cls for a in self.solution.final(name.inputs[0]) if isinstance(a, ClassReference))
            member = next(((cls, name.name) for cls in classes), None)
            if member is not None:
                return member
        return literal(self.solution, name)

    def _names_of(self, function: Function | Atom) -> frozenset[object]:
        """The events under whose names a function is kept, UNWRITTEN among them where one is not seen."""
        return self._kept.get(function, frozenset())

    @cached_property
    def _kept(self) -> dict[Function | Atom, frozenset[object]]:
        table: dict[Function | Atom, set[object]] = defaultdict(set)
        for store in self.solution.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None:
                for name, kept in self._put(store):
                    for function in self._functions(kept):
                        table[function].add(self._named(name))
        for key, item in self._written_under():
            for kept in (item, *(item.inputs if item.op is Op.CONTAINER else ())):
                for function in self._functions(kept):
                    table[function].add(key)
        return {function: frozenset(names) for function, names in table.items()}

    def _written_under(self) -> Iterator[tuple[str, Value]]:
        """What dictionaries are written with, and what calls give to be gathered by ``**handlers``, by name."""
        for value in self.solution.graph.of(Op.CONTAINER):
            for key, item in zip(value.keys, value.inputs, strict=True):
                if isinstance(key, str):
                    yield key, item
        for call in self.solution.graph.of(Op.CALL):
            last = [function.parameters[-1:] for function in self.solution.functions_of(call)]
            if call.callee.name == "builtins.dict" or any(star_of(one) == "**" for many in last for one in many):
                for key, item in zip(call.keys[1:], call.arguments, strict=True):
                    if isinstance(key, str):
                        yield key, item

    def _functions(self, value: Value) -> list[Function | Atom]:
        """The functions that a value may be, and what else may be called."""
        atoms = self.solution.final(value)
        own: list[Function | Atom] = [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
        return own + [atom for atom in atoms if isinstance(atom, External | Partial)]

    def _put(self, store: Store) -> Iterator[tuple[Value | None, Value]]:
        """(name, function) of all that a store puts under a name, be it given to the function around it."""
        name = store.index if store.is_item else self._key_of(store.holder)
        if name is None or self._is_copied(name, store.value):
            return
        if store.value.op is not Op.PARAMETER:
            yield name, store.value
            return
        for call, binding in self.solution.callers.get(store.function, {}).items():
            kept = binding.get(store.value)
            if kept is not None:
                yield self._given_around(name, call, store.function), kept

    def _is_copied(self, name: Value, kept: Value) -> bool:
        """``for name, functions in handlers.items(): table[name].extend(functions)``: it is written there already.

        Of a dictionary that is not seen to be written the names stay unknown.
        """
        pair = name.inputs[0] if name.op is Op.ELEMENT and name.keys[0] == 0 else None
        while (kept.op is Op.ELEMENT and kept.inputs[0] is not pair) or _is_listed(kept):
            kept = kept.arguments[0] if kept.op is Op.CALL else kept.inputs[0]
        if pair is None or kept.op is not Op.ELEMENT or pair.op is not Op.CONTAINER or kept.keys[0] != 1:
            return False
        table = pair.inputs[1].inputs[0] if pair.inputs[1].op is Op.ELEMENT else pair
        made = [atom.allocation for atom in self.solution.final(table) if isinstance(atom, Container)]
        return bool(made) and all(map(_is_written_by_name, made))

    def _given_around(self, name: Value, call: Value, function: Function) -> Value | None:
        """What stands for the name in a CALL: of a parameter, or of one of ``on`` in ``@loop.on("started")``."""
        place = name.place if name.op is Op.READ else None
        if place is None or place.owner is not function.parent:
            return self._given(name, call)
        own = (one for one in function.parent.parameters if one.name == place.path)
        return self._given(next(own, name), call.callee)

    def _key_of(self, value: Value | None) -> Value | None:
        """By what a value is looked up: ``table[key]``, ``table.get(key, [])``."""
        if value is not None and value.op is Op.SUBSCRIPT:
            indices = self.solution.graph.indices.get(value, ())
            return indices[0] if len(indices) == 1 else None
        if value is None or value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE:
            return None
        return value.argument(0) if value.callee.name in LOOKING_UP else None


def _is_listed(value: Value) -> bool:
    return value.op is Op.CALL and value.callee.name in LISTING and bool(value.arguments)


def _is_written_by_name(table: Value) -> bool:
    """Whether a dictionary is written with its names, or gathers what calls give by name."""
    if table.op is Op.CONTAINER:
        return bool(table.keys) and all(isinstance(key, str) for key in table.keys)
    return table.op is Op.PARAMETER and star_of(table) == "**"
