"""Leftovers: tensors with a graph that a step leaves on an object or in a global variable, of no further use.

What is left is overwritten by the next step, so it does not grow; until then the graph stays beside that of the next
step. An attribute that a later loss reads is no leftover, whoever reads it in this file, by whatever name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.collecting_places import collecting
from torchlint.facts.autograd.left_elsewhere import LeftElsewhere, left_elsewhere
from torchlint.facts.autograd.left_kinds import is_asked_as_module, is_differentiated_by_hand, is_named
from torchlint.facts.autograd.looked_at import is_only_looked_at
from torchlint.facts.autograd.reads import Reads
from torchlint.facts.autograd.records import makes_record
from torchlint.facts.autograd.returned_terms import is_term_of_older_object
from torchlint.facts.autograd.saved import Saved
from torchlint.facts.autograd.unseen_terms import UnseenTerms
from torchlint.facts.values.domain import FunctionReference, Instance, Module
from torchlint.facts.values.frameworks import is_forward, may_be_module, promises, trains_on_result
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import allocations_of, homes_of, targets_of
from torchlint.facts.values.record_fields import makers_of
from torchlint.facts.values.writing import Use, is_named_by_expression, text_of, written_key
from torchlint.facts.values.writing import parts as uses_of
from torchlint.frameworks import Holds

if TYPE_CHECKING:
    from torchlint.facts import Facts

OPEN_BASES = frozenset(["object", "ABC", "Generic", "Protocol", "Dataset"])
"""Bases outside the file that, as those of modules, read no attributes of their own accord; any other may."""

NAMESPACES = frozenset(["types.SimpleNamespace", "argparse.Namespace"])
"""Objects that are nothing but their attributes."""

HOPS = 6
"""How many callers up a running step is looked for."""


@dataclass(frozen=True)
class Leftover:
    """A tensor with a graph that stays on an object or in a global variable until the next step.

    Attributes:
        statement: where it is left.
        name: how the program writes the holder: ``self.features``.
        parts: the live tensors, as they are written there.
        spent: True when a backward runs over the whole graph: only its nodes stay.
        certain: True when no code that is not seen may read it, so that it can be detached without a doubt.
        is_looked_at: True when nobody is seen to train the layer that leaves it, nor to want its graph.
    """

    statement: cst.CSTNode
    name: str
    parts: tuple[Use, ...]
    spent: bool
    certain: bool
    is_looked_at: bool = False


class Leftovers:
    """Finds the leftovers of a file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.steps, self.lifetimes = facts.steps, facts.lifetimes
        self.repetitions = facts.repetitions
        self._saved = Saved(facts)
        self._reads = Reads(facts)

    def found(self) -> list[Leftover]:
        """Every tensor with a graph that a step leaves behind and that no backward needs."""
        own = (self._of_store(store) for store in self.solution.graph.stores)
        elsewhere = map(self._of_other_file, left_elsewhere(self.facts))
        return [left for left in (*own, *elsewhere) if left is not None]

    def _of_store(self, store: Store) -> Leftover | None:
        if is_differentiated_by_hand(store.function) or is_named_by_expression(store):
            return None
        if store.kind is Kind.ASSIGN:
            return self._of_assignment(store)
        return self._of_item(store) if store.kind is Kind.INSERT and is_named(self.facts, store) else None

    def _of_item(self, store: Store) -> Leftover | None:
        """``self.latest["logits"] = logits``: the next step puts another value under the same key."""
        holder = store.holder
        live = self.flows.live_parts(store.value)
        if holder is None or not live or not store.is_item or self._continues_item(store):
            return None
        homes = homes_of(self.solution, holder)[1:]
        places = [home for home in homes if isinstance(home, Place)]
        if not all(self._is_lasting(place, store) for place in places) or not places:
            return None
        if self._collecting.intersection(places):
            return None
        births = [call for place in places for call in self._births_of(place, store.function)]
        if not self._outlives([*places, *births], store):
            return None
        if self.flows.is_trained_on(holder) or any(map(self.flows.is_trained_on, self._reads.of(places))):
            return None
        if self._is_used_here(store, live) or self._may_be_term(places):
            return None
        heavy = [part for part in live if self._saved.holds_activations(part)]
        spent, live = not heavy, heavy or live
        escapes = self.flows.may_be_trained_on(holder) or self.flows.is_shown(holder)
        if not spent and (escapes or not self._is_over(store.function, places, live)):
            return None
        name = f"{text_of(store.target, holder)}{written_key(store)}"
        certain = not escapes and self._is_seen_running(store.function)
        return Leftover(store.statement, name, tuple(uses_of(store.value, store.syntax, live)), spent, certain)

    def _of_other_file(self, left: LeftElsewhere) -> Leftover | None:
        """``note(weights)``: what is left by a function of another file on the same object, or in a global there."""
        function, places, live = left.kept.call.function, list(left.places), list(left.live)
        wanted = (self.flows.trained, self.flows.inspected, self.flows.escaped, self.flows.shown)
        if not self._outlives_call(left) or any(r in values for r in self._reads.of(places) for values in wanted):
            return None
        spent = self._is_given_to_training(function, places, live) or self._is_trained_by_others(function, live)
        if not spent and not self._is_over(function, places, live):
            return None
        if self._is_let_go(places) or self._may_be_term(places):
            return None
        given = left.kept.given
        use = given if live == [given.value] else Use(live[0], given.node)
        return Leftover(self.facts.statement_of(left.kept.call), left.kept.name, (use,), spent, certain=False)

    def _outlives_call(self, left: LeftElsewhere) -> bool:
        """Whether what is left there stays until the next step, as far as is seen who calls the function around."""
        call, homes = left.kept.call, list[Place | Value](left.places)
        homes += [birth for place in left.places for birth in self._births_of(place, call.function)]
        is_step, setting = self.repetitions.is_step, left.kept.function
        if self.lifetimes.outlives(homes, call.function, call.loop, is_step=is_step, begun_in=setting):
            return True
        is_open = not left.places and not self.solution.callers.get(call.function)
        return is_open and self.facts.repeats(call.function.name)

    def _of_assignment(self, store: Store) -> Leftover | None:
        places = [target for target in targets_of(self.solution, store) if isinstance(target, Place)]
        if not places or not all(self._is_lasting(place, store) for place in places):
            return None
        if self._collecting.intersection(places) and store.value.op is Op.CONTAINER and not store.value.inputs:
            return None
        live = self.flows.live_parts(store.value)
        fields = self._in_record(store.value) if not live else []
        filled = self._filled(store) if not live else []
        live = live or fields or [part for one in filled for part in self.flows.live_parts(one.value)]
        terms = [] if live else self._terms(store, places)
        live = live or terms
        if not live or self._continues(store, places) or self._reads.is_deleted(store):
            return None
        if any(self._may_be_network(part) for part in live):
            return None
        births = [call for place in places for call in self._births_of(place, store.function)]
        if not terms and not self._outlives([*places, *births], store, begun_in=store.function if filled else None):
            return None
        reads = self._reads.of(places)
        own = self._reads.of(self._fields_of(store.value)) if fields else []
        reads += [read for read in own if store.value not in read.inputs[:1]]  # as long as it was a variable
        if any(read in self.flows.trained or read in self.flows.inspected for read in reads):
            return None
        if any(map(is_asked_as_module, reads)):
            return None  # what is called makes a network: a class that an attribute holds
        heavy = [part for part in live if self._saved.holds_activations(part)]
        escapes = any(read in self.flows.escaped or read in self.flows.shown for read in reads)
        if terms and escapes:
            return None
        live = heavy or live
        spent = bool(terms) or not heavy or (not escapes and self._is_given_to_training(store.function, places, live))
        is_over = spent or (not escapes and self._is_over(store.function, places, live))
        if not is_over and not (self._runs_in_forward(store.function) and is_only_looked_at(self.facts, places, reads)):
            return None
        if self._is_used_here(store, live) or self._is_let_go(places) or self._may_be_term(places):
            return None
        if spent and self._is_emptied_behind(store, places):
            return None
        left = filled[0] if filled else store
        uses = tuple(uses_of(left.value, left.syntax, live))
        certain = not escapes and self._is_seen_running(store.function)
        return Leftover(left.statement, text_of(store.target, store.value), uses, spent, certain, not is_over)

    def _terms(self, store: Store, places: list[Place]) -> list[Value]:
        """A term of the loss that a forward returns, which other files train on, and none asks the object for."""
        is_term = is_term_of_older_object(self.facts, store.value)
        return [store.value] if is_term and self._is_trained_elsewhere(store.function, places) else []

    def _filled(self, store: Store) -> list[Store]:
        """What the function puts into a container that it has just begun: ``self.maps = []``, ``self.maps.append(w)``.

        None where another function puts something there as well, this one empties it in the end, or it is begun only
        where nothing was before.
        """
        filling, graph = self._insertions.get(store.value, []), self.solution.graph
        if store.value in graph.beginnings:
            return []
        live = [one for one in filling if self.flows.live_parts(one.value)]
        if not live or any(one.function is not store.function for one in filling):
            return []
        begun = [one for one in graph.stores if one.function is store.function and one.attribute == store.attribute]
        emptied = [reset for reset in graph.resets if reset.function is store.function]
        is_emptied = any(store.value in allocations_of(self.solution, reset.holder) for reset in emptied)
        return [] if is_emptied or len(begun) > 1 else live

    @cached_property
    def _collecting(self) -> frozenset[Place]:
        return collecting(self.facts)

    @cached_property
    def _insertions(self) -> dict[Value, list[Store]]:
        """What is put into containers, by what has made each of them."""
        table: dict[Value, list[Store]] = defaultdict(list)
        for store in self.solution.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None:
                for made in allocations_of(self.solution, store.holder):
                    table[made].append(store)
        return table

    def _in_record(self, value: Value) -> list[Value]:
        """The live tensors of which a record is made: ``Pair(positive, negative)``."""
        makers = [value] if makes_record(self.facts, value) else makers_of(self.solution, value)
        given = dict.fromkeys(argument for maker in makers for argument in maker.arguments)
        return [argument for argument in given if self.flows.live(argument) is not None]

    def _fields_of(self, record: Value) -> list[Place]:
        """The attributes of the classes of the file of which a record may be."""
        made = (atom.cls for atom in self.solution.final(record) if isinstance(atom, Instance))
        return [place for cls in made for place, _ in self.solution.stored_with(cls.root())]

    def _is_let_go(self, places: list[Place]) -> bool:
        """Whether another file takes it away from the object that keeps it, as a callback does after each batch.

        Be it by a method of the object that does so, which nobody calls here.
        """
        by_own = (one for one in self.lifetimes.resetters([*places]) if one.owner is not None and not is_forward(one))
        left = [one.name for one in by_own if one.name != "__init__" and not self.solution.callers.get(one)]
        others_let_go = (place.path for place in places if isinstance(place.owner, Class))
        return any(map(self.facts.others_let_go, others_let_go)) or any(map(self.facts.others_mention, left))

    def _is_emptied_behind(self, store: Store, places: list[Place]) -> bool:
        """Whether the function empties it behind the loop of its steps: ``self.batch = self.output = None``."""
        emptied = [loop for place in places for loop in self.lifetimes.reset_in(place, store.function)]
        return store.loop is not None and any(loop is not store.loop for loop in emptied)

    def _may_be_term(self, places: list[Place]) -> bool:
        """Whether code that is not seen, or stands in another file, makes a term of the loss of it."""
        kept = [place for place in places if isinstance(place.owner, Class)]
        return any(self._unseen_terms.may_read(one) or self.facts.used_below(one.path) for one in kept)

    @cached_property
    def _unseen_terms(self) -> UnseenTerms:
        return UnseenTerms(self.steps, self.facts.mentioned_below)

    def _outlives(self, homes: list[Place | Value], store: Store, begun_in: Function | None = None) -> bool:
        is_step = self.repetitions.is_step
        return self.lifetimes.outlives(homes, store.function, store.loop, is_step=is_step, begun_in=begun_in)

    # -- how long it stays ----------------------------------------------------------------------------------------

    def _is_lasting(self, place: Place, store: Store) -> bool:
        """Whether what a place holds outlives the call that stores it: an object of the file, a module, a global."""
        owner = place.owner
        if isinstance(owner, Class):
            return owner.setter(place.path) is None  # which keeps what it makes of it
        if isinstance(owner, Function):
            if store.function is owner or self._is_running_in(owner, store.function):
                return False
            return not store.attribute or self._is_network(store.holder)
        return self._is_network(owner) or (owner.op is Op.CALL and owner.callee.name in NAMESPACES)

    def _is_running_in(self, owner: Function, function: Function) -> bool:
        """Whether what a function inside another one calls its own is a local variable of the call that runs it."""
        callers = self.solution.callers.get(function, ())
        return owner is not self.solution.graph.module and any(call.function is owner for call in callers)

    def _is_network(self, value: Value | None) -> bool:
        return value is not None and self.solution.may_be(value, Module)

    def _births_of(self, place: Place, function: Function) -> list[Value]:
        """Where the objects were made whose attribute this is: one that is made in each step does not outlive it."""
        if isinstance(place.owner, Value):
            return [place.owner] if place.owner.op is Op.CALL else []
        cls = function.owner if isinstance(place.owner, Class) else None
        if cls is None or cls.root() is not place.owner:
            cls = place.owner if isinstance(place.owner, Class) else None
        return [] if cls is None else [call for made, calls in self._made.items() if cls in made for call in calls]

    @cached_property
    def _made(self) -> dict[tuple[Class, ...], list[Value]]:
        """The calls that make instances, by the class and its ancestors in this file."""
        table: dict[tuple[Class, ...], list[Value]] = defaultdict(list)
        for call in self.facts.calls():
            made = [a for a in self.solution.final(call) if isinstance(a, Instance)]
            callees = self.solution.functions_of(call)
            # A builder hands on what it made; only the call of the class itself makes it.
            if len(made) == 1 and all(f.name == "__init__" for f in callees) and call.callee.op is not Op.ATTRIBUTE:
                table[tuple(made[0].cls.lineage())].append(call)
        return table

    def _may_be_network(self, value: Value) -> bool:
        """``self.loss = self.prepared(loss, net)``: whether a network is kept, which what gives it may run as well."""
        return may_be_module(self.solution, value)

    def _continues(self, store: Store, places: list[Place]) -> bool:
        """Whether what is stored is computed from what was there: a sum, a running or a recurrent state."""
        return any(place in places for value in store.value.computed_from() for place in self.solution.read_from(value))

    def _continues_item(self, store: Store) -> bool:
        """Whether the new content of an item is computed from its old content."""
        old = (v for v in store.value.computed_from() if v.op is Op.SUBSCRIPT and v.keys[0] == store.key)
        homes = homes_of(self.solution, store.holder)[1:] if store.holder is not None else []
        return any(home in homes for value in old for home in homes_of(self.solution, value.inputs[0]))

    # -- who reads it ---------------------------------------------------------------------------------------------

    def _is_used_here(self, store: Store, live: list[Value]) -> bool:
        """``self.loss = ...; self.loss.backward()``: the attribute is how the function itself goes on."""
        used = (self.flows.trained, self.flows.escaped, self.flows.shown)
        wanted = any(part in values for part in live for values in used)
        return wanted and self._reads.are_in_function_of(store)

    # -- whether its graph is wanted ------------------------------------------------------------------------------

    def _is_over(self, function: Function, places: list[Place], live: list[Value]) -> bool:
        """Whether the file shows that no backward comes for a graph over which none has run."""
        if any(part in self.flows.trained or part in self.flows.escaped for part in map(self._saved.saved_by, live)):
            return False
        for place in places:
            bases = place.owner.all_bases() if isinstance(place.owner, Class) else ()
            if not all(promises(base, Holds.MODULE) or base.rpartition(".")[2] in OPEN_BASES for base in bases):
                return False
        return self._is_seen_running(function) or self._is_trained_elsewhere(function, places)

    def _is_seen_running(self, function: Function) -> bool:
        """Whether the step that runs a function stands in this file, and not only a layer of some network."""
        for current in self._running(function):
            calls = self.solution.callers.get(current, {})
            if self.steps.trains(current) or trains_on_result(current) or self._is_layer_of_training(current):
                return True
            if any(call.loop is not None and any(map(self.repetitions.is_step, call.loop.around())) for call in calls):
                return True
        return False

    def _running(self, function: Function) -> Iterator[Function]:
        """A function, those of this file that call it, and those that call these."""
        pending, seen = [(function, 0)], set[Function]()
        while pending:
            current, hops = pending.pop()
            if current not in seen and hops <= HOPS:
                seen.add(current)
                yield current
                pending += [(call.function, hops + 1) for call in self.solution.callers.get(current, {})]

    def _runs_in_forward(self, function: Function) -> bool:
        return any(map(is_forward, self._running(function)))

    def _is_trained_elsewhere(self, function: Function, places: list[Place]) -> bool:
        """Whether it runs in the forward of a network that another file trains, and no other file asks for it."""
        names = [place.path for place in places if isinstance(place.owner, Class)]
        if len(names) < len(places) or not self._runs_in_forward(function):
            return False
        return all(map(self.facts.trains_without, names))

    def _is_given_to_training(self, function: Function, places: list[Place], live: list[Value]) -> bool:
        """Whether it, or what it is a view of, leaves with what a forward gives, which this or another file trains.

        ``def train(model, loader)`` is hardly written beside a network for any other one.
        """
        if not self._leave(live) or not self._runs_in_forward(function):
            return False
        is_shown = any(part in self.flows.shown for part in live)
        return (self._trains_given_network and not is_shown) or self._is_trained_elsewhere(function, places)

    def _is_trained_by_others(self, function: Function, live: list[Value]) -> bool:
        """Whether it leaves with what a function returns over which another file runs a backward."""
        is_shown = any(part in self.flows.shown for part in live)
        return self._leave(live) and not is_shown and self.facts.others_train_on_result(function.name)

    def _leave(self, live: list[Value]) -> bool:
        """Whether tensors, or what they are views and sums of, go to code that is not seen."""
        return all(part in self.flows.escaped or self._saved.saved_by(part) in self.flows.escaped for part in live)

    @cached_property
    def _trains_given_network(self) -> bool:
        """Whether a backward of the file runs over what a parameter gives that is called, whose class is not seen."""
        behind = self.flows.ancestry.of_all(
            backward.root for backward in self.solution.graph.backwards if not backward.by_contract
        )
        networks = {value.callee for value in behind if value.op is Op.CALL and value.callee.op is Op.PARAMETER}
        return any(not self.solution.may_be(network, Instance | FunctionReference) for network in networks)

    def _is_layer_of_training(self, function: Function) -> bool:
        """Whether it is the forward of a layer that is made in a file that also trains, as one of a list of layers."""
        trains = any(not backward.by_contract for backward in self.solution.graph.backwards)
        return trains and is_forward(function) and any(function.owner in made for made in self._made)
