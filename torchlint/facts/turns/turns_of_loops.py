"""What each turn of a loop is: a step that trains or infers, a whole loop of such steps, or nothing of that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.turns.data_passes import cutting
from torchlint.facts.turns.events import Events
from torchlint.facts.turns.forwards import is_within_forward
from torchlint.facts.turns.micro_steps import are_micro_steps, are_micro_steps_of
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.collecting import yields_what_is_written
from torchlint.facts.values.domain import FunctionReference
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_forward, may_be_module, may_be_optimizer
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.operations import may_derive_with_graph
from torchlint.facts.values.threads import run_in_thread

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 4
"""So many calls down it is looked for what runs a module."""


class Turns:
    """Says what the turns of the loops of one file are; the tables are filled as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows, self.steps, self.skipping = facts.solution, facts.flows, facts.steps, facts.skipping
        self.events = Events(facts.solution)
        self._turns: dict[Loop, Turn] = {}
        self._holds: dict[Function, bool] = {}

    @cached_property
    def _trainings(self) -> dict[Function, list[Loop | None]]:
        """For each function the innermost loops in which its optimizers step, else those of its backwards."""
        stepping, backwards = defaultdict(list), defaultdict(list)
        for call in self.facts.calls():
            if self.steps_optimizer(call):
                stepping[call.function].append(self._beyond_several(call))
        for backward in self.facts.graph.backwards:
            if not backward.by_contract and not may_derive_with_graph(backward.call):
                backwards[backward.function].append(backward.loop)
        return {**backwards, **stepping}

    def _beyond_several(self, stepping: Value) -> Loop | None:
        """The loop in which an optimizer steps; ``for optimizer in optimizers: optimizer.step()`` is part of a turn."""
        loop, subject = stepping.loop, stepping.callee.inputs[0]
        if loop is None or subject.op is not Op.ELEMENT or subject.loop is not loop:
            return loop
        runs_backward = (b.loop is not None and loop in b.loop.around() for b in self.facts.graph.backwards)
        return loop if any(runs_backward) else loop.parent

    def steps_optimizer(self, call: Value) -> bool:
        """``optimizer.step()``, ``scaler.step(optimizer)``."""
        if call.callee.op is not Op.ATTRIBUTE or call.callee.name != "step":
            return False
        subjects = [call.callee.inputs[0], *call.arguments[:1]]
        return any(may_be_optimizer(self.solution, subject) for subject in subjects)

    def is_step(self, loop: Loop) -> bool:
        """Whether each turn of ``loop`` is a step, also where a helper runs its forward, or holds such steps."""
        return self.steps.is_step(loop) or self.turn(loop) is not Turn.OTHER

    def turn(self, loop: Loop) -> Turn:
        """What each turn of ``loop`` is."""
        if loop not in self._turns:
            self._turns[loop] = Turn.OTHER
            self._turns[loop] = self._turn(loop)
        return self._turns[loop]

    def _turn(self, loop: Loop) -> Turn:
        calls = self.steps.calls_within(loop)
        if loop in self._trainings.get(loop.function, ()):
            return Turn.TRAINS
        if self._looks_up_now_and_then(loop, calls):
            return Turn.TRAINS
        callees = [function for call in calls for function in self._run_by(call)]
        inner = [self.turn(one) for one in self._loops[loop.function] if loop in one.around()[1:]]
        is_loader = loop.iterable is not None and self.steps.is_loader(loop.iterable)
        if Turn.HOLDS in inner or any(map(self.holds, callees)):
            return Turn.HOLDS
        if Turn.TRAINS in inner:
            return Turn.TRAINS if self._has_micro_steps(loop) else Turn.HOLDS
        if loop.iterable is not None and loop.iterable.op is Op.CONTAINER and cutting(loop.iterable) is None:
            return Turn.OTHER  # over what is written out: a few cases, no steps
        if loop.iterable is not None and yields_what_is_written(self.solution, loop.iterable):
            return Turn.OTHER
        if any(map(self.steps.trains, callees)):
            return Turn.TRAINS
        if is_loader:
            return Turn.INFERS
        if Turn.INFERS in inner:
            return Turn.HOLDS
        is_part = is_within_forward(self.solution, loop.function)
        if not is_part and not self.steps.walks_modules(loop) and self._runs_module(calls, callees):
            return Turn.INFERS
        return Turn.TRAINS if self.steps.is_step(loop) else Turn.OTHER

    def _looks_up_now_and_then(self, loop: Loop, calls: Sequence[Value]) -> bool:
        """Whether a call trains in each turn, and those that hold steps of their own, evaluations, run in some."""
        run = {call: self._run_by(call) for call in calls}
        holding = [call for call, functions in run.items() if any(map(self.holds, functions))]
        training = (call for call, functions in run.items() if any(map(self.steps.trains, functions)))
        if not holding or all(call in holding for call in training):
            return False
        return all(self.skipping.is_skipped(call, loop) for call in holding)

    def _run_by(self, call: Value) -> list[Function]:
        """What a CALL runs of the file, be it in another thread that it waits for: ``await to_thread(detect, x)``."""
        is_awaited = call.syntax is not None and isinstance(self.facts.parents.get(call.syntax), cst.Await)
        return [*self.events.run_by(call), *(run_in_thread(self.solution, call) if is_awaited else ())]

    def _has_micro_steps(self, loop: Loop) -> bool:
        """Whether the loops of training in ``loop`` go over the batch of its turn a few times."""
        inner = [one for one in self._loops[loop.function] if loop in one.around()[1:]]
        return all(are_micro_steps(self.facts, one, loop) for one in inner if self.turn(one) is Turn.TRAINS)

    def _runs_module(self, calls: list[Value], callees: list[Function]) -> bool:
        if any(map(self.steps.runs_module, calls)):
            return True
        inside = (call for function in callees for call in self.steps.calls_in(function))
        return any(map(self.steps.runs_module, inside)) or self._runs_module_deep(calls, callees)

    def _runs_module_deep(self, calls: list[Value], callees: list[Function]) -> bool:
        """Whether a module runs some calls further down, and none is built on the way: what builds one is a trial."""
        seen, frontier, all_calls = set(callees), list(callees), list(calls)
        for _ in range(DEPTH):
            inside = [call for function in frontier for call in self.steps.calls_in(function)]
            all_calls += inside
            further = dict.fromkeys(f for call in inside for f in self.solution.functions_of(call) if f not in seen)
            frontier = list(further)
            seen.update(further)
        if not any(map(self.steps.runs_module, all_calls)):
            return False
        return not any(map(self._builds_module, all_calls))

    def _builds_module(self, call: Value) -> bool:
        callee = call.callee
        if callee.op is Op.EXTERNAL and meaning_of(callee.name) is Meaning.FIRST:
            return False
        return callee.op in (Op.CLASS, Op.EXTERNAL) and may_be_module(self.solution, call)

    @cached_property
    def _loops(self) -> dict[Function, list[Loop]]:
        table: dict[Function, list[Loop]] = defaultdict(list)
        for loop in self.facts.graph.loops:
            table[loop.function].append(loop)
        return table

    def holds(self, function: Function) -> bool:
        """Whether a whole loop of steps runs in ``function`` or in what it calls; micro-batches of one step do not.

        Nor does a network that goes through a sequence, or what computes a loss: they belong to one step, whatever
        they repeat.
        """
        if function in self.solution.graph.foreign.holding:
            return True
        if function not in self._holds:
            self._holds[function] = False
            if is_forward(function) and not self.steps.trains(function):
                return False
            trainings = self._trainings.get(function, ())
            own = () if None in trainings else self._loops[function]
            loops = [self.turn(loop) for loop in own if not (self._is_of_one_batch(loop) or self._is_of_loss(loop))]
            self._holds[function] = any(turn is not Turn.OTHER for turn in loops) or any(
                self.holds(callee) for call in self.steps.calls_in(function) for callee in self.events.run_by(call)
            )
        return self._holds[function]

    def _is_of_one_batch(self, loop: Loop) -> bool:
        return loop in self._trainings.get(loop.function, ()) and are_micro_steps_of(self.facts, loop)

    def _is_of_loss(self, loop: Loop) -> bool:
        """Whether a function returns what networks give in a loop, for one backward: the views of a batch."""
        if loop.function.result not in self.flows.trained:
            return False
        calls = self.steps.calls_within(loop)
        forwards = [call for call in calls if self.steps.calls_module(call)]
        trained = [call for call in forwards if call in self.flows.trained and self.flows.modes.records(call)]
        return bool(forwards) and trained == forwards

    def makes_step(self, loop: Loop) -> bool:
        """Whether each turn calls a function that makes one step, whatever else it holds: a rollout before it."""
        calls = (c for c in self.steps.calls_in(loop.function) if c.loop is loop)
        return any(self._makes_one_step(function) for call in calls for function in self.solution.functions_of(call))

    def _makes_one_step(self, function: Function) -> bool:
        """Whether a function makes one step with each call; one of LBFGS, which is given a function, is many."""
        if None not in self._trainings.get(function, ()):
            return False
        steps = (call for call in self.steps.calls_in(function) if call.callee.name == "step")
        given = (argument for call in steps for argument in call.arguments)
        return not any(isinstance(atom, FunctionReference) for one in given for atom in self.solution.final(one))

    def trains(self, loop: Loop) -> bool:
        """Whether something is trained in each turn of ``loop``."""
        if any(at is not None and loop in at.around() for at in self._trainings.get(loop.function, ())):
            return True
        calls = self.steps.calls_within(loop)
        return any(self.steps.trains(function) for call in calls for function in self.facts.solution.functions_of(call))
