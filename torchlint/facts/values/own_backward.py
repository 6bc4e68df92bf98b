"""Functions of a program that have a backward of their own: classes that are derived from ``autograd.Function``."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.values.differentiation import differentiate
from torchlint.facts.values.domain import UNKNOWN, Abstract
from torchlint.facts.values.graph import Class, Op, Value
from torchlint.syntax.tree import walk

FUNCTIONS = frozenset(
    ["torch.autograd.Function", "torch.autograd.function.Function", "torch.autograd.function.InplaceFunction",
     "torch.autograd.function.NestedIOFunction"]
)  # fmt: skip
"""Base classes of functions with a backward of their own."""


def has_own_backward(cls: Class) -> bool:
    """Whether a class is such a function."""
    return not FUNCTIONS.isdisjoint(cls.all_bases())


def applied(call: Value, cls: Class, arguments: list[Abstract]) -> Abstract:
    """What ``Surrogate.apply(x)`` gives: like any operation of torch, a tensor with a graph if an argument has one.

    Of several results, and of those that are declared not to be differentiable or are no floats, nothing is known.
    """
    forward = cls.method("forward")
    if forward is None or forward.is_foreign or forward.result is None:
        return UNKNOWN
    if any(choice.op in (Op.CONTAINER, Op.COMPARISON) for choice in forward.result.inputs):
        return UNKNOWN
    if any(isinstance(n, cst.Attribute) and n.attr.value == "mark_non_differentiable" for n in walk(forward.syntax)):
        return UNKNOWN
    return differentiate(call, arguments or [UNKNOWN])
