"""Forwards about whose graph the program has decided already, so that nobody needs to be told."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts.values.domain import is_graphless
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.solve import Solution

SINCE_VOLATILE = frozenset(
    ["torch.no_grad", "torch.enable_grad", "torch.set_grad_enabled", "torch.device", "torch.inference_mode"]
)
"""Names that torch has since ``volatile`` does nothing, as it has ``item`` of a tensor."""

DRAWS = frozenset(["multinomial", "bernoulli", "normal"])
"""Methods of a tensor, or of torch, that draw from it."""


def is_decided(solution: Solution, call: Value) -> bool:
    """Whether the program decides itself whether a forward records a graph.

    A switch there hangs on a condition (``set_grad_enabled(flag)``); or what goes in was detached for it, as for a
    metric; or ``volatile=True``, the guard of torch before 0.4, stands at its input
    (https://pytorch.org/blog/pytorch-0_4_0-migration-guide/) in a file that may be written for that.
    """
    if call.mode is Mode.MAYBE:
        return True
    if call.arguments and _is_detached(solution, call.arguments[0]):
        return True
    return is_volatile(solution, call) and not needs_newer_torch(solution)


def is_decided_by_data(solution: Solution, call: Value) -> bool:
    """Whether the data of a forward come as a ``Variable`` from elsewhere, in a file that needs torch before 0.4.

    A module took nothing else then, so that what makes the data says with ``volatile`` whether there is a graph; and
    the data for an evaluation were made so.
    """
    return not needs_newer_torch(solution) and not _is_wrapped(solution, call)


def is_volatile(solution: Solution, call: Value) -> bool:
    """Whether something that goes into a call was made with ``volatile=True``, by a function that gives it back."""
    behind = {value for argument in call.arguments for value in argument.computed_from() if value.op is Op.CALL}
    made = (function.result for value in behind for function in solution.functions_of(value))
    inner = (value for result in made if result is not None for value in result.computed_from())
    return any("volatile" in value.keys for value in (*behind, *inner) if value.op is Op.CALL)


def is_reinforced(solution: Solution, call: Value) -> bool:
    """Whether a forward feeds a draw that the program rewards: ``action.reinforce(reward)``.

    Before torch 0.4 what was drawn had a graph, and a backward from it trained what gave the probabilities.
    """
    values = [value for value in solution.graph.values if value.op is Op.CALL]
    draws = (value for value in values if value.callee.op is Op.ATTRIBUTE and value.callee.name in DRAWS)
    if not any(call in draw.computed_from() for draw in draws):
        return False
    rewards = [value for value in values if value.callee.op is Op.ATTRIBUTE and value.callee.name == "reinforce"]
    return any(len(one.arguments) == 1 and not solution.functions_of(one) for one in rewards)


def needs_newer_torch(solution: Solution) -> bool:
    """Whether a file uses what came with torch 0.4: what it writes for older ones has no effect."""
    return any(
        (value.op is Op.EXTERNAL and value.name in SINCE_VOLATILE) or _reads_item(solution, value)
        for value in solution.graph.values
    )


def needs_older_torch(solution: Solution) -> bool:
    """Whether a file reads a loss as torch before 0.4 gave it, a vector of one number: ``loss.data[0]``.

    Or it draws as one could before, by ``probabilities.multinomial()``.
    """
    if any(_draws_one(value) for value in solution.graph.values):
        return True
    trained = {part for backward in solution.graph.backwards for part in _same_but_for_scale(backward.root)}
    read = [value.inputs[0] for value in solution.graph.values if value.op is Op.SUBSCRIPT and value.keys[0] == 0]
    return any(one.op is Op.ATTRIBUTE and one.name == "data" and one.inputs[0] in trained for one in read)


def _draws_one(value: Value) -> bool:
    is_method = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE
    return is_method and value.callee.name == "multinomial" and not value.arguments


def _same_but_for_scale(loss: Value) -> Iterator[Value]:
    """A loss, and what it is divided or multiplied from: ``loss.div(accumulated)``, ``loss / len(chunks)``."""
    yield loss
    if loss.op is Op.CALL and loss.callee.op is Op.ATTRIBUTE and loss.callee.name in ("div", "mul"):
        yield loss.callee.inputs[0]
    elif loss.op is Op.OPERATION and loss.name in ("Divide", "Multiply"):
        yield from loss.inputs


def _is_wrapped(solution: Solution, call: Value) -> bool:
    """Whether what goes into a call is made a ``Variable`` where that is seen: before it, or in what is called."""
    pending = [*call.arguments, *(function.result for function in solution.functions_of(call))]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value is None or value in seen:
            continue
        seen.add(value)
        if value.op is Op.CALL:
            if value.callee.op is Op.EXTERNAL and value.callee.name == "torch.autograd.Variable":
                return True
            pending.extend(value.callee.inputs)
            pending.extend(function.result for function in solution.functions_of(value))
        elif value.op is Op.PARAMETER:
            pending.extend(solution.arguments_of(value))
        pending.extend(value.inputs)
    return False


def _reads_item(solution: Solution, value: Value) -> bool:
    """``loss.item()``, which was ``loss.data[0]`` before; an array has the method as well."""
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name != "item":
        return False
    receiver = solution.final(value.callee.inputs[0])
    return not value.arguments and not all(map(is_graphless, receiver))


def _is_detached(solution: Solution, value: Value, depth: int = 2) -> bool:
    """Whether a value is ``x.detach()`` or ``x.data``, moved or cut as may be, here or by all callers that are seen."""
    while True:
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
            value = value.inputs[0]
        elif value.op is Op.ATTRIBUTE:
            return value.name == "data"
        elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
            if value.callee.name == "detach":
                return True
            value = value.callee.inputs[0]
        elif value.op is Op.PARAMETER and depth > 0:
            given = solution.arguments_of(value)
            return bool(given) and all(_is_detached(solution, argument, depth - 1) for argument in given)
        else:
            return False
