"""Whether a statement computes nothing but what one forward gives, so that all of it can stand under a guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_alone(facts: Facts, call: Value, is_in_vain: Callable[[Value], bool]) -> bool:
    """Whether the statement only assigns what the forward gives, so that it can stand under a guard as it is.

    ``is_in_vain``: whether another CALL is such a forward.
    """
    statement = call.statement
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    if not isinstance(statement.body[0], cst.Assign | cst.AnnAssign):
        return False
    others = [v for v in facts.computed_in(statement) if v.op in (Op.CALL, Op.OPERATION)]
    inside = set(call.computed_from())
    return all(
        v in inside or (is_in_vain(v) if _begins_graph(facts, v) else _depends_only_on(facts, v, call)) for v in others
    )


def _begins_graph(facts: Facts, value: Value) -> bool:
    """``out, target = student(x), teacher(x)``: whether a CALL gives what has a graph of its own."""
    return value.op is Op.CALL and not facts.flows.is_arithmetic(value) and bool(facts.flows.live_parts(value))


def _depends_only_on(facts: Facts, value: Value, call: Value) -> bool:
    """Whether all that brings a graph into ``value`` is the forward."""
    sources: Sequence[Value] = [value.callee.inputs[0], *value.arguments] if _is_tensor_method(value) else value.inputs
    return all(
        source is call or call in source.computed_from() or facts.flows.live(source) is None for source in sources
    ) and not any(facts.flows.is_leaf(source) for source in sources)  # fmt: skip


def _is_tensor_method(value: Value) -> bool:
    return value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and torch_api.method(value.callee.name) is not None
