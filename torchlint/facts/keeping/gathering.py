"""Containers that gather something in each turn: what repeats an insertion, and which containers live through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.insertions import is_bounded
from torchlint.facts.autograd.records import makes_record
from torchlint.facts.keeping.bases import WHOLE
from torchlint.facts.keeping.samplings import Samplings
from torchlint.facts.turns.changing import changes_with
from torchlint.facts.turns.data_passes import cutting, is_over_data
from torchlint.facts.turns.disk_passes import goes_over_disk
from torchlint.facts.turns.repetition import HOPS
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.choices import choices
from torchlint.facts.values.dictionaries import is_item_or_default
from torchlint.facts.values.frameworks import is_called_each_step
from torchlint.facts.values.graph import Function, Loop, Mode, Op, Reset, Store, Value
from torchlint.facts.values.homes import allocations_of, stored_at
from torchlint.facts.values.literals import literal
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.residence import Residence, Residences
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

MOST_PARTS = 12
"""A loop that counts to so much goes over heads, scales, or layers; one that counts farther, over data."""

SAME_LENGTH = frozenset(["builtins.enumerate", "builtins.sorted", "builtins.reversed", "builtins.list"])
"""Functions that give as many items as they are given."""


class Gathering:
    """Answers how often something is put aside in one file, and for how long."""

    def __init__(self, facts: Facts, residences: Residences | None = None, *, trusts_parameters: bool = False) -> None:
        """Search in the file of ``facts``; a function that is given to another may be a model if they are trusted.

        So may an unseen object that is given what ``residences`` say to be on the device.
        """
        self.facts, self.residences = facts, residences
        self.trusts_parameters = trusts_parameters
        self.extents = facts.extents
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.repetitions = facts.repetitions
        self._samplings = Samplings(facts)
        self._yielded: dict[Function, Sequence[int]] = {}

    def position(self, store: Store) -> Value:
        """A value that stands for the place of a store; its statement need not compute one that is not known yet."""
        known = self.facts.computed_in(store.statement)
        if known and store.statement is not None:
            return known[-1]
        return Value(-1, Op.CONSTANT, (), store.function, store.loop, store.mode, statement=store.statement)

    def adds_item(self, store: Store, by: Loop | Function) -> bool:
        """Whether ``d[i] = out`` has another key in each turn."""
        if store.key is not None or store.index is None or self._is_named(store.index):
            return False
        parts = list(store.index.computed_from())
        if any(self._counts(part, store) for part in parts):
            return True
        for _ in range(HOPS):
            asked = {part.inputs[0] for part in parts if part.op is Op.SUBSCRIPT}
            further = (one for part in parts for one in self._behind(part, is_asked=part in asked))
            parts = list(dict.fromkeys((*parts, *(part for one in further for part in one.computed_from()))))
        return isinstance(by, Function) or any(changes_with(part, by) for part in parts)

    def _is_named(self, index: Value) -> bool:
        """Whether a key is one of the names that the calls of a method pass for it: ``self.note("last", weights)``."""
        names = list(ends([index], self._passed_as)) if index.op is Op.PARAMETER else []
        return bool(names) and all(one.op is Op.CONSTANT and one.syntax is not None for one in names)

    def _passed_as(self, value: Value) -> Sequence[Value]:
        return self.solution.arguments_of(value) if value.op is Op.PARAMETER else ()

    def _behind(self, part: Value, *, is_asked: bool) -> list[Value]:
        """What calls give for a parameter, and what is put into a list of which all, and not one item, is taken."""
        given = self.solution.arguments_of(part) if part.op is Op.PARAMETER else []
        made = [] if is_asked else allocations_of(self.solution, part)
        return [*given, *(item for one in made for _, item in self.solution.held.get(one, ()))]

    def _counts(self, part: Value, store: Store) -> bool:
        """``found[len(found)] = out``"""
        if part.op is not Op.CALL or part.callee.name != "builtins.len" or not part.arguments or store.holder is None:
            return False
        counted, filled = (allocations_of(self.solution, one) for one in (part.arguments[0], store.holder))
        return not set(counted).isdisjoint(filled)

    def any_repetition(self, call: Value) -> Repetition | None:
        """What repeats a call for a number of times that is not written there, whatever a turn is."""
        chain: tuple[Value, ...] = (call,)
        while len(chain) <= HOPS:
            at = chain[-1]
            for loop in at.loop.around() if at.loop is not None else ():
                if not self.is_short(loop):
                    return Repetition(loop, self.repetitions.turn(loop), chain)
            callers = sorted(self.solution.callers.get(at.function, ()), key=lambda value: value.index)
            if not callers or callers[0] in chain:
                return self.repetition(call)
            chain = (*chain, callers[0])
        return None

    def is_short(self, loop: Loop) -> bool:
        """Whether a loop runs over layers, over what is written there, or up to a small number."""
        iterable = loop.iterable
        if iterable is None:
            return False
        if iterable.op is Op.CALL and iterable.callee.name == "builtins.range":
            return all(argument.op is Op.CONSTANT and self._is_small(argument) for argument in iterable.arguments)
        before = cutting(iterable)
        if before is not None:
            return self.is_short(before)
        return iterable.op is Op.CONTAINER or self._is_written_out(iterable) or self.steps.walks_modules(loop)

    def _is_written_out(self, iterable: Value) -> bool:
        """Whether a loop runs over a constant with a few items that are written there: ``LAYERS = (3, 6, 9)``."""
        iterable = items_behind(iterable)
        if iterable.op is Op.CONTAINER:
            return isinstance(iterable.syntax, cst.Tuple | cst.List | cst.Set)
        stored = stored_at(self.solution, iterable)
        return bool(stored) and all(isinstance(one.syntax, cst.Tuple) and one.inputs for one in stored)

    def _is_small(self, number: Value) -> bool:
        known = literal(self.solution, number)
        return not isinstance(known, int) or known <= MOST_PARTS

    def repetition(self, call: Value) -> Repetition | None:
        """What repeats a call for one batch after the other; None for epochs, layers and a few cases."""
        repetition = self.repetitions.of(call)
        if repetition is not None:
            return repetition if repetition.turn is not Turn.HOLDS else self._of_samples(repetition)
        chain: tuple[Value, ...] = (call,)
        while len(chain) <= HOPS:  # also where it stands in a branch: what began in the first turn goes on in the next
            at = chain[-1]
            for loop in at.loop.around() if at.loop is not None else ():
                if self.repetitions.turn(loop) is Turn.HOLDS:
                    return self._of_samples(Repetition(loop, Turn.HOLDS, chain))
                if self.is_pass(loop):
                    return Repetition(loop, Turn.INFERS, chain)
            if is_called_each_step(at.function):
                return Repetition(at.function, Turn.INFERS, chain)  # a metric's, once for each batch
            callers = sorted(self.solution.callers.get(at.function, ()), key=lambda value: value.index)
            if not callers or callers[0] in chain:
                break
            chain = (*chain, callers[0])
        return None

    def _of_samples(self, repetition: Repetition) -> Repetition | None:
        """A pass whose turns hold no epoch, but make one output in many steps of their own; None for any other."""
        by = repetition.by
        is_pass = isinstance(by, Loop) and self._samplings.makes_one_each_turn(by)
        return replace(repetition, turn=Turn.INFERS) if is_pass else None

    def is_pass(self, loop: Loop) -> bool:
        """Whether each turn of ``loop`` is a batch: a turn that infers, or that calls a method of a module."""
        turn = self.repetitions.turn(loop)
        if turn is not Turn.OTHER:
            return turn is not Turn.HOLDS
        if loop.iterable is None or self.is_short(loop):
            return False
        if self._draws_outputs(loop.iterable):
            return True
        counts = (
            loop.iterable if loop.iterable.op is Op.CALL and loop.iterable.callee.name == "builtins.range" else None
        )
        if counts is not None and not (self.trusts_parameters and len(counts.arguments) == 3):
            return False
        inside = self.steps.calls_within(loop)
        return any(self._may_infer(call) and self._uses_turn(call, loop) for call in inside)

    def _draws_outputs(self, iterable: Value) -> bool:
        """Whether a loop draws what a generator yields that runs a model in each of its turns."""
        return any(self.yielded_outputs(one) for source in iterated(iterable) for one in self.generators(source))

    def generators(self, source: Value) -> Sequence[Function]:
        """The functions that yield what a loop takes from ``source``, be it what callers give; none if one is not seen.

        ``for name, out in pairs``, of ``collect(predictions(net, loader))``.
        """
        calls = list(ends([source], self._passed_as))
        found = [self.solution.functions_of(call) if call.op is Op.CALL else () for call in calls]
        return [function for functions in found for function in functions] if all(found) else ()

    def yielded_outputs(self, function: Function) -> Sequence[int]:
        """The outputs that a generator, here or in another file, yields in a pass over data, and not on the host.

        Items of a tuple, from 0, or :data:`~torchlint.facts.keeping.bases.WHOLE`.
        """
        if function.is_foreign:
            return self.solution.graph.foreign.yielded_outputs.get(function, ())
        if function not in self._yielded:
            self._yielded[function] = ()  # one that draws from itself yields no more by that
            self._yielded[function] = self._outputs_yielded_by(function)
        return self._yielded[function]

    def _outputs_yielded_by(self, function: Function) -> Sequence[int]:
        if not any(map(self.is_pass, function.yielding_loops)):
            return ()
        yielded = choices(function.result)
        row = self._row(yielded[0]) if len(yielded) == 1 else ()
        items = list(enumerate(row)) if row else [(WHOLE, one) for one in yielded]
        return [key for key, item in items if self.extents.is_output(item) and not self._is_on_host(item)]

    def _row(self, yielded: Value) -> Sequence[Value]:
        """What a tuple or a record is made of; nothing for anything else."""
        if isinstance(yielded.syntax, cst.Tuple):
            return yielded.inputs
        return yielded.arguments if makes_record(self.facts, yielded) else ()

    def _is_on_host(self, item: Value) -> bool:
        return self.residences is not None and self.residences.of(item) is Residence.HOST

    def brings_data(self, by: Loop | Function) -> bool:
        """Whether each turn brings a new batch, or more; a few files, types or groups are one step's own."""
        return isinstance(by, Function) or self.repetitions.turn(by) is not Turn.OTHER or self.is_pass(by)

    def goes_over_disk(self, by: Loop | Function) -> bool:
        """Whether what repeats goes over the files of a folder, or the rows of a file: ``csv.DictReader(file)``."""
        return isinstance(by, Loop) and goes_over_disk(self.solution, self.steps, by)

    def is_over_data(self, by: Loop | Function, item: Value) -> bool:
        """Whether what repeats is seen to go over a data set, of which ``item`` is computed turn by turn."""
        return isinstance(by, Function) or is_over_data(self.solution, self.steps, by, item)

    def _may_infer(self, call: Value) -> bool:
        """Whether a CALL may run a model.

        It is of a module's method, of what the caller of its function says, or of an unseen object's under a guard,
        since who guards it infers; so does who gives it what was moved to the device.
        """
        if self.extents.is_method_of_module(call) or (self.trusts_parameters and calls_parameter(call)):
            return True
        if not self.flows.is_unknown_call(call):
            return False
        return self.flows.modes.at(call) == frozenset([Mode.OFF]) or self._gets_moved(call)

    def _gets_moved(self, call: Value) -> bool:
        """Whether a CALL of an object is given what stands on the device, and gives something back."""
        if self.residences is None or call.callee.op is not Op.ATTRIBUTE or call.is_bare:
            return False
        return any(self.residences.of(argument) is Residence.DEVICE for argument in call.arguments)

    def _uses_turn(self, call: Value, loop: Loop) -> bool:
        parts = (part for argument in call.arguments for part in argument.computed_from())
        return any(changes_with(part, loop) or _is_cut_by(part, loop) for part in parts)

    def allocation(self, store: Store, repetition: Repetition) -> Value | None:
        """The container that takes it, if it lives through the turns; None for one of each turn, a window, a deque."""
        assert store.holder is not None
        made = self.containers(store.holder)
        if not made or any(self.is_within(one.function, one.loop, repetition) or is_bounded(one) for one in made):
            return None
        return None if self._resets_within(made, repetition) else made[0]

    def window(self, store: Store, repetition: Repetition) -> Value | None:
        """The container that takes it, if it lives through the turns and gives up its oldest where it is full."""
        assert store.holder is not None
        made = self.containers(store.holder)
        if len(made) != 1 or self.is_within(made[0].function, made[0].loop, repetition):
            return None
        if is_bounded(made[0]):
            most = literal(self.solution, made[0].argument(1, "maxlen"))
            return None if isinstance(most, int) and most <= MOST_PARTS else made[0]
        resets = self._resets_within(made, repetition)
        gives_up = bool(resets) and all(reset.is_item for reset in resets) and self._is_asked_for_length(made[0])
        return made[0] if gives_up else None

    def is_until_enough(self, by: Loop | Function, made: Value) -> bool:
        """``while len(images) < wanted:``, whether a loop goes on until a container has enough."""
        if not isinstance(by, Loop) or not isinstance(by.syntax, cst.While):
            return False
        asked = {call.syntax for call in self._lengths_of(made)}
        return any(node in asked for node in walk(by.syntax.test))

    def _lengths_of(self, made: Value) -> Iterator[Value]:
        lengths = (call for call in self.facts.calls() if call.callee.name == "builtins.len" and call.arguments)
        yield from (call for call in lengths if made in allocations_of(self.solution, call.arguments[0]))

    def _is_asked_for_length(self, made: Value) -> bool:
        """``if len(self.rows) > self.most:``"""
        return any(user.op is Op.COMPARISON for call in self._lengths_of(made) for user in call.users)

    def _resets_within(self, made: list[Value], repetition: Repetition) -> list[Reset]:
        """What takes something out of one of the containers in each turn."""
        return [
            reset
            for reset in self.facts.graph.resets
            if not set(made).isdisjoint(allocations_of(self.solution, reset.holder))
            and self.is_within(reset.function, reset.loop, repetition)
        ]

    def containers(self, holder: Value) -> list[Value]:
        """The containers that a holder may be; a list that a ``defaultdict`` makes lives as long as that does.

        So does what ``rows.setdefault(name, [])`` puts there, if it is not there yet.
        """
        if is_item_or_default(holder):
            around = allocations_of(self.solution, holder.callee.inputs[0])
            if around:
                return around
        made = allocations_of(self.solution, holder)
        if made or holder.op is not Op.SUBSCRIPT:
            return made
        return [one for one in allocations_of(self.solution, holder.inputs[0]) if _makes_lists(one)]

    def is_within(self, function: Function, loop: Loop | None, repetition: Repetition) -> bool:
        """Whether something at this position happens in each turn."""
        by = repetition.by
        if isinstance(by, Loop) and function is by.function:
            return loop is not None and by in loop.around()
        return function is by or function in {call.function for call in repetition.chain}


def _is_cut_by(part: Value, loop: Loop) -> bool:
    """Whether a slice is what the turn of a loop says: ``rows[start : start + size]``."""
    if (
        not isinstance(part.syntax, cst.Subscript)
        or not isinstance(loop.syntax, cst.For)
        or part.op is not Op.SUBSCRIPT
    ):
        return False
    counters = {node.value for node in walk(loop.syntax.target) if isinstance(node, cst.Name)}
    within = (node for element in part.syntax.slice for node in walk(element))
    return any(isinstance(node, cst.Name) and node.value in counters for node in within)


def items_behind(iterable: Value) -> Value:
    """``rows`` of ``enumerate(sorted(rows))``: what has the items that a loop runs over, each once."""
    while iterable.op is Op.CALL and iterable.callee.name in SAME_LENGTH and iterable.arguments:
        iterable = iterable.arguments[0]
    return iterable


def iterated(iterable: Value) -> list[Value]:
    """``names`` and ``rows`` of ``zip(names, enumerate(rows))``: all of which each turn of a loop takes an item."""
    source = items_behind(iterable)
    if source.op is Op.CALL and source.callee.name == "builtins.zip":
        return [item for given in source.arguments for item in iterated(given)]
    return [source]


def calls_parameter(call: Value) -> bool:
    """Whether a CALL is of a function that the one around it is given: ``predictor(window)``, not ``self(x)``."""
    if call.op is not Op.CALL or call.callee.op is not Op.PARAMETER:
        return False
    owned = call.function.owner is not None and not call.function.is_static
    return not (owned and call.callee in call.function.parameters[:1])


def _makes_lists(made: Value) -> bool:
    """``defaultdict(list)``"""
    factory = made.argument(0) if made.op is Op.CALL and made.callee.name == "collections.defaultdict" else None
    return factory is not None and factory.name == "builtins.list"
