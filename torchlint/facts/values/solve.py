"""The fixpoint: an abstract value for every value of a file, across its functions and classes.

A work list runs the transfer functions (``transfer.py``, ``calls.py``) until nothing changes; then stores are matched
with the places and containers that they reach, until that, too, adds nothing. Then evidence is drawn from what the
program does (``evidence.py``), and where it adds something all begins anew with it. Links and evidence only grow, so it
ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from torchlint.facts.values.calls import Calls
from torchlint.facts.values.dictionaries import rewrites_all
from torchlint.facts.values.domain import (
    BOTTOM,
    UNKNOWN,
    Abstract,
    Argument,
    Atom,
    Container,
    Derived,
    History,
    Module,
    Plain,
    Tensor,
    Unknown,
    join,
    sorted_values,
)
from torchlint.facts.values.evidence import Evidence
from torchlint.facts.values.graph import Class, Function, Key, Op, Place, Store, Value, ValueGraph
from torchlint.facts.values.known import Known
from torchlint.facts.values.transfer import HANDLERS, transfer
from torchlint.facts.values.worklist import WorkList

ROUNDS = 20
"""A bound on the outer rounds, far above what real files need (two to five)."""

PATIENCE = 12
"""How often one value is computed anew before it may only grow, which forces an end."""


INDEPENDENT = frozenset([Op.CONSTANT, Op.EXTERNAL, Op.FUNCTION, Op.CLASS, Op.CONTAINER, Op.UNKNOWN])
"""What is the same whatever else is known."""


class Solution(Known):
    """What is known of each value, and how it comes to be known; queries read it."""

    def __init__(
        self,
        graph: ValueGraph,
        frozen: frozenset[Value | Place | Class] = frozenset(),
        while_frozen: frozenset[Value] = frozenset(),
    ) -> None:
        """Start from bottom.

        Args:
            graph: of the file.
            frozen: objects whose parameters do not require grad.
            while_frozen: calls of modules whose parameters do not, just then.
        """
        super().__init__(graph)
        self.frozen, self.while_frozen = frozen, while_frozen
        self.objects: dict[Value, Abstract] = {}
        self.fields: dict[Value, dict[Key, Abstract]] = {}
        self.calls = Calls(self)
        self._watchers: dict[object, set[Value]] = defaultdict(set)
        self._dirty = WorkList()
        self._carried: dict[Value, set[Value | Place]] = defaultdict(set)
        self._reached: set[tuple[Store, Value | Place]] = set()
        self._reaching = [*graph.stores]
        self._rewritten: dict[Value, int] = {}
        self._optimistic = True
        self._linked = 0
        self._known_attributes = 0
        self._known_stores = 0
        self._visits: dict[Value, int] = {}
        self._links = 0

    @property
    def is_open(self) -> bool:
        """Whether alternatives may still come: nothing is taken for unknown yet."""
        return self._optimistic

    # -- what is read on the way, and read again when it changes --------------------------------------------------

    def read(self, place: Place, reader: Value) -> Abstract:
        """What a place may hold; ``reader`` is run again when that changes."""
        self.watch(place, reader)
        stored = self.stored.get(place)
        evidence = frozenset(self.evidence.get(place, ()))
        if not stored:
            return evidence or (BOTTOM if self._optimistic else UNKNOWN)
        return trust(join(map(self.of, stored)), evidence)

    def load(self, container: Value, key: Key, reader: Value) -> Abstract:
        """What an item of a container may be; any item when ``key`` is None."""
        self.watch(container, reader)
        if isinstance(key, int) and key < 0:
            key = self._counted_from_end(container, key)
        # Who gets it from the function that fills it finds what every item was replaced by in the end.
        since = self._rewritten.get(container, 0) if reader.function is not container.function else 0
        parts = [
            self.of(value)
            for known, value in self.held.get(container, ())
            if value.index >= since and (key is None or known is None or known == key)
        ]
        fields = self.fields.get(container, {}) if not since else {}
        parts += [abstract for known, abstract in fields.items() if key is None or known is None or known == key]
        return join(parts) if parts or self._optimistic else UNKNOWN

    def _counted_from_end(self, container: Value, key: int) -> int | None:
        """``x.max(1)[-1]``: which item it is of a tuple that a call makes; None where the end may be anywhere."""
        fields = self.fields.get(container, {})
        length = sum(isinstance(known, int) for known in fields)
        is_tuple = container.op is Op.CALL and None not in fields and not self.held.get(container)
        return key + length if is_tuple and 0 < -key <= length else None

    # -- running --------------------------------------------------------------------------------------------------

    def add_call(self, call: Value, function: Function, binding: dict[Value, Value | None]) -> None:
        """Say that ``call`` may run ``function``, whose parameters then get what ``binding`` says."""
        if call not in self.callers[function]:
            self._links += 1
            self.callers[function][call] = binding
            self.callees[call].append(function)
            self.touch(function)

    def watch(self, subject: object, reader: Value) -> None:
        """Run ``reader`` again when ``subject`` changes."""
        self._watchers[subject].add(reader)

    def touch(self, subject: object) -> None:
        """Say that ``subject`` has changed; with an attribute, its class has."""
        watching = self._watchers.get(subject)
        if watching:
            self._dirty.add(watching)
        if type(subject) is Place and isinstance(subject.owner, Class):
            self.touch(subject.owner)

    def revisit_if_stale(self, value: Value) -> None:
        """Run ``value`` again if it would come out otherwise."""
        new, old = transfer(self, value), self.of(value)
        if new != old and (self._visits.get(value, 0) <= PATIENCE or join((old, new)) != old):
            self._dirty.add((value,))

    def set_field(self, container: Value, key: Key, abstract: Abstract) -> None:
        """Say what an item of a container is, where no value of the program stands for it."""
        fields = self.fields.setdefault(container, {})
        new = join((fields.get(key, BOTTOM), abstract))
        if new != fields.get(key):
            fields[key] = new
            self.touch(container)

    def add_evidence(self, subject: Value | Place, atom: Atom) -> bool:
        """Add an alternative that follows from use; True when it is new."""
        if atom in self.evidence[subject]:
            return False
        self.evidence[subject].add(atom)
        if isinstance(subject, Value):
            self._dirty.add((subject,))
        else:
            self.touch(subject)
        return True

    def solve(self) -> None:
        """Run to the fixpoint."""
        for value in self.graph.values:
            self._wire(value)
        self._adopt()
        evidence = Evidence(self)
        for _ in range(ROUNDS):
            is_settled = self._settle()
            # What was unknown before all was known may still go round in loops: once more, with all of it known.
            if not evidence.draw() and is_settled:
                break
        if self.frozen or self.while_frozen:  # that is looked for far back, where nothing is watched
            self._settle()

    def anew(self, frozen: frozenset[Value | Place | Class], while_frozen: frozenset[Value]) -> Solution:
        """The same graph solved with what was found frozen; of this one nothing may be asked afterwards."""
        found = Solution(self.graph, frozen, while_frozen)
        vars(self).clear()  # it would wait in circles for the garbage collector, with the whole tree
        found.solve()
        return found

    def dissolve(self) -> None:
        """Cut the links between values, functions and this; nothing may be asked afterwards.

        They go round in circles and hold the whole tree. Left to the garbage collector, finding them takes a twelfth of
        a run.
        """
        graph = self.graph
        for value in graph.all_values():
            value.users.clear()
            if value.op is Op.PHI:
                value.inputs = ()  # all others are made of older values alone
        for function in chain(graph.functions, graph.foreign.files):
            function.parameters, function.result, function.opener = [], None, None
        for cls in chain(graph.classes, graph.foreign.classes):
            cls.methods, cls.parents, cls.opener = {}, (), None
            cls.forget_lineage()
        for loop in graph.loops:
            loop.phis = []
        graph.foreign.realise = None
        graph.foreign.makers.clear()  # they ask the linker, which holds all that it has linked
        vars(self).clear()

    def _settle(self) -> bool:
        """Run to a fixpoint, from nothing: first as if what nothing reached were not there, then as unknown.

        Returns:
            whether every link (who calls whom, which store reaches what) was known before anything was unknown.
        """
        self.abstract.clear()
        self._visits.clear()
        self.calls.passed.begin()
        self._begin(self.graph.all_values())
        links = 0
        for self._optimistic in (True, False):
            if not self._optimistic:
                links = self._links
                self._dirty.add(value for value in self.graph.all_values() if not self.abstract.get(value))
            for _ in range(ROUNDS):
                self._drain()
                reached = [self._reach(store) for store in self._reaching]
                # A variable is what it is; what an object's store reaches may become more.
                self._reaching = [store for store in self._reaching if store.place is None]
                if not any(reached):
                    break
        return links == self._links

    def _begin(self, values: Iterable[Value]) -> None:
        """Say at once what the values are that depend on no other; the work list has the others."""
        others: list[Value] = []
        for value in values:
            if value.op in INDEPENDENT and value not in self.evidence:
                self.abstract[value] = transfer(self, value)
            else:
                others.append(value)
        self._dirty.add(others)

    def _wire(self, value: Value) -> None:
        """Put the items of a literal into the container that it makes; note what a value depends on but its inputs."""
        if value.op is Op.CONTAINER:
            for key, item in zip(value.keys, value.inputs, strict=True):
                self._put(value, key, item)
        elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
            self.watch(value.callee.inputs[0], value)
        elif value in self.graph.defaults:
            self._put(value, None, self.graph.defaults[value])
        elif value.op is Op.ATTRIBUTE:
            base = value.inputs[0]
            while base.op is Op.ATTRIBUTE:
                base = base.inputs[0]
                self.watch(base, value)

    def _adopt(self) -> None:
        """Take in what has been linked from other files since this was last asked."""
        foreign = self.graph.foreign
        self._links += 1
        linked = foreign.values[self._linked :]
        for value in linked:
            self._wire(value)
        self._begin(linked)
        self._linked = len(foreign.values)
        for place, value in foreign.attributes[self._known_attributes :]:
            self.stored[place].append(value)
            self._carried[value].add(place)
            self.touch(place)
        self._known_attributes = len(foreign.attributes)
        self._reaching += foreign.stores[self._known_stores :]
        self._known_stores = len(foreign.stores)

    def given(self, value: Value) -> Abstract:
        """What another file says that ``value`` is; more of that file may be linked on the way."""
        realise = self.graph.foreign.realise
        return UNKNOWN if realise is None else realise(value)

    def _drain(self) -> None:
        for value in self._dirty:
            self._run(value)

    def _run(self, value: Value) -> None:
        old = self.abstract.get(value, BOTTOM)
        evidence = self.evidence.get(value)
        new = HANDLERS[value.op](self, value)
        if len(self.graph.foreign.values) != self._linked:
            self._adopt()
        if evidence:
            new = trust(new, frozenset(evidence))
        visits = self._visits[value] = self._visits.get(value, 0) + 1
        if visits > PATIENCE:
            new = join((old, new))
        if new == old:
            return
        self.abstract[value] = new
        if value.users:
            self._dirty.add(value.users)
        self.touch(value)
        for target in self._carried.get(value, ()):
            self.touch(target)

    def _reach(self, store: Store) -> bool:
        """Let a store reach its places and containers; True when it reached a new one."""
        targets: Iterable[Value | Place] = ()
        if store.place is not None:
            targets = (store.place,)
        elif store.attribute and store.holder is not None:
            targets = [*self.places(store.holder, store.attribute), *self._namespaces(store.holder)]
        elif store.holder is not None:
            atoms = sorted_values(self.of(store.holder))
            made = [a.allocation for a in atoms if isinstance(a, Container | Module) and a.allocation is not None]
            targets = [*made, *(one for atom in atoms for one in self.own_items(atom))]
        new = [target for target in targets if (store, target) not in self._reached]
        for target in new:
            self._links += 1
            self._reached.add((store, target))
            if isinstance(target, Place):
                self.stored[target].append(store.value)
                self._carried[store.value].add(target)
                self.touch(target)
            else:
                if rewrites_all(store):
                    self._rewritten[target] = store.value.index
                self._put(target, store.attribute or (store.key if store.is_item else None), store.value)
        return bool(new)

    def _namespaces(self, holder: Value) -> list[Value]:
        """What an object was made as, if that is a ``SimpleNamespace``, whose attributes are its items."""
        made = [atom.allocation for atom in sorted_values(self.of(holder)) if isinstance(atom, Container)]
        return [one for one in made if one.op is Op.CALL and one.callee.name == "types.SimpleNamespace"]

    def _put(self, container: Value, key: Key, item: Value) -> None:
        self.held[container].append((key, item))
        self._carried[item].add(container)
        self.touch(container)


def trust(computed: Abstract, evidence: Abstract) -> Abstract:
    """Put ``evidence`` in the place of what is only symbolic or unknown.

    A backward on a value proves that it is a tensor with a graph, ``.eval()`` that it is a module: what was merely
    not known before is known then. What is known stays an alternative.
    """
    if not evidence:
        return computed
    vague = (Unknown, Argument, Derived)
    live = any(isinstance(a, Tensor) and a.history is History.LIVE for a in evidence)
    kept = [a for a in computed if not isinstance(a, vague) and not (live and isinstance(a, Plain))]
    return join((frozenset(kept), evidence))
