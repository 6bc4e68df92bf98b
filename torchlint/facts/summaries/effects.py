"""What functions do whenever they are called: told of each, so that other files can say where it is done too often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.gradient_readers import gradients_read_in
from torchlint.facts.autograd.retained_elsewhere import retained_in
from torchlint.facts.autograd.second_order import doubled_in, gradients_freed
from torchlint.facts.autograd.zeroed_elsewhere import ZEROING, zeroed_at
from torchlint.facts.host import debugging, recording
from torchlint.facts.host.process import is_optional
from torchlint.facts.keeping.cache_decorators import memoised_by
from torchlint.facts.keeping.caching import remembered_in
from torchlint.facts.keeping.filled_caches import FilledCaches
from torchlint.facts.keeping.joining import joined_by
from torchlint.facts.repeated.grouped import GROUPING, kept_for_good, made_for_group
from torchlint.facts.repeated.own_growth import OwnGrowth
from torchlint.facts.repeated.products import drawn_anew
from torchlint.facts.summaries.effect_kinds import FILLING, WORKERS, EffectKind, EffectSummary
from torchlint.facts.summaries.passing import may_be_followed, passed_on
from torchlint.facts.turns.data_passes import source_of_one
from torchlint.facts.turns.managed_blocks import is_lent
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.making import is_remembered
from torchlint.facts.values.parameter_lists import PARAMETERS
from torchlint.facts.values.reaching import reached
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.registrations import Registration
    from torchlint.facts.values.solve import Solution

MOST_EFFECTS = 8
"""Of a function that does more than this the first things are told."""


POSSIBLE = (EffectKind.CLOSES, EffectKind.FREES, EffectKind.GIVES_LOADED, EffectKind.SWITCHES_OFF)
"""What is told of a function that only may do it."""

SWITCHES: dict[EffectKind, Callable[[Facts, Value], bool]] = {
    EffectKind.RECORDS: recording.leaves_on,
    EffectKind.DETECTS: debugging.leaves_on,
}
"""What a function leaves switched on for the whole process, with what says so of a call of what is imported."""

WITHIN: dict[EffectKind, Callable[[Facts, Value], bool]] = {EffectKind.DETECTS_WITHIN: debugging.lends}
"""What a context manager has switched on in the blocks that it is entered for."""

HOOKING = (EffectKind.HOOKS, EffectKind.HOOKS_OWN)
"""What leaves hooks."""

OF_EACH = (
    *HOOKING, EffectKind.JOINS, EffectKind.GROWS, EffectKind.REMEMBERS, EffectKind.STARTS,
    EffectKind.GROWS_ANEW, EffectKind.GROWS_OWN, EffectKind.REMEMBERS_GIVEN, EffectKind.MEMOISES,
    *FILLING, EffectKind.RETAINS, EffectKind.DOUBLES, EffectKind.TIES, EffectKind.TABLES, *SWITCHES,
    EffectKind.READS_GRADIENTS, *ZEROING,
)  # fmt: skip
"""What is asked of each function anew, whatever those do that it calls."""

LENT = (EffectKind.PROFILES, *WITHIN)
"""What counts where a context manager does it around its caller's block."""

OF_MAKING = (EffectKind.LOADS,)
"""What counts where an object is made that does it."""

_HOLDING = (Op.PHI, Op.CONTAINER, Op.ELEMENT, Op.SUBSCRIPT)


@dataclass(frozen=True)
class Effect:
    """A call of this file does something that stands in another one.

    Attributes:
        call: the call.
        function: what it calls, of the other file.
        file: the name of that file.
        done: what that does.
        given: what the call passes for the parameters from which that comes to which it is done.
    """

    call: Value
    function: Function
    file: str
    done: EffectSummary
    given: tuple[Value, ...]


class Effects:
    """What the calls of one file do by functions of other files."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def of(self, kind: EffectKind) -> list[Effect]:
        """Every effect of a kind, in source order."""
        return [effect for effect in self._found if effect.done.kind is kind]

    @cached_property
    def _found(self) -> list[Effect]:
        foreign = self.solution.graph.foreign
        found = [
            Effect(call, function, file, done, _given(self.solution, call, function, done))
            for function, effects in tuple(foreign.effects.items())  # to read one may open another file's
            for call in self.solution.callers.get(function, ())
            if call.op is Op.CALL and not call.function.is_foreign
            for done, file in self._done(call, function, effects)
        ]
        return sorted(found, key=lambda effect: effect.call.index)

    def _done(
        self, call: Value, function: Function, effects: tuple[EffectSummary, ...]
    ) -> Iterator[tuple[EffectSummary, str]]:
        """What a function does, and what it does by others that it imports, each with the file in which that stands."""
        foreign = self.solution.graph.foreign
        yield from ((done, foreign.files[function]) for done in effects if done.kind is not EffectKind.CALLS)
        calls = [done for done in effects if done.kind is EffectKind.CALLS]
        # More files are read for it, so only for what is done again and again.
        if calls and self.facts.repetitions.of(call) is not None:
            for done in calls:
                yield from passed_on(foreign.found[function], done)


class Doings:
    """What the functions of one file do, for others to know."""

    def __init__(
        self,
        facts: Facts,
        kinds: dict[EffectKind, Callable[[Facts, Value], bool]],
        undone: dict[EffectKind, Callable[[Facts, Value, bool], bool]],
    ) -> None:
        """Work on ``facts``; ``kinds`` say of calls of what is imported what they do.

        ``undone`` say of a call of a function of the file whether the function around it undoes what that does, given
        whether what comes of it is returned.
        """
        self.facts, self.kinds, self.undone = facts, {**kinds, **WITHIN}, undone
        self._known: dict[Function, tuple[EffectSummary, ...]] = {}
        self._filled, self._own_growth = FilledCaches(facts), OwnGrowth(facts)

    def of(self, function: Function) -> tuple[EffectSummary, ...]:
        """What a function does on each call, by itself or by functions of its file."""
        if function not in self._known:
            self._known[function] = ()  # a cycle of calls does no more than it does
            done = (
                *self._done_in(function),
                *self._hooked_in(function),
                *self._joined_in(function),
                *self._grown_in(function),
                *self._own_grown_in(function),
                *remembered_in(self.facts, function),
                *memoised_by(self.facts, function),
                *self._filled.by(function),
                *self._zeroed_in(function),
                *self._switched_in(function),
                *self._freed_in(function),
                *gradients_read_in(self.facts, function),
                *self._started_in(function),
                *self._loaded_in(function),
                *retained_in(self.facts, function),
                *doubled_in(self.facts, function),
            )
            done = tuple(dict.fromkeys(done))
            calls = tuple(effect for effect in done if effect.kind is EffectKind.CALLS)
            others = tuple(effect for effect in done if effect.kind is not EffectKind.CALLS)
            self._known[function] = (*others[:MOST_EFFECTS], *calls[:MOST_EFFECTS])
        return self._known[function]

    def _done_in(self, function: Function) -> Iterator[EffectSummary]:
        for call in self.facts.steps.calls_in(function):
            for done in (*self._done_at(call), *self._passed_on(call)):
                if done.kind in POSSIBLE or self._is_sure(call, function, done.kind):
                    of = _of_making(done.of, function)
                    is_given = returns(function, call) or is_lent(self.facts, call)
                    yield replace(done, of=of, is_returned=done.is_returned and is_given)

    def _done_at(self, call: Value) -> Iterator[EffectSummary]:
        name = call.callee.name
        if call.callee.op is Op.EXTERNAL and not name.startswith("builtins."):
            kinds = [kind for kind, does in self.kinds.items() if does(self.facts, call)]
            for kind in kinds:
                yield EffectSummary(kind, name, _behind(call.arguments[:1], call.function), is_returned=True)
            if not kinds and may_be_followed(name):
                yield EffectSummary(EffectKind.CALLS, name, _behind(call.arguments, call.function), is_returned=True)

    def _passed_on(self, call: Value) -> Iterator[EffectSummary]:
        """What a call does by functions of the file."""
        for callee in self.facts.solution.functions_of(call):
            for done in self.of(callee):
                if done.kind not in OF_EACH and not self._is_undone(call, done):
                    yield replace(done, of=_behind(_given(self.facts.solution, call, callee, done), call.function))

    def _is_undone(self, call: Value, done: EffectSummary) -> bool:
        """Whether the function around a call undoes what that does: it closes the figure that a helper draws."""
        is_undone = self.undone.get(done.kind)
        return is_undone is not None and is_undone(self.facts, call, done.is_returned)

    def _joined_in(self, function: Function) -> Iterator[EffectSummary]:
        """That a function returns what it is given as one tensor."""
        of = joined_by(self.facts, function)
        if of:
            yield EffectSummary(EffectKind.JOINS, "torch.cat", of, is_returned=True)

    def _grown_in(self, function: Function) -> Iterator[EffectSummary]:
        """The groups of parameters that a function adds to an optimizer which it is given."""
        for call in self.facts.steps.calls_in(function):
            optimizer = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
            if (
                call.callee.name != GROUPING
                or optimizer not in function.parameters
                or not self._is_sure(call, function, EffectKind.GROWS)
            ):
                continue
            first = function.parameters.index(optimizer)
            made = made_for_group(self.facts, call.arguments[0]) if call.arguments else frozenset()
            if made and kept_for_good(self.facts).isdisjoint(made):
                yield EffectSummary(EffectKind.GROWS_ANEW, call.callee.name, (first,))
                continue
            added = (position for position in _behind(call.arguments, function) if position != first)
            yield EffectSummary(EffectKind.GROWS, call.callee.name, (first, *added))

    def _own_grown_in(self, function: Function) -> Iterator[EffectSummary]:
        """The layers that a method adds to its object: ``self.layers.append(nn.Linear(8, 8))``."""
        for at, done in self._own_growth.by(function):
            if self._is_sure(at, function, done.kind):
                yield done

    def _started_in(self, function: Function) -> Iterator[EffectSummary]:
        """The loaders of which a function takes the first batch anew: ``next(iter(self.loader))``."""
        for call in self.facts.steps.calls_in(function):
            product, loader = drawn_anew(self.facts, call), source_of_one(call)
            if loader is not None and self._is_sure(call, function, EffectKind.STARTS):
                if product is not None and loader.op in (Op.ATTRIBUTE, Op.PARAMETER):
                    yield EffectSummary(EffectKind.STARTS, WORKERS if product.starts_workers else "")
                elif loader in function.parameters:
                    yield EffectSummary(EffectKind.STARTS, "iter", (function.parameters.index(loader),))
            for callee in self.facts.solution.functions_of(call):
                started = [done for done in self.of(callee) if done.kind is EffectKind.STARTS and not done.of]
                if started and callee.owner is not None and self._is_sure(call, function, EffectKind.STARTS):
                    yield from started

    def _loaded_in(self, function: Function) -> Iterator[EffectSummary]:
        """What a function reads and returns, put where it was saved unless its caller says otherwise."""
        for load, parameter in self.facts.loads.left_to_callers(function):
            position = function.parameters.index(parameter)
            yield EffectSummary(EffectKind.GIVES_LOADED_UNTOLD, load.name, (position,), is_returned=True)

    def _switched_in(self, function: Function) -> Iterator[EffectSummary]:
        """What a function leaves switched on, where neither a condition nor who reads its result decides on it."""
        for call in () if function.is_generator else self.facts.steps.calls_in(function):
            name = call.callee.name if call.callee.op is Op.EXTERNAL else ""
            kinds = (kind for kind, leaves_on in SWITCHES.items() if name and leaves_on(self.facts, call))
            found = [EffectSummary(kind, name) for kind in kinds]
            for callee in self.facts.solution.functions_of(call):
                found += [done for done in self.of(callee) if done.kind in SWITCHES]
            if found and not is_optional(self.facts, call, None, hops=0):
                yield from found

    def _zeroed_in(self, function: Function) -> Iterator[EffectSummary]:
        """The gradients that a function, no step itself, fills with zeros."""
        calls = () if self.facts.steps.trains(function) else self.facts.steps.calls_in(function)
        for call in calls:
            zeroed = zeroed_at(self.facts, call, self.of)
            subjects = zeroed.subjects if zeroed is not None else ()
            of = _behind(subjects, function)
            done = zeroed.told(function, of) if zeroed is not None and of else None
            # ``self.optimizers[name].zero_grad()`` goes over names.
            names = (index for subject in subjects for index in self.facts.graph.indices.get(subject, ()))
            part = next(names, next(iter(subjects), None))
            if done and self._is_sure(self.facts.hook_lifetimes.walk_over(call, part), function, done.kind):
                yield done

    def _freed_in(self, function: Function) -> Iterator[EffectSummary]:
        """That a function takes gradients away, which ends the circle of a parameter and its gradient's graph."""
        if function in self._freeing:
            yield EffectSummary(EffectKind.FREES, "grad")

    @cached_property
    def _freeing(self) -> frozenset[Function]:
        return frozenset(function for function, _ in gradients_freed(self.facts))

    def _hooked_in(self, function: Function) -> Iterator[EffectSummary]:
        """The hooks that a function leaves on what it is given, be it one for each of many parts."""
        lifetimes = self.facts.hook_lifetimes
        for call in self.facts.steps.calls_in(function):
            for hooked, subject in self._hooks_at(call):
                way = set(lifetimes.subjects.way(subject, ()))
                of = tuple(i for i, parameter in enumerate(function.parameters) if parameter in way)
                gives_handle, kind = hooked.is_returned, hooked.kind
                if gives_handle and not lifetimes.handles.is_left(call):
                    kind, gives_handle = EffectKind.HOOKS_OWN, False
                    of = of if lifetimes.handles.is_kept_by_object(call) else ()
                walk = lifetimes.walk_over(call, subject)
                if len(of) == 1 and self._is_sure(walk, function, kind):
                    yield EffectSummary(kind, hooked.name, of, gives_handle and not call.is_bare)

    def _hooks_at(self, call: Value) -> Iterator[tuple[EffectSummary, Value]]:
        """What a CALL does, which registers a hook, and the object on which it does."""
        found = self._registered.get(call)
        if found is not None and found.subject is not None:
            of_parameters = any(map(_gives_parameters, self.facts.hook_lifetimes.subjects.way(found.subject, ())))
            if of_parameters or not found.is_of_tensor:
                yield EffectSummary(EffectKind.HOOKS, call.callee.name, is_returned=True), found.subject
        for callee in self.facts.solution.functions_of(call):
            for done in self.of(callee):
                for given in _given(self.facts.solution, call, callee, done) if done.kind in HOOKING else ():
                    yield done, given

    @cached_property
    def _registered(self) -> dict[Value, Registration]:
        return {registration.call: registration for registration in self.facts.registrations}

    def _is_sure(self, call: Value, function: Function, kind: EffectKind) -> bool:
        """Whether a function makes a call, which does this, each time, and is no step itself, nor runs any."""
        if call.loop is not None or is_remembered(function):
            return False
        if function.is_generator and not (kind in LENT and is_lent(self.facts, call)):
            return False
        if function.name == "__init__" and (
            kind not in OF_MAKING or function.owner is None or is_module_class(function.owner)
        ):
            return False
        repetitions = self.facts.repetitions
        if repetitions.stands_for_a_turn(function) or repetitions.holds(function):
            return False
        return not self.facts.skipping.is_skipped(call, function) and not self._asks_what_is_given(call, function)

    def _asks_what_is_given(self, call: Value, function: Function) -> bool:
        """Whether a condition over a call asks if there is an argument: ``if not figure:``, ``if old is None:``."""
        node, parameters = call.syntax or call.statement, {parameter.name for parameter in function.parameters}
        while node is not None and node is not function.syntax:
            if isinstance(node, cst.If | cst.IfExp) and not parameters.isdisjoint(_asked_for(node.test)):
                return True
            node = self.facts.parents.get(node)
        return False


def returns(function: Function, value: Value) -> bool:
    """Whether a function returns a value, a part of it, or a container that has it."""
    results = [function.result] if function.result is not None else []
    return value in reached(results, lambda current: current.inputs if current.op in _HOLDING else ())


def _of_making(of: tuple[int, ...], function: Function) -> tuple[int, ...]:
    """The parameters from which something comes; of an object that is being made it may be all that it is given."""
    return tuple(range(1, len(function.parameters))) if function.name == "__init__" and 0 in of else of


def _gives_parameters(value: Value) -> bool:
    return value.op is Op.CALL and value.callee.name.rpartition(".")[2] in PARAMETERS


def _asked_for(test: cst.BaseExpression) -> Iterator[str]:
    """The variables of which a condition asks whether they are anything at all."""
    pending = [test]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.BooleanOperation):
            pending += [node.left, node.right]
        elif isinstance(node, cst.UnaryOperation):
            pending.append(node.expression)
        elif isinstance(node, cst.Comparison) and dotted(node.comparisons[0].comparator) == "None":
            pending.append(node.left)
        elif isinstance(node, cst.Name):
            yield node.value


def _given(solution: Solution, call: Value, function: Function, done: EffectSummary) -> tuple[Value, ...]:
    """What a CALL of a function passes for the parameters from which that comes to which something is done."""
    passed = (solution.passed(call, function, position) for position in done.of)
    return tuple(value for value in passed if value is not None)


def _behind(values: tuple[Value, ...], function: Function) -> tuple[int, ...]:
    """The parameters of a function, by position, from which values come."""
    sources = {source for value in values for source in value.computed_from()}
    return tuple(i for i, parameter in enumerate(function.parameters) if parameter in sources)
