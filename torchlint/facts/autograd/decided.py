"""Forwards about whose graph the program has decided already, so that nobody needs to be told."""

from __future__ import annotations

from torchlint.facts.values.domain import Tensor, is_graphless
from torchlint.facts.values.frameworks import is_module
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.homes import is_data_of_tensor
from torchlint.facts.values.solve import Solution

SINCE_VOLATILE = frozenset(
    ["torch.no_grad", "torch.enable_grad", "torch.set_grad_enabled", "torch.device", "torch.inference_mode",
     "torch.tensor", "torch.as_tensor", "torch.compile", "torch.autocast"]
)  # fmt: skip
"""Names that torch has since ``volatile`` does nothing, as it has ``item`` of a tensor, and ``to`` of all it moves.

https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
"""


CALLERS_UP = 2
"""So many callers up a switch is looked for that decides for a call."""


def is_decided(solution: Solution, call: Value) -> bool:
    """Whether the program decides itself whether a forward records a graph.

    A switch there hangs on a condition (``set_grad_enabled(flag)``), or around all that call its function, or around
    all that the network runs in its forward; or what goes in was detached for it, as for a metric; or
    ``volatile=True``, the guard of torch before 0.4, stands at its input
    (https://pytorch.org/blog/pytorch-0_4_0-migration-guide/) in a file that may be written for that.
    """
    if _is_switched(solution, call) or _switches_itself(solution, call):
        return True
    if call.arguments and _is_detached(solution, call.arguments[0]):
        return True
    return is_volatile(solution, call) and not needs_newer_torch(solution)


def _is_switched(solution: Solution, call: Value, hops: int = CALLERS_UP) -> bool:
    if call.mode is not Mode.INHERITED or hops == 0:
        return call.mode is Mode.MAYBE
    callers = solution.callers.get(call.function, ())
    return bool(callers) and all(one.mode is Mode.OFF or _is_switched(solution, one, hops - 1) for one in callers)


def _switches_itself(solution: Solution, call: Value) -> bool:
    """``with torch.set_grad_enabled(self.training):`` around all that the forward of a network runs."""
    functions = solution.functions_of(call)
    if not functions or not any(is_module(atom) for atom in solution.final(call.callee)):
        return False
    inside = [one for function in functions for one in solution.graph.calls_in(function)]
    run = [one for one in inside if solution.functions_of(one) or any(map(is_module, solution.final(one.callee)))]
    return bool(run) and all(one.mode is Mode.MAYBE for one in run)


def is_asked_for(solution: Solution, call: Value, hops: int = CALLERS_UP) -> bool:
    """Whether gradients are switched on for a call, or for one of its function: no guard around it would change that.

    ``hops``: how many callers up it is looked for.
    """
    if call.mode is not Mode.INHERITED or hops == 0:
        return call.mode is Mode.ON and call.function.parent is not None
    return any(is_asked_for(solution, one, hops - 1) for one in solution.callers.get(call.function, ()))


def is_volatile(solution: Solution, call: Value) -> bool:
    """Whether something that goes into a call was made with ``volatile=True``, by a function that gives it back."""
    behind = {value for argument in call.arguments for value in argument.computed_from() if value.op is Op.CALL}
    made = (function.result for value in behind for function in solution.functions_of(value))
    inner = (value for result in made if result is not None for value in result.computed_from())
    return any("volatile" in value.keys for value in (*behind, *inner) if value.op is Op.CALL)


def needs_newer_torch(solution: Solution) -> bool:
    """Whether a file uses what came with torch 0.4: what it writes for older ones has no effect."""
    return any(
        (value.op is Op.EXTERNAL and value.name in SINCE_VOLATILE)
        or _reads_item(solution, value)
        or _moves(solution, value)
        for value in solution.graph.of(Op.EXTERNAL, Op.CALL)
    )


def _reads_item(solution: Solution, value: Value) -> bool:
    """``loss.item()``, which was ``loss.data[0]`` before; an array has the method as well."""
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name != "item":
        return False
    receiver = solution.final(value.callee.inputs[0])
    return not value.arguments and not all(map(is_graphless, receiver))


def _moves(solution: Solution, value: Value) -> bool:
    """``model.to(device)``, which was ``model.cuda()`` before."""
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name != "to":
        return False
    moved = solution.final(value.callee.inputs[0])
    return bool(value.arguments) and any(is_module(atom) or isinstance(atom, Tensor) for atom in moved)


def _is_detached(solution: Solution, value: Value, depth: int = 2) -> bool:
    """Whether a value is ``x.detach()`` or ``x.data``, moved or cut as may be, here or by all callers that are seen."""
    while True:
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
            value = value.inputs[0]
        elif value.op is Op.ATTRIBUTE:
            return is_data_of_tensor(solution, value)
        elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
            if value.callee.name == "detach":
                return True
            value = value.callee.inputs[0]
        elif value.op is Op.PARAMETER and depth > 0:
            given = solution.arguments_of(value)
            return bool(given) and all(_is_detached(solution, argument, depth - 1) for argument in given)
        else:
            return False
