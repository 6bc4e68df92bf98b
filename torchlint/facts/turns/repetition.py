"""How often something runs: in every step, once for an epoch or a trial, or only when it is first needed.

A loop each turn of which is a step repeats what stands in it, and so does a method that stands for the body of a loop
elsewhere. A loop that holds whole loops of steps is one of epochs, folds or trials. A branch that is taken when
something is first needed runs once, however often it is passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.turns.data_passes import source_of_one
from torchlint.facts.turns.registries import is_dispatched
from torchlint.facts.turns.serving import decorated_by, rows_of_method
from torchlint.facts.turns.steps import applies_tables
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.turns.turns_of_loops import Turns
from torchlint.facts.turns.wrapping import Wrapping
from torchlint.facts.values.domain import Atom
from torchlint.facts.values.frameworks import (
    is_called_each_epoch,
    is_called_each_step,
    is_module_class,
    runs_without_gradients,
    trains_on_result,
)
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.handing_on import handlers_of, is_of_one_event
from torchlint.facts.values.making import is_remembered
from torchlint.frameworks import Holds

if TYPE_CHECKING:
    from torchlint.facts import Facts

HOPS = 4
"""How many callers up a repetition is looked for."""


@dataclass(frozen=True)
class _Asked:
    """How it is asked for a repetition.

    Where callers end, whether each turn counts, beyond which loop, whether all items do, what is handed there.
    """

    ends: Callable[[Value], bool]
    each: bool
    beyond: Loop | None
    all_items: bool
    handed: Atom | None


class Repetitions(Turns):
    """Says of the calls of one file how often they run; the tables are filled as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        super().__init__(facts)
        self.wrapping = Wrapping(facts.solution)

    # -- how often it is built ------------------------------------------------------------------------------------

    def of(
        self,
        call: Value,
        ends: Callable[[Value], bool] = lambda _: False,
        *,
        now_and_then: bool = False,
        beyond: Loop | None = None,
        for_some: bool = False,
        handed: Atom | None = None,
    ) -> Repetition | None:
        """By what ``call`` is repeated, or None when it runs once, now and then, or nobody knows how often.

        Args:
            call: a CALL.
            ends: says of a call that what happens there is not followed to the callers of its function.
            now_and_then: whether it is enough that it runs in every n-th turn.
            beyond: a loop around the call; only what repeats all of that is asked for.
            for_some: whether it is enough that it runs for some of the items of a loop.
            handed: what it calls, where that is no function of the file and was handed there.
        """
        asked = _Asked(ends, not now_and_then, beyond, not for_some, handed)
        return self._of(asked, call, (call,)) if self.events.may_run((call,), handed) else None

    def _of(self, asked: _Asked, at: Value, chain: tuple[Value, ...]) -> Repetition | None:
        function = at.function
        if self.stands_for_a_turn(function):
            repeats = not self.skipping.is_skipped(at, function, by_number=asked.each)
            return Repetition(function, Turn.INFERS, chain) if repeats else None
        around = at.loop.around() if at.loop is not None else []
        for loop in around[around.index(asked.beyond) + 1 :] if asked.beyond in around else around:
            if _goes_over_what_runs(loop, at):
                continue
            turn = self.turn(loop)
            if turn is Turn.INFERS and (function.name == "__init__" or asked.ends(at)):
                return None  # layers that are made one by one and tried out
            if turn is not Turn.OTHER:
                repeats = not self.skipping.is_skipped(at, loop, by_number=asked.each, by_item=asked.all_items)
                return Repetition(loop, turn, chain) if repeats else None
        if function.parent is None or function.name == "__init__" or is_remembered(function):
            return None
        if len(chain) > HOPS or asked.ends(at):
            return None
        callers = self.wrapping.callers(function)
        is_named = bool(callers) and not is_dispatched(self.facts, function)
        answers = not is_named and self.is_asked_by_others(function)
        if not callers and not answers and not self._is_lone_step(function):
            return None
        if self.skipping.is_skipped(at, function, by_number=asked.each):
            return None
        if self.holds(function) and not self._is_all_of_step(asked.beyond, function):
            return self._by_request(asked, function, chain)
        if not callers or answers:
            return Repetition(function, Turn.INFERS if answers else Turn.TRAINS, chain)
        for caller in callers:
            if caller not in chain and self.events.may_run((*chain, caller), asked.handed):
                found = self._of(asked, caller, (*chain, caller))
                if found is not None and found.turn is Turn.HOLDS and self._makes_one_step(function):
                    found = replace(found, turn=Turn.TRAINS)  # whatever else each turn holds: a loop of rollouts
                if found is not None and found.turn is not Turn.HOLDS:
                    return found
        return None

    def _is_all_of_step(self, loop: Loop | None, function: Function) -> bool:
        """Whether a function makes no steps but the turns of ``loop``: it goes over the terms of a loss."""
        if loop is None or loop.function is not function or not self.turn(loop).is_step:
            return False
        others = (one for one in self._loops[function] if loop not in one.around())
        callees = (callee for call in self.steps.calls_in(function) for callee in self.solution.functions_of(call))
        return all(self.turn(one) is Turn.OTHER for one in others) and not any(map(self.holds, callees))

    def _by_request(self, asked: _Asked, function: Function, chain: tuple[Value, ...]) -> Repetition | None:
        """The handler of requests that runs a function with a whole loop in it: a sampling, a simulation."""
        for caller in self.wrapping.callers(function) if len(chain) <= HOPS else ():
            if caller in chain or asked.ends(caller):
                continue
            handler = caller.function
            if self.skipping.is_skipped(caller, handler, by_number=asked.each):
                continue
            if handler in self.request_handlers:
                return Repetition(handler, Turn.INFERS, (*chain, caller))
            if caller.loop is None and not self.steps.trains(handler):
                found = self._by_request(asked, handler, (*chain, caller))
                if found is not None:
                    return found
        return None

    def trial_of(self, call: Value, *, among_new: bool = True) -> Loop | None:
        """The loop in each turn of which ``call`` runs once, for a whole training: over epochs, folds, trials.

        ``among_new``: or in each of those turns whose item, or what they draw, has no result yet.
        """
        pending, seen = [call], {call}
        while pending:
            at = pending.pop(0)
            for loop in at.loop.around() if at.loop is not None else ():
                if self.turn(loop) is Turn.HOLDS:
                    return None if self.skipping.is_skipped(at, loop, by_absence=not among_new) else loop
            callers = sorted(self.solution.callers.get(at.function, ()), key=lambda value: value.index)
            further = [] if self.skipping.is_skipped(at, at.function) else [c for c in callers if c not in seen]
            pending += further
            seen.update(further)
        return None

    def comes_each_epoch(self, function: Function) -> bool:
        """Whether a framework calls ``function`` once for each epoch: a method, or a handler of the event."""
        return is_called_each_epoch(function) or function in self._handlers_of_epochs

    @cached_property
    def _handlers_of_epochs(self) -> frozenset[Function]:
        calls = (call for call in self.solution.graph.of(Op.CALL) if not is_of_one_event(call))
        return frozenset(given for call in calls for given in handlers_of(self.solution, call, Holds.EACH_EPOCH))

    def stands_for_a_turn(self, function: Function) -> bool:
        """Whether a module, a framework or a server calls ``function`` once for each step or request."""
        owner = function.owner
        if owner is not None:
            if function.name == "forward" and is_module_class(owner):
                return True
            if trains_on_result(function):
                return True
            if runs_without_gradients(function) and (function.name.endswith("_step") or "batch" in function.name):
                return True
        if is_called_each_step(function):
            return True
        return function in self.request_handlers or function in self.steps.handed_over_for_each_step

    @cached_property
    def request_handlers(self) -> frozenset[Function]:
        """Functions that an object of a web framework decorates or is given."""
        routes = (call for call in self.facts.calls() if rows_of_method(self.facts, call.callee, Holds.ROUTES))
        return self.steps.request_handlers.union(decorated_by(self.facts, routes))

    def _is_lone_step(self, function: Function) -> bool:
        """Whether a function without callers in this file makes one step: others make it again and again.

        It steps an optimizer that it did not build itself; or another file calls it in a loop, whoever builds that.
        """
        stepping = [c for c in self.steps.calls_in(function) if c.loop is None and self.steps_optimizer(c)]
        if any(call.callee.inputs[0].op in (Op.PARAMETER, Op.READ, Op.ATTRIBUTE) for call in stepping):
            return True
        return bool(stepping) and self._makes_one_step(function) and self.facts.repeats(function.asked_as)

    def is_asked_by_others(self, function: Function) -> bool:
        """Whether a function runs a network, draws a batch or makes a transform for what it is given, and only other
        files, or a table, call it in a loop.
        """
        is_taken = is_dispatched(self.facts, function)
        if self.solution.callers.get(function) and not is_taken:
            return False
        calls = self.steps.calls_in(function)
        runs = any(call.loop is None and self._works_on_batch(call) for call in calls)
        is_asked = runs and not self.steps.trains(function)
        return is_asked and (is_taken or self.facts.repeats(function.asked_as))

    def _works_on_batch(self, call: Value) -> bool:
        return self.steps.runs_module(call) or applies_tables(call) or self._draws_one(call)

    def _draws_one(self, call: Value) -> bool:
        """``next(iter(DataLoader(rows, 16)))``: whether a CALL draws a batch of a loader that its function makes."""
        loader = source_of_one(call)
        if loader is None or loader.op is not Op.CALL or loader.function is not call.function:
            return False
        return self.steps.is_loader(loader)


def _goes_over_what_runs(loop: Loop, call: Value) -> bool:
    """``for measure in (sharpness, accuracy): measure(net)``: a CALL runs each function that is written out once."""
    callee = call.callee if call.op is Op.CALL else call
    is_written = loop.iterable is not None and loop.iterable.op is Op.CONTAINER
    return is_written and callee.op is Op.ELEMENT and callee.inputs[0] is loop.iterable
