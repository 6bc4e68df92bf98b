"""What is built in each turn and has to be, or costs nothing: what wraps a given model, or remembers nothing."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.tree import dotted

CHANCE = ("random.", "numpy.random.", "torch.rand")
"""How the names of functions begin that give something else each time."""


def is_of_chance(value: Value) -> bool:
    """Whether a CALL gives something else each time."""
    return value.op is Op.CALL and value.callee.name.startswith(CHANCE)


def has_momentum(call: Value) -> bool:
    """Whether plain gradient descent is told to remember anything."""
    momentum = call.argument(2, "momentum")
    if momentum is None:
        return False
    return not isinstance(momentum.syntax, cst.Integer | cst.Float) or constant_of(momentum.syntax) != 0


def is_told_module(value: Value) -> bool:
    """``model: torch.nn.Module``."""
    if value.op is not Op.PARAMETER or not isinstance(value.syntax, cst.Param) or value.syntax.annotation is None:
        return False
    told = dotted(value.syntax.annotation.annotation) or ""
    return told.rpartition(".")[2] == "Module"


def passed_on(value: Value) -> set[Value]:
    """What ``value`` may be, or is made of by functions to which it is handed."""
    pending, seen = [value], set[Value]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.op is Op.PHI:
            pending.extend(current.inputs)
        elif current.op is Op.CALL and current.callee.op is not Op.ATTRIBUTE:
            pending.extend(current.arguments)
        elif current.op is Op.CALL and current.callee.name in SAME_OBJECT:
            pending.append(current.callee.inputs[0])
    return seen
