"""How losses and tensors are written: the terms of a sum and their weights, tensors that are moved or reshaped."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.graph import Op, Value

MOVING = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16"])
"""Methods of tensors and modules that move them, or give another type."""

SAME_NUMBERS = frozenset(
    ["view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "contiguous", "clone",
     "requires_grad_"]
)  # fmt: skip
"""Methods of tensors that show or copy the same numbers, maybe in another shape: a batch stays a batch."""

SUMS = frozenset(["Add", "Subtract", "AddAssign", "SubtractAssign", "Minus"])
"""Operations whose operands are the terms of a sum."""

CONSTANTS = frozenset(["torch.zeros", "torch.ones", "torch.full", "torch.tensor"])
"""Functions that make a tensor of numbers that are written there."""

ADDING = frozenset(["add", "add_", "sub", "sub_"])
"""Methods that do the same."""

WEIGHING = frozenset(["Multiply", "Divide"])
"""Operations that give a term its weight."""

WEIGHING_IN_PLACE = frozenset(["mul_", "div_"])
"""Methods that give a sum another weight: who changes a loss in place trains on what he changes."""


def losses_of(result: Value) -> list[Value]:
    """What a framework trains on of what a method returns: the first part of a tuple, else all of it."""
    choices = list(result.inputs) if result.op is Op.PHI else [result]
    if not any(_is_tuple(choice) for choice in choices):
        return [result]
    return [choice.inputs[0] if _is_tuple(choice) else choice for choice in choices]


def _is_tuple(value: Value) -> bool:
    return value.op is Op.CONTAINER and isinstance(value.syntax, cst.Tuple) and bool(value.inputs)


def added_in(value: Value) -> list[Value]:
    """The terms of a sum: ``a + b``, ``total.add_(loss)``; [] for anything else."""
    if value.op is Op.OPERATION and value.name in SUMS:
        return list(value.inputs)
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ADDING:
        return [value.callee.inputs[0], *value.arguments[:1]]
    return []


def weighed_in(value: Value) -> list[Value] | None:
    """What gets another weight: ``loss`` of ``loss * 0.5`` and of ``loss.mul_(share)``; None for what gives none.

    Empty where several factors may be the loss.
    """
    if value.op is Op.OPERATION and value.name in WEIGHING:
        factors = [one for one in value.inputs if not is_weight(one)]
        return factors if len(factors) == 1 else []
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in WEIGHING_IN_PLACE:
        return [value.callee.inputs[0]]
    return None


def is_loss(value: Value) -> bool:
    """Whether a value is what one of torch's loss functions computes, maybe weighed by a factor."""
    while value.op is Op.OPERATION and value.name in WEIGHING:
        factors = [one for one in value.inputs if one.op in (Op.CALL, Op.OPERATION)]
        if len(factors) != 1:
            return False
        value = factors[0]
    if value.op is not Op.CALL or value.callee.op is not Op.EXTERNAL:
        return False
    home, _, name = value.callee.name.rpartition(".")
    return home == "torch.nn.functional" and (name.endswith("_loss") or "cross_entropy" in name)


def is_weight(value: Value) -> bool:
    """Whether a factor is written in the program or set from outside, and computed at most from such: ``1 - alpha``."""
    if value.op is Op.OPERATION:
        return all(map(is_weight, value.inputs))
    return value.op in (Op.CONSTANT, Op.ATTRIBUTE, Op.SUBSCRIPT, Op.READ, Op.PARAMETER)


def is_share(value: Value) -> bool:
    """``len(part) / total``: a weight that is computed from a count, and else from nothing but weights."""
    if value.op is not Op.OPERATION:
        return False
    others = [one for one in value.inputs if not _is_count(one)]
    return len(others) < len(value.inputs) and all(map(is_weight, others))


def _is_count(value: Value) -> bool:
    if value.op is Op.OPERATION and value.name in WEIGHING:
        return is_share(value)
    callee = value.callee if value.op is Op.CALL else None
    if callee is None:
        return False
    return callee.name == "builtins.len" or (callee.op is Op.ATTRIBUTE and callee.name in ("size", "numel"))


def is_made_a_leaf(value: Value) -> bool:
    """``x.requires_grad_()``, ``torch.randn(1, requires_grad=True)``, ``nn.Parameter(x)``"""
    callee = value.callee if value.op is Op.CALL else None
    if callee is not None and callee.op is Op.EXTERNAL and callee.name.startswith("torch."):
        return callee.name.endswith(".Parameter") or value.argument(-1, "requires_grad") is not None
    return callee is not None and callee.op is Op.ATTRIBUTE and callee.name == "requires_grad_"


def is_index(value: Value) -> bool:
    """``_, index = scores.max(1)``: a part of what an operation gives that no gradient goes through."""
    call, key = (value.inputs[0], value.keys[0]) if value.op in (Op.ELEMENT, Op.SUBSCRIPT) else (None, None)
    if call is None or call.op is not Op.CALL or call.callee.op is not Op.ATTRIBUTE or not isinstance(key, int):
        return False
    known = torch_api.method(call.callee.name)
    parts = known.elements[key : key + 1] if known is not None and key >= 0 else ()
    return any(history is torch_api.History.ENDS for _, history in parts)


def is_moved(value: Value) -> bool:
    """Whether a CALL only moves, reshapes or copies its receiver: ``x.to(device)``, ``x.view(n, -1)``."""
    callee = value.callee if value.op is Op.CALL else None
    return callee is not None and callee.op is Op.ATTRIBUTE and callee.name in MOVING | SAME_NUMBERS


def is_of_method(call: Value) -> bool:
    """``trainer.get_model()``, ``device.moved(torch.zeros(1))``: no forward, which would be given data."""
    made = (one.callee.name if one.op is Op.CALL else "" for one in call.arguments)
    return call.callee.op is Op.ATTRIBUTE and all(name in CONSTANTS for name in made)


def is_around(value: Value, operands: Sequence[Value]) -> bool:
    """``h + self.mix(self.norm(h))``: whether a value is what layers of an object make of the one other operand.

    That passes them by in order that they be trained; if their answer had no graph, they would not be.
    """
    others = [one for one in operands if one is not value]
    while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and len(value.arguments) == 1:
        if value.function.parameters[:1] != [value.callee.inputs[0]]:
            return False
        value = value.arguments[0]
        if [value] == others:
            return True
    return False


def not_drawn(values: Sequence[Value]) -> list[Value]:
    """Those values that are no data, as what is asked of an object is that is given none: ``replay.sample(32)``."""
    return [value for value in values if not _is_drawn(value)]


def _is_drawn(part: Value) -> bool:
    value = _whole_of(part)
    if (
        value.op is not Op.CALL
        or value.callee.op is not Op.ATTRIBUTE
        or torch_api.method(value.callee.name) is not None
    ):
        return False
    return all(given.op in (Op.CONSTANT, Op.ATTRIBUTE) for given in value.arguments)


def is_imported(value: Value) -> bool:
    """Whether a value is what an imported function gives of which nothing is known: no class, nothing of torch.

    Such a function has a graph to give where it is given one, or a network. It may run one of its own, and what loads
    batches does not.
    """
    if value.op is not Op.CALL or value.callee.op is not Op.EXTERNAL:
        return False
    package, _, name = value.callee.name.partition(".")
    return package not in ("torch", "builtins") and not name.rpartition(".")[2][:1].isupper()


def imported_behind(part: Value) -> Value | None:
    """The CALL of an imported function that gives what ``part`` is an item of; None for anything else."""
    whole = _whole_of(part)
    return whole if is_imported(whole) else None


def _whole_of(part: Value) -> Value:
    """What a value is an item of, or an item of an item."""
    while part.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.NARROWED):
        part = part.inputs[0]
    return part
