"""Gradients that have a graph: after ``backward(create_graph=True)`` a leaf and its ``.grad`` hold each other.

The gradient's graph ends in the leaf, and the leaf holds the gradient; both ends are C++ objects, so no garbage
collector sees the cycle. Only taking the gradient away breaks it: ``zero_grad()``, ``p.grad = None``, ``detach_()``.
``p.grad.zero_()`` does not, since it is recorded itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.repeated.products import Products
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.domain import ClassReference, History, Instance, Module, Tensor, is_optimizer
from torchlint.facts.values.graph import Backward, Function, Loop, Op, Value
from torchlint.facts.values.literals import is_on
from torchlint.facts.values.parameters import before_moves, given_back
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

BACKWARD = "torch.autograd.backward"

HOPS = 2
"""So many callers up a model is followed to where it is made."""


@dataclass(frozen=True)
class GradientCycle:
    """A backward whose gradients keep their own graph, in each step a new one.

    Attributes:
        backward: it.
        call: the call that runs it.
        leaf: a tensor made in the step whose gradient nothing takes away; None where those of the parameters stay.
        zeroed: where gradients are only set to zero, if the program does so.
        dropped: the model that the function of the backward makes and gives up, with its gradients; None where the
            model stays, and only the graphs are lost.
        is_supposed: nobody is seen to run this more than once.
        by: what runs it, where that stands in another file.
    """

    backward: Backward
    call: Value
    leaf: Value | None
    zeroed: Value | None
    dropped: Value | None = None
    is_supposed: bool = False
    by: Effect | None = None


def gradient_cycles(facts: Facts) -> list[GradientCycle]:
    """Every backward of the file that leaves a cycle in each step, or in each call beside the model that it made."""
    found = []
    for backward in facts.graph.backwards:
        call = backward.call
        if call is None or not _creates_graph(facts, call):
            continue
        dropped = _dropped_model(facts, backward)
        if dropped is not None:
            found.append(GradientCycle(backward, call, None, None, dropped))
        elif not _is_in_step(facts, backward.function, backward.loop):
            if _is_worked_out_here(facts, backward) and not _goes_elsewhere(facts, backward):
                found.append(GradientCycle(backward, call, None, None, is_supposed=True))
        elif _is_kept(facts, backward, gradients_freed(facts)) and not _goes_elsewhere(facts, backward):
            zeroed = next((c for c in facts.calls() if c.name == "zero_" and _is_gradient(c.callee.inputs[0])), None)
            found.append(GradientCycle(backward, call, None, zeroed))
        elif (leaf := _lost_leaf(facts, backward)) is not None:
            found.append(GradientCycle(backward, call, leaf, None))
    return [*found, *_left_elsewhere(facts)]


def doubled_in(facts: Facts, function: Function) -> Iterator[EffectSummary]:
    """That a function runs such a backward over a parameter, in a file that takes no gradients away."""
    own = [one for one in facts.graph.backwards if one.function is function and one.root in function.parameters]
    doubles = any(one.call is not None and _creates_graph(facts, one.call) for one in own)
    if doubles and next(gradients_freed(facts), None) is None:
        positions = tuple(function.parameters.index(one.root) for one in own)
        yield EffectSummary(EffectKind.DOUBLES, "backward", positions)


def _left_elsewhere(facts: Facts) -> Iterator[GradientCycle]:
    """Losses of models that are given up, handed to functions of other files that run such a backward."""
    for effect in facts.effects.of(EffectKind.DOUBLES):
        call = effect.call
        for root in effect.given[:1] if call.statement is not None else ():
            assert call.statement is not None
            backward = Backward(root, True, call.function, call.loop, call.statement, call=call)
            if (dropped := _dropped_model(facts, backward)) is not None:
                yield GradientCycle(backward, call, None, None, dropped, by=effect)


def _creates_graph(facts: Facts, call: Value) -> bool:
    if call.callee.op is Op.EXTERNAL and call.callee.name != BACKWARD:
        return False  # `autograd.grad` puts nothing into `.grad`
    flag = call.argument(3 if call.callee.op is Op.EXTERNAL else 2, "create_graph")
    return is_on(facts.solution, flag)


def _is_in_step(facts: Facts, function: Function, loop: Loop | None) -> bool:
    """Whether the file shows a loop of steps around a position."""
    positions = reached(
        [(function, loop)], lambda at: [(call.function, call.loop) for call in facts.solution.callers.get(at[0], {})]
    )
    around = (outer for _, inner in positions if inner is not None for outer in inner.around())
    return any(map(facts.steps.is_step, around))


def _is_worked_out_here(facts: Facts, backward: Backward) -> bool:
    """Whether a function that nobody calls in this file reads the gradients itself, and nothing takes them away.

    It is given its model, so that what it leaves there outlives it: a curvature, a trace of the Hessian.
    """
    function = backward.function
    if function.parent is None or facts.solution.callers.get(function) or facts.unit_tests.may_have(function):
        return False
    reads = any(v.name == "grad" and v.function is function for v in facts.graph.of(Op.ATTRIBUTE))
    behind = facts.flows.ancestry.of(backward.root)
    is_given = any(called_object(v) in function.parameters for v in behind if v.op is Op.CALL)
    return reads and is_given and next(gradients_freed(facts), None) is None


def _is_gradient(value: Value) -> bool:
    """``p.grad``, ``p.grad.data``."""
    while value.op is Op.ATTRIBUTE and value.name == "data":
        value = value.inputs[0]
    return value.op is Op.ATTRIBUTE and value.name == "grad"


def gradients_freed(facts: Facts) -> Iterator[tuple[Function, Loop | None]]:
    """Where gradients are taken away, be it by a call of what stands in another file."""
    yield from ((function, loop) for function, loop, _ in _freed(facts))


def _freed(facts: Facts) -> Iterator[tuple[Function, Loop | None, float]]:
    """The same, each with how far down in its function that is; infinitely where that is not known."""
    for effect in facts.effects.of(EffectKind.FREES):
        yield effect.call.function, effect.call.loop, effect.call.index
    for call in facts.calls():
        if call.callee.op is Op.ATTRIBUTE and (
            "zero_grad" in call.name or (call.name == "detach_" and _is_gradient(call.callee.inputs[0]))
        ):
            yield call.function, call.loop, call.index
    for store in facts.graph.stores:
        if store.attribute == "grad":
            yield store.function, store.loop, math.inf
    for reset in facts.graph.resets:
        if _is_gradient(reset.holder):
            yield reset.function, reset.loop, math.inf


def _is_kept(facts: Facts, backward: Backward, resets: Iterator[tuple[Function, Loop | None]]) -> bool:
    """Whether a step passes without one of ``resets``; loops over parameters belong to the turn around them."""
    lifted = []
    for function, innermost in resets:
        around = innermost.around() if innermost is not None else []
        lifted.append((function, next(filter(facts.steps.is_step, around), None)))
    return facts.lifetimes.passes_without(backward.function, backward.loop, lifted)


def _goes_elsewhere(facts: Facts, backward: Backward) -> bool:
    """Whether a function that is not seen gets a model or an optimizer in the step: it may take gradients away."""
    for call in facts.steps.calls_in(backward.function):
        if not call.is_bare or facts.solution.functions_of(call) or call.callee.op is Op.ATTRIBUTE:
            continue
        if call.callee.op is Op.EXTERNAL and call.callee.name.startswith(("torch.", "builtins.")):
            continue
        for argument in call.arguments:
            if any(isinstance(atom, Module) or is_optimizer(atom) for atom in facts.solution.final(argument)):
                return True
    return False


def _dropped_model(facts: Facts, backward: Backward) -> Value | None:
    """The model behind a backward that its function, or each of its callers, makes and keeps nowhere.

    ``net = copy.deepcopy(model)``, and then ``loss.backward(create_graph=True)`` or ``hessian_trace(net, batch)``.
    """
    if _goes_elsewhere(facts, backward):
        return None
    at = backward.call.index if backward.call is not None and backward.loop is None else -1
    behind = facts.flows.ancestry.of(backward.root)
    calls = sorted((one for one in behind if facts.steps.calls_module(one)), key=lambda one: one.index)
    models = (_ways_to(facts, called_object(call)) for call in calls)
    dropped = (_dropped_by(facts, _At(backward.function, backward.loop, at), ways) for ways in models)
    return next(filter(None, dropped), None)


@dataclass(frozen=True)
class _At:
    """A position in the program: a function, the innermost loop there, and behind which value; -1 for any in it."""

    function: Function
    loop: Loop | None
    index: int


def _dropped_by(facts: Facts, at: _At, ways: list[Value], hops: int = HOPS) -> Value | None:
    """Where a model is made that is gone when the function returns, or that of each caller; None where it may stay."""
    around = at.loop.around() if at.loop is not None else []
    if at.function.parent is None or any(map(facts.steps.is_step, around)) or _is_freed_behind(facts, at):
        return None  # of a model that many steps share, each loses its graph
    if ways[-1] not in at.function.parameters:
        return ways[-1] if ways[-1].function is at.function and _is_lost(facts, ways) else None
    calls = facts.solution.callers.get(at.function, {}) if hops else {}
    found: list[Value] = []
    for call in sorted(calls, key=lambda one: one.index):
        given = calls[call].get(ways[-1])
        made = None
        if given is not None:
            made = _dropped_by(facts, _At(call.function, call.loop, call.index), _ways_to(facts, given), hops - 1)
        if made is None:
            return None
        found.append(made)
    return found[0] if found else None


def _is_freed_behind(facts: Facts, at: _At) -> bool:
    """Whether a function takes gradients away after a position, or calls then what does."""
    later = (call for call in facts.calls() if call.function is at.function and call.index >= at.index)
    within = {callee for call in later for callee in facts.solution.functions_of(call)}
    return any(f in within or (f is at.function and index > at.index) for f, _, index in _freed(facts))


def _ways_to(facts: Facts, model: Value) -> list[Value]:
    """A model, what gave it back, ``fit(Net(), loader)``, and last where it is made."""
    ways = [before_moves(model)]
    while (given := _given_back(facts, ways[-1])) is not None:
        ways.append(before_moves(given))
    return ways


def _given_back(facts: Facts, call: Value) -> Value | None:
    """What a CALL passes for the parameter that its function returns, and keeps nowhere."""
    functions = facts.solution.functions_of(call) if call.op is Op.CALL else []
    if len(functions) != 1 or functions[0].result is None or facts.graph.foreign.keeps.get(functions[0]):
        return None
    (function,) = functions
    returned = function.result.inputs if function.result is not None else ()
    told = facts.graph.foreign.views.get(function)  # of a model, all of it is the model
    whole = function.parameters[told.position] if told is not None and not told.is_part else None
    given = [one for one in function.parameters if one is whole or one in returned]
    kept = any(store.value in given for store in facts.graph.stores)
    return facts.solution.callers[function][call].get(given[0]) if len(given) == 1 and not kept else None


def _is_lost(facts: Facts, ways: list[Value]) -> bool:
    """Whether a model, on all of its ``ways``, is made by a call and is gone when its function returns."""
    made = ways[-1]
    final = facts.solution.final(made)
    is_model = made.op is Op.CALL and any(isinstance(a, Module | Instance) for a in final)
    if not is_model or not (_is_class(facts, made) or _builds(facts, made)):
        return False
    forms = reached(ways, _further_forms)
    returned = made.function.result.inputs if made.function.result is not None else ()
    leaves = {store.value for store in facts.graph.stores}.union(returned)
    leaves.update(item for whole in returned if whole.op is Op.CONTAINER for item in whole.inputs)
    return leaves.isdisjoint(forms)


def _further_forms(made: Value) -> list[Value]:
    return [*(user for user in made.users if user.op in (Op.PHI, Op.NARROWED)), *given_back(made)]


def _builds(facts: Facts, call: Value) -> bool:
    """Whether a CALL is of what another package gives, or of functions of the file that build it anew each time."""
    functions = facts.solution.functions_of(call)
    if not functions:
        return True
    products = Products(facts)
    is_each = all(products.made_by(function) is not None for function in functions)
    products.let_go()
    return is_each


def _is_class(facts: Facts, made: Value) -> bool:
    return facts.solution.may_be(made.callee, ClassReference)


def _lost_leaf(facts: Facts, backward: Backward) -> Value | None:
    """A leaf that is made in the step, goes through a module and keeps its gradient when the step drops it."""
    behind = facts.flows.ancestry.of(backward.root)
    is_told = bool(backward.inputs) or (backward.call is not None and backward.call.argument(-1, "inputs") is not None)
    if is_told or not any(facts.steps.calls_module(value) for value in behind if value.op is Op.CALL):
        return None
    freed = {store.holder for store in facts.graph.stores if store.attribute == "grad"}
    freed |= {reset.holder.inputs[0] for reset in facts.graph.resets if _is_gradient(reset.holder)}
    named = {store.holder: store.value for store in facts.graph.stores if store.attribute == "requires_grad"}
    for value in sorted(behind, key=lambda v: v.index):
        marked = named.get(value)
        is_leaf = (value.op is Op.CALL and _is_made_leaf(facts, value)) or (
            marked is not None and marked.name == "True"
        )
        if is_leaf and value not in freed and _is_in_step(facts, value.function, value.loop):
            return value
    return None


def _is_made_leaf(facts: Facts, call: Value) -> bool:
    """``x.requires_grad_()``, ``torch.zeros(n, requires_grad=True)``."""
    if call.name == "requires_grad_" and call.callee.op is Op.ATTRIBUTE:
        flag, receiver = call.argument(0, "requires_grad"), call.callee.inputs[0]
        return (flag is None or flag.name != "False") and facts.flows.live(receiver) is None
    flag = call.argument(-1, "requires_grad")
    is_leaf = any(atom == Tensor(History.LEAF) for atom in facts.solution.final(call))
    return is_leaf and flag is not None and flag.name == "True"
