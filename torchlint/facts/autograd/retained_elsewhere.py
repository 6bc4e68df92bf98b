"""Helpers that run a backward and keep its graph, ``update(loss)``: whether that is in vain, their callers see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.autograd.reach import Reach, may_be_recorded, reaches_of
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.values.graph import Backward, Function, Op, Value
from torchlint.facts.values.literals import is_set, is_true
from torchlint.facts.values.reaching import ends

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

POSITION = 1
"""Where the method of a tensor takes ``retain_graph``, after the gradient."""


SCALING = "scale"
"""The method by which a ``GradScaler`` multiplies a loss."""


def retained_in(facts: Facts, function: Function) -> Iterator[EffectSummary]:
    """That a function runs its only backward over a parameter and keeps the graph, always or where it is told to."""
    backwards = [backward for backward in facts.graph.backwards if backward.function is function]
    call = backwards[0].call if len(backwards) == 1 else None
    loss = _unscaled(backwards[0].root) if call is not None else None
    if call is None or loss not in function.parameters or facts.skipping.is_skipped(call, function):
        return
    flag, root = call.argument(POSITION, "retain_graph"), function.parameters.index(loss)
    if flag is None or call.argument(-1, "create_graph") is not None:
        return
    if is_true(flag):
        yield EffectSummary(EffectKind.RETAINS, "backward", (root,))
    elif flag.op is Op.PARAMETER and flag in function.parameters:
        yield EffectSummary(EffectKind.RETAINS, "backward", (root, function.parameters.index(flag)))


def _unscaled(loss: Value) -> Value:
    """``loss`` of ``scaler.scale(loss / 4)``, over which the backward runs as well, be it where there is a scaler."""
    found = set(ends([loss], _before_scaling))
    return found.pop() if len(found) == 1 else loss


def _before_scaling(loss: Value) -> Sequence[Value]:
    if loss.op is Op.OPERATION and loss.name.removesuffix("Assign") in ("Divide", "Multiply"):
        return loss.inputs[:1]
    if loss.op is Op.CALL and loss.callee.op is Op.ATTRIBUTE and loss.callee.name == SCALING:
        return loss.arguments[:1]
    return loss.inputs if loss.op is Op.PHI else ()


def backwards_elsewhere(facts: Facts) -> list[tuple[Effect, Backward]]:
    """The calls by which functions of other files run such a backward, each with that as one of this file."""
    found = []
    for effect in facts.effects.of(EffectKind.RETAINS):
        call, (root, *flags) = effect.call, effect.done.of
        given = facts.solution.passed(call, effect.function, root)
        told = (facts.solution.passed(call, effect.function, flag) for flag in flags)
        if given is None or call.statement is None or not all(is_set(facts.solution, one) for one in told):
            continue
        found.append((effect, Backward(given, True, call.function, call.loop, call.statement, call=call)))
    return found


def is_handed_on(facts: Facts, call: Value, reach: Reach, others: list[Backward]) -> bool:
    """Whether another backward, or a later function of another file, gets a part of the graph of such a call."""
    if any(reach.values & further.values for other in others for further in reaches_of(facts, other)):
        return True
    later = [one for one in facts.steps.calls_in(call.function) if one.index > call.index]
    if any(_trains_on_its_own(facts, one) for one in later):
        return True
    return any(
        argument in reach.values or not reach.values.isdisjoint(behind(facts, argument, call))
        for one in later
        if any(function.is_foreign for function in facts.solution.functions_of(one))
        for argument in one.arguments
    )


def behind(facts: Facts, value: Value, call: Value) -> frozenset[Value]:
    """What flows into a value, not by what a CALL that runs a backward gives back where that is known to be a number.

    Who else may be called there, for a parameter that other files pass, runs no backward and is not judged.
    """
    functions = facts.solution.functions_of(call)
    gives_numbers = bool(functions) and not any(_may_give_graph(facts, function) for function in functions)
    return facts.flows.ancestry.of_all([value], unread=frozenset([call] if gives_numbers else []))


def _may_give_graph(facts: Facts, function: Function) -> bool:
    return function.result is not None and may_be_recorded(facts.solution, function.result)


def _trains_on_its_own(facts: Facts, call: Value) -> bool:
    """Whether a CALL is of a method of the same object, in another file, with a backward: over what it left on that."""
    is_own = call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] in call.function.parameters[:1]
    training = (backward.function for backward in facts.graph.foreign.backwards) if is_own else ()
    return not set(facts.solution.functions_of(call)).isdisjoint(training)
