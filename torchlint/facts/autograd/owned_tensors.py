"""Parameters and buffers of modules that are changed in place: ``t.mul_(m).add_(s)``."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.writing import text_of

BATCH_STATISTICS = frozenset(["running_mean", "running_var"])
"""Buffers of the layers that normalize: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html"""


def owned_tensor(lifetimes: Lifetimes, call: Value) -> str | None:
    """How the program writes the parameter or buffer of a module that a CALL changes in place.

    None for any other call, and where the tensor begins without the history of the last change.
    """
    in_place = call.callee.op is Op.ATTRIBUTE and call.name.endswith("_")
    if not in_place or not lifetimes.flows.is_arithmetic(call):
        return None
    owner = call.callee.inputs[0]
    while owner.op is Op.CALL and owner.name.endswith("_") and owner.callee.op is Op.ATTRIBUTE:
        if owner.name == "detach_":
            return None
        owner = owner.callee.inputs[0]
    is_statistic = owner.op is Op.ATTRIBUTE and owner.name in BATCH_STATISTICS
    is_item = owner.op is Op.ELEMENT and _is_owned_by_module(lifetimes.solution, owner)
    if not (is_statistic or is_item or _is_given_buffer(lifetimes, owner)):
        return None
    return text_of(owner.syntax if isinstance(owner.syntax, cst.Name) else _first_in(call), owner)


def _is_given_buffer(lifetimes: Lifetimes, owner: Value) -> bool:
    """Whether a parameter is a buffer of a module for all who are seen to call: ``self.track(self.mean, x)``."""
    given = lifetimes.solution.arguments_of(owner) if owner.op is Op.PARAMETER else []
    homes = [frozenset(lifetimes.solution.read_from(one)) for one in given]
    return bool(homes) and all(not lifetimes.buffers.isdisjoint(home) for home in homes)


def _is_owned_by_module(solution: Solution, element: Value) -> bool:
    """Whether a value is an item of ``module.parameters()`` or of a dict of tensors, looked for through ``zip``."""
    base = _pair_behind(solution, element.inputs[0])
    while base.op is Op.CONTAINER:  # the pair that `zip` makes
        items = [item for key, item in zip(base.keys, base.inputs, strict=True) if key == element.keys[0]]
        if not items or items[0].op is not Op.ELEMENT:
            return False
        element = items[0]
        base = _pair_behind(solution, element.inputs[0])
    names = ("parameters", "named_parameters", "buffers", "named_buffers", "values", "items")
    return base.op is Op.CALL and base.callee.op is Op.ATTRIBUTE and base.callee.name in names


def _first_in(call: Value) -> cst.CSTNode | None:
    """The variable with which a chain of calls begins: ``mean`` of ``mean.mul_(m).add_(x)``."""
    node = call.syntax
    while isinstance(node, cst.Call | cst.Attribute):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node if isinstance(node, cst.Name) else None


def _pair_behind(solution: Solution, value: Value) -> Value:
    """The pair that a value stands for, where a function of the file gives one after the other."""
    made = allocations_of(solution, value)
    return made[0] if len(made) == 1 and made[0].op is Op.CONTAINER else value
