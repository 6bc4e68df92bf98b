"""Gradients that have a graph: after ``backward(create_graph=True)`` a leaf and its ``.grad`` hold each other.

The gradient's graph ends in the leaf, and the leaf holds the gradient; both ends are C++ objects, so no garbage
collector sees the cycle. Only taking the gradient away breaks it: ``zero_grad()``, ``p.grad = None``, ``detach_()``.
``p.grad.zero_()`` does not, since it is recorded itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import History, Module, Tensor, Tool
from torchlint.facts.values.graph import Backward, Function, Loop, Op, Value
from torchlint.facts.values.literals import is_true

if TYPE_CHECKING:
    from torchlint.facts import Facts

BACKWARD = "torch.autograd.backward"


@dataclass(frozen=True)
class GradientCycle:
    """A backward whose gradients keep their own graph, in each step a new one.

    Attributes:
        backward: it.
        call: the call that runs it.
        leaf: a tensor made in the step whose gradient nothing takes away; None where those of the parameters stay.
        zeroed: where gradients are only set to zero, if the program does so.
    """

    backward: Backward
    call: Value
    leaf: Value | None
    zeroed: Value | None


def gradient_cycles(facts: Facts) -> list[GradientCycle]:
    """Every backward of the file that leaves a cycle in each step."""
    found = []
    for backward in facts.graph.backwards:
        call = backward.call
        if call is None or not _creates_graph(call) or not _is_in_step(facts, backward.function, backward.loop):
            continue
        if _is_kept(facts, backward, _resets(facts)) and not _goes_elsewhere(facts, backward):
            zeroed = next((c for c in facts.calls() if c.name == "zero_" and _is_gradient(c.callee.inputs[0])), None)
            found.append(GradientCycle(backward, call, None, zeroed))
        elif (leaf := _lost_leaf(facts, backward)) is not None:
            found.append(GradientCycle(backward, call, leaf, None))
    return found


def _creates_graph(call: Value) -> bool:
    if call.callee.op is Op.EXTERNAL and call.callee.name != BACKWARD:
        return False  # `autograd.grad` puts nothing into `.grad`
    flag = call.argument(3 if call.callee.op is Op.EXTERNAL else 2, "create_graph")
    return is_true(flag)


def _is_in_step(facts: Facts, function: Function, loop: Loop | None) -> bool:
    """Whether the file shows a loop of steps around a position."""
    frontier, seen = [(function, loop)], set()
    while frontier:
        at = frontier.pop()
        if at in seen:
            continue
        seen.add(at)
        if at[1] is not None and any(map(facts.steps.is_step, at[1].around())):
            return True
        frontier += [(call.function, call.loop) for call in facts.solution.callers.get(at[0], {})]
    return False


def _is_gradient(value: Value) -> bool:
    """``p.grad``, ``p.grad.data``."""
    while value.op is Op.ATTRIBUTE and value.name == "data":
        value = value.inputs[0]
    return value.op is Op.ATTRIBUTE and value.name == "grad"


def _resets(facts: Facts) -> Iterator[tuple[Function, Loop | None]]:
    """Where gradients are taken away."""
    for call in facts.calls():
        if call.callee.op is Op.ATTRIBUTE and (
            "zero_grad" in call.name or (call.name == "detach_" and _is_gradient(call.callee.inputs[0]))
        ):
            yield call.function, call.loop
    for store in facts.graph.stores:
        if store.attribute == "grad":
            yield store.function, store.loop
    for reset in facts.graph.resets:
        if _is_gradient(reset.holder):
            yield reset.function, reset.loop


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
            if any(
                isinstance(a, Module) or (isinstance(a, Tool) and a.kind == "optimizer")
                for a in facts.solution.final(argument)
            ):
                return True
    return False


def _lost_leaf(facts: Facts, backward: Backward) -> Value | None:
    """A leaf that is made in the step, goes through a module and keeps its gradient when the step drops it."""
    behind = facts.flows.ancestry.of(backward.root)
    if backward.inputs or not any(facts.steps.calls_module(value) for value in behind if value.op is Op.CALL):
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
