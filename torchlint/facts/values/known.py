"""What is known of a file's values, to be read: what each is, where attributes are kept, who calls whom with what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from types import UnionType

from torchlint.facts.values.domain import (
    BOTTOM,
    OF_CLASSES,
    UNKNOWN,
    Abstract,
    Atom,
    Container,
    Instance,
    sorted_values,
)
from torchlint.facts.values.graph import Class, Function, Key, Op, Place, Value, ValueGraph
from torchlint.facts.values.parameters import spread_as, spread_into, star_of
from torchlint.facts.values.texts import texts_of
from torchlint.facts.values.web_state import STATE, is_state_of_application

OWN_ITEMS = "__items__"
"""The name under which an object of a class that is a container, ``class Tally(dict)``, has what is put into it."""

CALLED = frozenset(["__call__", "forward"])
"""Methods that run when an object itself is called."""


class Known:
    """What is known of the values of one file; who finds it out is in ``solve.py``.

    Attributes:
        graph: the file's value graph.
        abstract: the abstract value of each value.
        stored: for each place, the values that are assigned to it.
        held: for each container (by allocation), the values that are put into it, with their keys.
        callers: for each function of the file, the calls that may reach it, each with the values that its
            parameters get (None for one that is not known).
        callees: the same the other way: for each call, the functions that it may reach.
        evidence: alternatives that follow from how a value or a place is used.
    """

    def __init__(self, graph: ValueGraph) -> None:
        """Nothing is known yet."""
        self.graph = graph
        self.abstract: dict[Value, Abstract] = {}
        self.stored: dict[Place, list[Value]] = defaultdict(list)
        self.held: dict[Value, list[tuple[Key, Value]]] = defaultdict(list)
        self.callers: dict[Function, dict[Value, dict[Value, Value | None]]] = defaultdict(dict)
        self.callees: dict[Value, list[Function]] = defaultdict(list)
        self.evidence: dict[Value | Place, set[Atom]] = defaultdict(set)
        self._owned: dict[Function | Class | Value, list[Place]] = defaultdict(list)
        self._owned_until = 0

    @cached_property
    def texts(self) -> frozenset[Value]:
        """All that is a string since it begins as one."""
        return texts_of(self.graph)

    @cached_property
    def loop_variables(self) -> frozenset[Value]:
        """The PHIs of all loops: what a variable is at the beginning of a turn."""
        return frozenset(phi for loop in self.graph.loops for phi in loop.phis)

    @cached_property
    def readers(self) -> Mapping[Place, Sequence[Value]]:
        """What reads each place, in the order of the program; to be asked once all is solved."""
        table: dict[Place, list[Value]] = {}
        for value in self.graph.of(Op.READ, Op.ATTRIBUTE):
            for place in self.read_from(value):
                table.setdefault(place, []).append(value)
        return table

    def read_from(self, value: Value) -> list[Place]:
        """The places that a value is read from."""
        if value.place is not None:
            return [value.place]
        return self.places(value.inputs[0], value.name) if value.op is Op.ATTRIBUTE else []

    def of(self, value: Value) -> Abstract:
        """The abstract value of ``value`` as far as it is known."""
        return self.abstract.get(value, BOTTOM)

    def final(self, value: Value) -> Abstract:
        """The abstract value of ``value`` after the fixpoint; what nothing reached is unknown."""
        return self.abstract.get(value) or UNKNOWN

    def may_be(self, value: Value, kinds: type | UnionType) -> bool:
        """Whether an alternative of ``value`` is of one of these kinds."""
        return any(isinstance(atom, kinds) for atom in self.final(value))

    def places(self, base: Value, attribute: str) -> list[Place]:
        """Where the attribute of ``base`` is kept: with the class of an instance, else with the value itself."""
        instances = [atom for atom in self.of(base) if isinstance(atom, OF_CLASSES)]
        if instances:
            classes = [atom.cls for atom in sorted_values(instances)]
            return list(dict.fromkeys(Place(cls.root(), cls.kept_as(attribute)) for cls in classes))
        if base.name == STATE and is_state_of_application(self, base):
            return [Place(self.graph.module, f"<application>.{STATE}.{attribute}")]
        if base.place is not None:
            return [Place(base.place.owner, f"{base.place.path}.{attribute}")]
        if base.op is Op.ATTRIBUTE:
            return [Place(p.owner, f"{p.path}.{attribute}") for p in self.places(base.inputs[0], base.name)]
        return [Place(base, attribute)]

    def stored_with(self, owner: Function | Class | Value) -> Iterator[tuple[Place, list[Value]]]:
        """The variables or attributes of ``owner``, each with the values that are assigned to it."""
        if self._owned_until < len(self.stored):
            for place in islice(self.stored, self._owned_until, None):
                self._owned[place.owner].append(place)
            self._owned_until = len(self.stored)
        for place in self._owned.get(owner, ()):
            yield place, self.stored[place]

    def place_of_items(self, atom: Atom) -> Place | None:
        """Where an object of a class that is itself a container has its items; None for all else."""
        place = Place(atom.cls.root(), OWN_ITEMS) if isinstance(atom, Instance) else None
        return place if place in self.stored else None

    def own_items(self, atom: Atom) -> list[Value]:
        """The containers of the items of such an object, by what makes them."""
        place = self.place_of_items(atom)
        return [] if place is None else self.stored[place]

    def functions_of(self, call: Value) -> list[Function]:
        """The functions of this file that a CALL (or a read of a property) may run."""
        return self.callees.get(call, [])

    def callers_above(self, functions: Iterable[Function]) -> set[Function]:
        """The functions from which one of ``functions`` is called, however far up; of these only if they are."""
        reached: set[Function] = set()
        pending = list(functions)
        while pending:
            for call in self.callers.get(pending.pop(), {}):
                if call.function not in reached:
                    reached.add(call.function)
                    pending.append(call.function)
        return reached

    def callers_in_file(self, function: Function) -> list[Value]:
        """The calls of a function that stand in this file, in source order."""
        calls = (call for call in self.callers.get(function, ()) if not call.function.is_foreign)
        return sorted(calls, key=lambda call: call.index)

    def arguments_of(self, parameter: Value) -> list[Value]:
        """What the calls in this file pass for ``parameter``."""
        calls = self.callers.get(parameter.function, {})
        if star_of(parameter):
            return [given for call in calls for given in self.given_by(call, parameter)]
        found: list[Value] = []
        for call, binding in calls.items():
            if parameter in binding:
                given = binding[parameter]
                found += [given] if given is not None else self._spread_by(call)
        return found

    def _spread_by(self, call: Value) -> Iterator[Value]:
        """What may be passed by ``rollout.add(*answers, reward)``: which it is for a parameter, nobody says."""
        for given in spread_into(call):
            atoms = sorted_values(self.of(given))
            made = [atom.allocation for atom in atoms if isinstance(atom, Container)]
            items = [item for one in made for _, item in self.held.get(one, ())]
            yield from items
            if not items or len(made) < len(atoms):
                yield given

    def given_by(self, call: Value, parameter: Value) -> list[Value]:
        """What a CALL of its function passes for ``parameter``: for a starred one all that no other parameter takes."""
        binding, star = self.callers[parameter.function][call], star_of(parameter)
        if not star:
            given = binding.get(parameter)
            return [] if given is None else [given]
        others = [other for other in parameter.function.parameters if not star_of(other)]
        arguments = list(zip(call.keys[1:], call.arguments, strict=True)) if call.op is Op.CALL else []
        if star == "*":
            taken = {binding.get(other) for other in others}
            rest = [argument for key, argument in arguments if isinstance(key, int) and argument not in taken]
        else:
            names = {other.name for other in others}
            rest = [argument for key, argument in arguments if isinstance(key, str) and key not in names]
        return rest + spread_as(call, star)

    def passed(self, call: Value, function: Function, position: int) -> Value | None:
        """What a CALL of ``function`` gives for the parameter at ``position`` (from 0), its receiver for ``self``."""
        given = self.callers[function][call].get(function.parameters[position])
        if given is not None or position != 0:
            return given
        if call.op is not Op.CALL:
            return call.inputs[0]  # that of a property, of an operator
        if function.name in CALLED and function.owner is not None and call.callee.name != function.name:
            # `self.criterion(x)`; a layer in a row of them is written nowhere.
            return call.callee if any(isinstance(atom, Instance) for atom in self.final(call.callee)) else None
        return call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
