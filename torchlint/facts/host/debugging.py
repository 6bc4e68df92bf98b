"""Debugging modes of torch that are on for a whole run: anomaly detection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.guards import ENTERING
from torchlint.facts.host.kept_managers import KeptManager, kept_managers
from torchlint.facts.host.process import is_optional, prepares_process
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.loop_lengths import is_entered_by_stack
from torchlint.facts.turns.managed_blocks import entered_at, entered_by_hand, is_lent, lent_blocks
from torchlint.facts.values.frameworks import detects_anomalies, is_module_class, is_start
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

SETTERS = frozenset(["torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"])
BLOCKS = frozenset(["torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"])


@dataclass(frozen=True)
class Debugging:
    """Anomaly detection is on for a whole run, whoever starts it.

    Attributes:
        call: what switches it on.
        covered: what runs under it: a loop of steps, a call that trains, a function that a framework calls.
        by: what the call does by a function of another file; None where it switches it on itself.
        kept: what the call calls, where that is a variable; None elsewhere.
    """

    call: Value
    covered: cst.CSTNode
    by: Effect | None = None
    kept: KeptManager | None = None


def debuggings(facts: Facts) -> list[Debugging]:
    """Every place that switches anomaly detection on for a whole run without a condition."""
    found = [found for call in facts.calls() if (found := _of(facts, call)) is not None]
    found += [one for call in facts.calls() if (one := _by_kept(facts, call)) is not None]
    by_others = [_by_other(facts, effect) for effect in facts.effects.of(EffectKind.DETECTS)]
    by_others += [_in_block_by_other(facts, effect) for effect in facts.effects.of(EffectKind.DETECTS_WITHIN)]
    return found + [one for one in by_others if one is not None]


def lends(facts: Facts, call: Value) -> bool:
    """Whether a CALL switches anomaly detection on for the blocks of whoever enters its function as a manager."""
    return call.callee.name in (SETTERS | BLOCKS) and is_lent(facts, call) and _switches(facts, call, on=True)


def leaves_on(facts: Facts, call: Value) -> bool:
    """Whether a CALL switches anomaly detection on for whoever runs its function, and not for what its file shows."""
    if call.callee.name not in SETTERS or not _switches(facts, call, on=True):
        return False
    is_told = any(debugging.call is call for debugging in facts.debuggings)
    return not is_told and not any(switches_off(facts, other) for other in facts.calls())


def switches_off(facts: Facts, call: Value) -> bool:
    """Whether a CALL switches anomaly detection off for certain."""
    return call.callee.name in SETTERS and _switches(facts, call, on=False)


def _by_other(facts: Facts, effect: Effect) -> Debugging | None:
    """A training behind a call that switches anomaly detection on by a function of another file."""
    call = effect.call
    if facts.unit_tests.may_have(call.function) or _is_switched_off(facts):
        return None
    covered = facts.loop_lengths.training_after(call)
    return None if covered is None or is_optional(facts, call, covered) else Debugging(call, covered, effect)


def _in_block_by_other(facts: Facts, effect: Effect) -> Debugging | None:
    """A training in the block that a manager of another file is entered for, which switches anomaly detection on."""
    call, block = effect.call, entered_at(facts, effect.call) if effect.done.is_returned else None
    if block is None or facts.unit_tests.may_have(call.function):
        return None
    covered = _covered_by_block(facts, call, block)
    if covered is None or is_optional(facts, call, covered):
        return None
    return Debugging(call, covered, effect)


def _of(facts: Facts, call: Value) -> Debugging | None:
    lent = _covered_by_callers(facts, call)
    if lent is not None:
        return Debugging(call, lent)
    if not _switches(facts, call, on=True) or facts.unit_tests.may_have(call.function):
        return None
    block = entered_at(facts, call)
    if block is not None:
        covered = _covered_by_block(facts, call, block)
    elif _is_switched_off(facts):
        return None
    else:
        covered = _covered_by_statement(facts, call)
    if covered is None or is_optional(facts, call, None if _is_of_process(facts, call, covered) else covered):
        return None
    return Debugging(call, covered)


def _by_kept(facts: Facts, call: Value) -> Debugging | None:
    """A training in the block that is entered by what a variable makes: ``stack.enter_context(make())``."""
    block = entered_at(facts, call)
    if block is None or facts.unit_tests.may_have(call.function):
        return None
    for one in kept_managers(facts, call, "mode"):
        if one.name in BLOCKS or (one.name in SETTERS and literal(facts.solution, one.mode) is True):
            covered = _covered_by_block(facts, call, block)
            if covered is not None and not is_optional(facts, call, covered):
                return Debugging(call, covered, kept=one)
    return None


def _covered_by_callers(facts: Facts, call: Value) -> cst.CSTNode | None:
    """What runs in the blocks of callers for whom a manager of the file switches it on."""
    by_hand = entered_by_hand(facts, call) if call.callee.name in BLOCKS else None
    opening = call if by_hand is None else by_hand
    if not _switches(facts, call, on=True) and by_hand is None:
        return None
    if any(is_optional(facts, one, None, hops=0) for one in (call, opening)):
        return None
    for block in lent_blocks(facts, opening):
        entering = block.entering
        covered = _covered_by_block(facts, entering, block.syntax)
        if covered is not None and not is_optional(facts, entering, covered):
            if not facts.unit_tests.may_have(entering.function):
                return covered
    return None


def _is_switched_off(facts: Facts) -> bool:
    """Whether the file switches anomaly detection off anywhere, by a function of another file as well."""
    if any(_switches(facts, call, on=False) for call in facts.calls()):
        return True
    return any(effect.done.name in SETTERS for effect in facts.effects.of(EffectKind.SWITCHES_OFF))


def _is_of_process(facts: Facts, call: Value, covered: cst.CSTNode) -> bool:
    """Whether a call switches the mode on for all that follows, of which nothing is seen."""
    return call.callee.name in SETTERS and covered is facts.statement_of(call)


def _switches(facts: Facts, call: Value, *, on: bool) -> bool:
    """Whether a CALL switches anomaly detection on (or off) for certain."""
    if call.callee.op is not Op.EXTERNAL:
        return False
    name = call.callee.name
    if name in SETTERS:
        return literal(facts.solution, call.argument(0, "mode")) is on
    if name in BLOCKS:
        return on and (entered_at(facts, call) is not None or is_entered_by_stack(facts, call))
    return literal(facts.solution, detects_anomalies(call)) is on


def _covered_by_block(facts: Facts, call: Value, block: cst.With) -> cst.CSTNode | None:
    """A long training in the block, or the loop of steps around a block with a backward in it.

    Or the property of a module: it runs with each forward that reads it, and nobody asks for it by a call.
    """
    training = facts.loop_lengths.training_within(block.body, call.function)
    if training is not None:
        return training
    owner = call.function.owner
    if owner is not None and call.function.is_property and is_module_class(owner):
        return call.function.syntax
    step = _step_around(facts, call)
    by_framework = isinstance(step, cst.FunctionDef) and facts.solution.callers.get(call.function) is None
    return step if by_framework or _trains_in(facts, block, call.function) else None


def _trains_in(facts: Facts, block: cst.With, function: Function) -> bool:
    inside = set(walk(block.body))
    if any(backward.statement in inside for backward in facts.graph.backwards if backward.function is function):
        return True
    return any(
        call.syntax in inside and any(map(facts.steps.trains, facts.solution.functions_of(call)))
        for call in facts.steps.calls_in(function)
    )


def _step_around(facts: Facts, call: Value) -> cst.CSTNode | None:
    """What repeats a call in every step: a long loop, or the function that stands for a turn of one."""
    repetition = facts.repetitions.of(call)
    if repetition is not None:
        by = repetition.by
        is_step = repetition.turn.is_step and not (isinstance(by, Loop) and facts.loop_lengths.is_short(by))
        return by.syntax if is_step else None
    function = call.function
    if function.parent is not None and not facts.solution.callers.get(function) and call.loop is None:
        if function.owner is not None and facts.steps.trains(function) and not facts.repetitions.holds(function):
            return function.syntax
    return None


def _covered_by_statement(facts: Facts, call: Value) -> cst.CSTNode | None:
    """What runs after a switch that stays on: a training, a step, a framework; for a module all that imports it."""
    function = call.function
    if call.callee.name in BLOCKS and function.name == ENTERING:
        return None  # the blocks of who enters the object are seen
    training = facts.loop_lengths.training_after(call) or _step_around(facts, call)
    if training is not None:
        return training
    if call.callee.name in BLOCKS:
        return None
    if call.callee.name not in SETTERS:
        return facts.statement_of(call)
    if function.parent is None:
        has_short = any(loop.function is function and facts.loop_lengths.is_short(loop) for loop in facts.graph.loops)
        is_library = bool(facts.graph.classes) or len(facts.graph.functions) > 1
        return facts.statement_of(call) if is_library and not has_short else None
    owner = function.owner
    if owner is not None and is_start(function):
        return owner.syntax  # a training follows, by contract
    if owner is not None and function.name == "__init__":
        if is_module_class(owner) or any(map(facts.steps.trains, owner.methods.values())):
            return owner.syntax
    if prepares_process(facts, function) and not facts.loop_lengths.has_few_steps:
        return facts.statement_of(call)
    return None
