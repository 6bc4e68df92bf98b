"""Profilers that record a whole run: without a schedule every event is kept until the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.loop_lengths import is_entered_by_stack
from torchlint.facts.turns.managed_blocks import blocks_for, is_generated
from torchlint.facts.values.frameworks import is_start
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.handing_on import handlers_of
from torchlint.facts.values.literals import literal
from torchlint.frameworks import Holds
from torchlint.syntax.tree import dotted, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

PROFILERS = frozenset(["torch.profiler.profile", "torch.profiler.profiler.profile"])
OLDER = frozenset(["torch.autograd.profiler.profile", "torch.autograd.profiler_legacy.profile"])
"""Those that know no schedule, and have a switch as their first argument."""


@dataclass(frozen=True)
class Profiling:
    """A profiler records a long training from beginning to end.

    Attributes:
        call: what makes it.
        training: the loop whose steps it records, or the call that runs one.
        has_schedule: whether this kind of profiler takes a schedule.
        is_asked_for: whether an option of the program switches it on, for who wants to see all of it.
    """

    call: Value
    training: cst.CSTNode
    has_schedule: bool
    is_asked_for: bool = False


def profilings(facts: Facts) -> list[Profiling]:
    """Every profiler without a schedule around a long training, each once."""
    found = []
    made = [(call, call.callee.name) for call in facts.calls() if records_all(facts, call)]
    made += [(e.call, e.done.name) for e in facts.effects.of(EffectKind.PROFILES) if e.done.is_returned]
    for call, name in made:
        if facts.unit_tests.has(call.function):
            continue  # it looks at a handful of items
        training = next(filter(None, _trainings(facts, call)), None)
        if training is not None:
            found.append(Profiling(call, training, name in PROFILERS, _is_asked_for(facts, call)))
    return found


def records_all(facts: Facts, call: Value) -> bool:
    """Whether a CALL makes a profiler that records from its start to its end."""
    if call.callee.op is not Op.EXTERNAL or None in call.keys[1:]:
        return False
    if call.callee.name in OLDER:
        return literal(facts.solution, call.argument(0, "enabled")) is not False
    if call.callee.name not in PROFILERS:
        return False
    schedule = call.argument(1, "schedule")
    return schedule is None or literal(facts.solution, schedule) is None


def _is_asked_for(facts: Facts, call: Value) -> bool:
    """``profile(enabled=args.profile)``, ``profile() if args.profile else nullcontext()``."""
    switch = call.argument(0, "enabled") if call.callee.name in OLDER else None
    chosen = call.syntax is not None and isinstance(facts.parents.get(call.syntax), cst.IfExp)
    return chosen or (switch is not None and literal(facts.solution, switch) is not True)


def _trainings(facts: Facts, call: Value) -> Iterator[cst.CSTNode | None]:
    """What runs while a profiler records, where it is entered, and where it is started."""
    ways = list(_ways(facts, call))
    for one in ways:
        for function, block in _blocks(facts, one):
            yield facts.loop_lengths.training_within(block.body, function)
            yield _wrapped_training(facts, block, function)
            yield from _managed_trainings(facts, block, function)
        if is_entered_by_stack(facts, one):
            yield facts.loop_lengths.training_after(one)
    starts = [other for other in facts.calls() if _is_method(facts, other, ways, ("start", "__enter__"))]
    stops = [other for other in facts.calls() if _is_method(facts, other, ways, ("stop", "__exit__"))]
    if any(stop.loop is not None for stop in stops):
        return
    for start in starts:
        if _begins_run(facts, start.function):
            yield facts.statement_of(start)
        yield facts.loop_lengths.training_after(start, [stop for stop in stops if stop.function is start.function])


def _wrapped_training(facts: Facts, block: cst.With, function: Function) -> cst.CSTNode | None:
    """The training of a function that a block runs as its decorator: ``@profiled`` above ``def train(...)``."""
    inside = set(walk_scope(block.body))
    calls = (call for call in facts.steps.calls_in(function) if call.syntax in inside)
    run = (decorated for call in calls for decorated in facts.repetitions.wrapping.wrapped(call))
    return next((one.syntax for one in run if facts.loop_lengths.trains_long(one)), None)


def _managed_trainings(facts: Facts, block: cst.With, function: Function) -> Iterator[cst.CSTNode | None]:
    """The trainings under ``with timed():``, where a context manager of the file yields in a block."""
    for lent in blocks_for(facts, function, block) if is_generated(function) else ():
        yield facts.loop_lengths.training_within(lent.syntax.body, lent.entering.function)


def _begins_run(facts: Facts, function: Function) -> bool:
    """Whether a framework calls a function once before a training: ``on_train_start``, a handler of ``STARTED``."""
    if is_start(function):
        return "init" not in function.name
    return any(function in handlers_of(facts.solution, call, Holds.BEGINS) for call in facts.calls())


def _ways(facts: Facts, made: Value) -> Iterator[Value]:
    """A profiler as the functions have it to which it goes: the calls that return it, the parameters that are given it.

    What chooses between it and another one is followed as well.
    """
    pending, seen = [made], {made}
    while pending:
        value = pending.pop(0)
        yield value
        further = [user for user in value.users if user.op is Op.PHI and user is not value.function.result]
        if value.function.result is not None and value in value.function.result.inputs:
            further += facts.solution.callers.get(value.function, ())
        for call in (user for user in value.users if user.op is Op.CALL):
            bindings = (facts.solution.callers[f].get(call, {}) for f in facts.solution.functions_of(call))
            further += (parameter for binding in bindings for parameter, given in binding.items() if given is value)
        further = sorted(set(further) - seen, key=lambda one: one.index)
        seen.update(further)
        pending += further


def _blocks(facts: Facts, call: Value) -> Iterator[tuple[Function, cst.With]]:
    """The ``with`` blocks that a profiler is entered by, directly or by the name it is bound to."""
    if call.op is Op.PARAMETER:
        yield from _entered_by(call.function, call.name)
        return
    node = call.syntax
    parent = facts.parents.get(node) if node is not None else None
    if isinstance(parent, cst.IfExp):
        node, parent = parent, facts.parents.get(parent)
    if isinstance(parent, cst.WithItem):
        block = facts.parents.get(parent)
        if isinstance(block, cst.With):
            yield call.function, block
        return
    if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
        return
    name = dotted(parent.targets[0].target)
    scopes = [call.function]
    if name is not None and "." in name and call.function.owner is not None:
        scopes = list(call.function.owner.methods.values())
    for function in scopes if name else ():
        yield from _entered_by(function, name)


def _entered_by(function: Function, name: str | None) -> Iterator[tuple[Function, cst.With]]:
    """The ``with`` blocks of a function that enter what has a name there."""
    for inner in walk_scope(function.syntax):
        if isinstance(inner, cst.With) and any(dotted(item.item) == name for item in inner.items):
            yield function, inner


def _is_method(facts: Facts, call: Value, ways: list[Value], names: tuple[str, ...]) -> bool:
    """Whether ``call`` calls a method of these names of a profiler, as one of its ways has it."""
    if call.callee.op is not Op.ATTRIBUTE or call.callee.name not in names:
        return False
    receiver = call.callee.inputs[0]
    if receiver in ways:
        return True
    if receiver.op is Op.ATTRIBUTE:
        places = facts.solution.places(receiver.inputs[0], receiver.name)
    else:
        places = [receiver.place] if receiver.place is not None else []
    return any(one in facts.solution.stored.get(place, ()) for place in places for one in ways)
