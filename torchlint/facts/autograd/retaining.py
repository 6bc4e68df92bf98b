"""Backwards that keep their graph for another one which never comes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.reach import Reach, reaches_of
from torchlint.facts.autograd.retained_elsewhere import backwards_elsewhere, behind, is_handed_on
from torchlint.facts.autograd.retained_states import comes_beside
from torchlint.facts.autograd.spread_flags import may_spread, spread_flag
from torchlint.facts.building.names import target_names
from torchlint.facts.values.domain import Container, FunctionReference, Partial
from torchlint.facts.values.graph import Backward, Function, Op, Value
from torchlint.facts.values.literals import is_on, is_true
from torchlint.facts.values.parameter_lists import PARAMETERS
from torchlint.facts.values.partials import tasks
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.running import run_by
from torchlint.syntax.tree import dotted, walk_statements

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

POSITIONS = {"torch.autograd.backward": 2, "torch.autograd.grad": 3}
"""Where the functions of torch take ``retain_graph`` by position; the method of a tensor takes it second."""


@dataclass(frozen=True)
class Retaining:
    """A backward with ``retain_graph=True`` after which no backward runs over the same graph.

    Attributes:
        backward: it.
        call: the call that runs it.
        by_keyword: True when ``retain_graph=True`` is written there.
        stored: the name of what keeps the loss, and with it the graph, from step to step; "" where nothing does.
        by: what runs it, where that stands in another file.
    """

    backward: Backward
    call: Value
    by_keyword: bool
    stored: str
    by: Effect | None = None


def retained_in_vain(facts: Facts) -> list[Retaining]:
    """Every backward of a file that keeps its graph for nothing."""
    found = []
    for backward in facts.graph.backwards:
        call = backward.call
        if call is None or not _is_told_to_keep(facts, call) or call.argument(-1, "create_graph") is not None:
            continue
        if facts.unit_tests.is_brief(call) or _holds_no_graph(facts, backward.root):
            continue
        reaches = reaches_of(facts, backward)
        if not _overlap(backward, reaches) and all(_is_in_vain(facts, backward, call, reach) for reach in reaches):
            by_keyword = is_true(_flag(call)) and _is_written(call)
            stored = next(filter(None, (_stored(facts, reach) for reach in reaches)), "")
            if not stored and _is_deleted(call):
                continue
            found.append(Retaining(backward, call, by_keyword, stored))
    return [*found, *_retained_elsewhere(facts)]


def _holds_no_graph(facts: Facts, root: Value) -> bool:
    """Whether a list of losses is all that is differentiated, and nothing that is put into it is seen to have a graph.

    Actions that are drawn, or chosen by their scores, are whole numbers.
    """
    made = (atom.allocation for atom in facts.solution.final(root) if isinstance(atom, Container))
    items = [held for one in made for _, held in facts.solution.held.get(one, ())]
    return bool(items) and all(facts.flows.live(item) is None for item in items)


def _retained_elsewhere(facts: Facts) -> Iterator[Retaining]:
    """The calls of helpers of other files that do so."""
    runs = backwards_elsewhere(facts)
    for effect, backward in runs:
        call, others = effect.call, [one for _, one in runs if one is not backward]
        for reach in reaches_of(facts, backward)[:1]:
            if _is_in_vain(facts, backward, call, reach) and not is_handed_on(facts, call, reach, others):
                yield Retaining(backward, call, False, _stored(facts, reach), effect)


def _is_in_vain(facts: Facts, backward: Backward, call: Value, reach: Reach) -> bool:
    if reach.is_open or reach.is_met_again() or _is_carried(facts, reach) or _goes_on(facts, backward):
        return False
    reach = replace(reach, values=reach.values | {backward.root})  # which has a graph, whatever is known of it
    return not _is_needed(facts, backward, call, reach) and not _leaves(facts, call, reach)


def _is_deleted(call: Value) -> bool:
    """``loss.backward(retain_graph=True)``, and later ``del loss``: the graph goes with the name."""
    method = call.syntax.func if isinstance(call.syntax, cst.Call) else None
    name = dotted(method.value) if isinstance(method, cst.Attribute) else None
    if name is None:
        return False
    statements = list(walk_statements(call.function.syntax))
    later = statements[statements.index(call.statement) + 1 :] if call.statement in statements else []
    return any(isinstance(node, cst.Del) and name in target_names(node.target) for node in later)


def _overlap(backward: Backward, reaches: list[Reach]) -> bool:
    """Whether the callers of a function have its backward run over the same graph one after the other."""
    given = [{value for value in reach.values if value.function is not backward.function} for reach in reaches]
    return any(one & other for index, one in enumerate(given) for other in given[:index])


def _is_written(call: Value) -> bool:
    """Whether the argument is written in the call with its name, and not spread into it."""
    written = call.syntax.args if isinstance(call.syntax, cst.Call) else ()
    return any(a.keyword is not None and a.keyword.value == "retain_graph" for a in written)


def _stored(facts: Facts, reach: Reach) -> str:
    """What keeps a part of the graph from step to step."""
    sums = ((found.name, found.added, found.held) for found in facts.accumulations)
    lists = ((found.name, found.parts, found.holder) for found in facts.insertions if not found.bounded)
    for name, uses, holder in (*sums, *lists):
        if not facts.flows.is_trained_on(holder) and any(use.value in reach.values for use in uses):
            return name
    return ""


def _flag(call: Value) -> Value | None:
    """The argument ``retain_graph``; None when it is not given."""
    return call.argument(POSITIONS.get(call.callee.name, 1), "retain_graph")


def _flag_before(facts: Facts, call: Value) -> Value | None:
    """The argument that what is called was given before: ``partial(torch.autograd.backward, retain_graph=True)``."""
    partials = (atom for atom in facts.solution.final(call.callee) if isinstance(atom, Partial))
    makers = (made for one in partials for bound in tasks(facts.solution, one) for made in bound.makers)
    return next((flag for made in makers if (flag := made.argument(-1, "retain_graph")) is not None), None)


def _is_told_to_keep(facts: Facts, call: Value) -> bool:
    """Whether a CALL that runs a backward is given a flag that is True, be it by a dictionary that it spreads."""
    flag = _flag(call) or _flag_before(facts, call)
    if flag is not None:
        return is_on(facts.solution, flag)
    spread = spread_flag(facts.solution, call, "retain_graph")
    if not spread or may_spread(facts.solution, call, "create_graph"):
        return False
    return all(is_on(facts.solution, one) for one in spread)


def _is_carried(facts: Facts, reach: Reach) -> bool:
    """Whether a part of the graph may be older than this step: a state that is computed from itself, a constant."""
    for place in reach.places:
        for stored in facts.solution.stored.get(place, ()):
            if facts.flows.live(stored) is None:
                continue
            if stored.function.name == "__init__" or stored.function.parent is None:
                return True
            behind = facts.flows.ancestry.of(stored)
            if any(place in facts.solution.read_from(value) for value in behind):
                return True
    return False


def _goes_on(facts: Facts, backward: Backward) -> bool:
    """``out, h = net(x, h)``: whether what comes beside a part of the graph goes into that of the next turn."""
    behind = facts.flows.ancestry.of(backward.root)
    phis = (phi for loop in (backward.loop.around() if backward.loop is not None else ()) for phi in loop.phis)
    return any(comes_beside(facts, back, backward) for phi in phis if phi in behind for back in phi.inputs[1:])


def _is_needed(facts: Facts, backward: Backward, call: Value, reach: Reach) -> bool:
    """Whether a later backward runs over a part of the same graph."""
    for other in facts.graph.backwards:
        if other is backward or other.function in facts.solution.functions_of(call):
            continue  # a wrapper of the file runs it
        if _is_run_by(facts, backward, call, other):
            continue
        if _runs_before(facts, other, call):
            continue
        if any(reach.values & further.values for further in reaches_of(facts, other)):
            return True
    return False


def _is_run_by(facts: Facts, backward: Backward, call: Value, other: Backward) -> bool:
    """Whether another backward is this one: a method that is called ``backward`` as well, and CALL runs in it."""
    if other.call is None or other.call is call:
        return other.call is call
    return backward.function in run_by(facts.steps, [other.call])


def _runs_before(facts: Facts, other: Backward, call: Value) -> bool:
    """Whether another backward runs before a CALL in each turn, be it in a function that is called before."""
    if other.call is None:
        return False
    runs = [other.call] if other.function is call.function else list(facts.solution.callers.get(other.function, ()))
    before = (run.function is call.function and run.index < call.index for run in runs)
    is_of_turn = other.function is call.function or all(run.loop is call.loop for run in runs)
    return bool(runs) and is_of_turn and all(before)


def _leaves(facts: Facts, call: Value, reach: Reach) -> bool:
    """Whether the graph goes to code that is not seen before the optimizer steps.

    After the step its weights have changed in place, so that no backward can run over it any more.
    """
    steps = [step.index for step in _optimizer_steps(facts, call) if step.index > call.index]
    exits = _exits_to_differentiation(facts, call, min(steps)) if steps else _exits(facts, call)
    return any(value in reach.values or _holds(facts, value, reach, call) for value in exits)


def _holds(facts: Facts, value: Value, reach: Reach, call: Value) -> bool:
    """Whether a value has a part of the graph that a CALL keeps, or was returned by one call beside such a part."""
    beside = {part.inputs[0] for part in reach.values if part.op in (Op.ELEMENT, Op.SUBSCRIPT)}
    made = {one for one in beside if one.op is Op.CALL}
    return not (reach.values | made).isdisjoint(behind(facts, value, call))


def _exits(facts: Facts, call: Value) -> Iterator[Value]:
    """What the function returns to callers that are not seen, and what it hands to unknown functions."""
    function = call.function
    if function.result is not None and not facts.solution.callers.get(function):
        if not _is_run_by_optimizer(facts, function):
            yield from function.result.inputs
    for other in facts.steps.calls_in(function):
        is_dropped = other.is_bare or not _is_used(other)  # it is called for what it does, such as a backward
        if other.index > call.index and is_dropped and facts.flows.is_unknown_call(other):
            yield from other.arguments
    yield from _exits_to_differentiation(facts, call)


def _is_run_by_optimizer(facts: Facts, function: Function) -> bool:
    """``optimizer.step(closure)``: whether an optimizer runs a function, and only reads the loss that it returns."""
    steps = (call for call in facts.calls() if call.callee.op is Op.ATTRIBUTE and call.callee.name == "step")
    atoms = (atom for step in steps for one in step.arguments[:1] for atom in facts.solution.final(one))
    return any(isinstance(atom, FunctionReference) and atom.function is function for atom in atoms)


def _is_used(call: Value) -> bool:
    """Whether anything but the next turn of a loop, which binds the name anew, takes what a CALL gives."""
    return any(user.op is not Op.PHI for value in reached([call], _further) for user in value.users)


def _further(value: Value) -> list[Value]:
    return [user for user in value.users if user.op is Op.PHI]


def _exits_to_differentiation(facts: Facts, call: Value, until: float = math.inf) -> Iterator[Value]:
    """What goes to code of others that runs a backward, or that gets the parameters of a network to differentiate by.

    ``product = hessian_vector_product(divergence, policy.parameters())``
    """
    training = {backward.function for backward in facts.graph.foreign.backwards}
    for other in facts.steps.calls_in(call.function):
        if not call.index < other.index < until:
            continue
        functions = facts.solution.functions_of(other)
        is_of_others = any(function.is_foreign for function in functions) or facts.flows.is_unknown_call(other)
        trains = not training.isdisjoint(functions)
        if is_of_others and (trains or any(map(_holds_parameters, other.arguments))):
            yield from other.arguments


def _holds_parameters(argument: Value) -> bool:
    return any(part.op is Op.CALL and part.callee.name in PARAMETERS for part in argument.computed_from())


def _optimizer_steps(facts: Facts, call: Value) -> Iterator[Value]:
    return filter(facts.repetitions.steps_optimizer, facts.steps.calls_in(call.function))
