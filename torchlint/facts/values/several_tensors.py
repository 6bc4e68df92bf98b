"""What is a tuple or a list of tensors, though its graph is told as that of one: ``y.split(2)``, what an LSTM gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.operations import operation
from torchlint.facts.values.parameters import all_same_objects
from torchlint.torch_api import Returns

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

PAIRS = frozenset(
    f"torch.nn.{name}"
    for name in ("RNN", "GRU", "LSTM", "LSTMCell", "MultiheadAttention", "AdaptiveLogSoftmaxWithLoss")
)
"""Layers that give several things: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html"""

NESTED = "torch.nn.LSTM"
"""The second of what it gives is a pair itself."""


def is_several(solution: Solution, value: Value) -> bool:
    """Whether a value may be a tuple or a list of tensors, which has no methods of a tensor."""
    return any(_gives_several(solution, one) for one in all_same_objects(solution, value))


def in_each(solution: Solution, value: Value, name: str, method: str) -> str:
    """How a method is called on each of several tensors that stand under a name."""
    if NESTED in _makers(solution, value):
        return f"({name}[0].{method}(), ...)"
    return f"tuple(x.{method}() for x in {name})"


def _gives_several(solution: Solution, value: Value) -> bool:
    if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
        return value.keys[0] != 0 and NESTED in _makers(solution, value.inputs[0])
    if value.op is not Op.CALL or solution.functions_of(value):
        return False
    row = operation(value)
    return (row is not None and row.returns is Returns.TENSORS) or not PAIRS.isdisjoint(_makers(solution, value))


def _makers(solution: Solution, value: Value) -> set[str]:
    """By which layers a value may be given, each by its full dotted name."""
    given = [one for one in all_same_objects(solution, value) if one.op is Op.CALL]
    made = [layer for one in given for layer in all_same_objects(solution, one.callee) if layer.op is Op.CALL]
    return {layer.callee.name for layer in made}
