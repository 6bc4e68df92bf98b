"""Whether a tensor has a single row: what a network makes of one example, ``torch.tensor([ids])``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.reaching import ends

__all__ = ["has_single_row", "may_have_single_row"]

FILLED = frozenset(f"torch.{name}" for name in ("empty", "full", "ones", "rand", "randn", "zeros"))
"""Functions that make a tensor of the shape with which their arguments begin."""

SHAPED = frozenset(["reshape", "view"])
"""Methods that give a tensor another shape, which they are given."""

ROWWISE = frozenset(
    ["bfloat16", "clone", "contiguous", "cpu", "cuda", "detach", "double", "exp", "float", "half", "int", "log",
     "log_softmax", "long", "relu", "requires_grad_", "sigmoid", "softmax", "sqrt", "tanh", "to", "type"]
)  # fmt: skip
"""Methods that give as many rows as their tensor has."""

JOINING = frozenset(["cat", "concat", "concatenate", "hstack", "vstack"])
"""Functions of which nobody counts the rows."""


def has_single_row(steps: Steps, base: Value) -> bool:
    """Whether all that a tensor is computed from, the first argument of each call, is written with one row."""
    sources = list(ends([base], partial(_computed_from, steps)))
    return bool(sources) and all(map(_is_one_row, sources))


def may_have_single_row(steps: Steps, base: Value) -> bool:
    """Whether it is, or what nobody sees makes the rows: ``tokenizer(text, return_tensors="pt")``, of one text."""
    sources = list(ends([base], partial(_computed_from, steps)))
    return bool(sources) and all(_is_one_row(one) or _is_made_unseen(one) for one in sources)


def _computed_from(steps: Steps, value: Value) -> Sequence[Value]:
    """What has as many rows as a value; nothing where that is not known, or where it is written."""
    if value.op is Op.CALL:
        return _behind_call(steps, value)
    if value.op is Op.PARAMETER:
        return steps.solution.arguments_of(value)
    if value.op in (Op.READ, Op.ATTRIBUTE) and (stored := stored_at(steps.solution, value)):
        return stored
    if value.op in (Op.ATTRIBUTE, Op.ELEMENT, Op.SUBSCRIPT):  # `out.logits`, `states, last = lstm(x)`
        return value.inputs[:1] if steps.calls_module(value.inputs[0]) else ()
    return value.inputs if value.op is Op.PHI else value.inputs[:1] if value.op is Op.OPERATION else ()


def _behind_call(steps: Steps, call: Value) -> Sequence[Value]:
    callee = call.callee
    if functions := steps.solution.functions_of(call):
        return [one for function in functions for one in choices(function.result)]
    if steps.calls_module(call):
        return call.arguments[:1]
    if callee.op is Op.ATTRIBUTE:
        return callee.inputs[:1] if callee.name in ROWWISE else ()
    is_known = callee.op is Op.EXTERNAL and callee.name.startswith(("torch.", "numpy."))
    return call.arguments[:1] if is_known and callee.name not in FILLED and _last(callee) not in JOINING else ()


def _last(callee: Value) -> str:
    return callee.name.rpartition(".")[2]


def _is_one_row(source: Value) -> bool:
    """``[ids]``, ``torch.zeros(1, 64)``, ``x.view(1, -1)``."""
    if source.op is Op.CONTAINER:
        return _is_of_one(source.syntax)
    is_shaped = source.op is Op.CALL and (source.callee.name in FILLED or _last(source.callee) in SHAPED)
    first = source.arguments[0] if is_shaped and source.arguments else None
    if first is not None and first.op is Op.CONTAINER:  # `torch.zeros((1, 64))`
        first = first.inputs[0] if first.inputs else None
    return first is not None and first.syntax is not None and constant_of(first.syntax) == 1


def _is_made_unseen(source: Value) -> bool:
    if source.op is not Op.CALL or _last(source.callee) in SHAPED:
        return False
    return source.callee.op is not Op.EXTERNAL or not source.callee.name.startswith(("torch.", "numpy.", "builtins."))


def _is_of_one(display: cst.CSTNode | None) -> bool:
    elements = display.elements if isinstance(display, cst.List | cst.Tuple) else ()
    return len(elements) == 1 and not isinstance(elements[0], cst.StarredElement)
