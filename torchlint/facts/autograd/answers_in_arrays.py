"""Methods that take arrays as well as tensors, and give arrays back for these: then nobody trains through the network.

``if isinstance(wave, np.ndarray): wave = torch.from_numpy(wave)``, then ``parts = self(wave)``, and in the end
``return parts.detach().numpy()`` on one way and ``return parts`` on another: who has passed a tensor may differentiate.
"""

from __future__ import annotations

from functools import cached_property

from torchlint import torch_api
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

TAKING = frozenset(["torch.from_numpy", "torch.as_tensor", "torch.tensor"])
"""What makes a tensor of an array."""

GIVING = frozenset(["numpy", "tolist"])
"""Methods of a tensor that give its numbers."""

PARTS = (Op.PHI, Op.NARROWED, Op.SUBSCRIPT, Op.ELEMENT)
"""What gives a value, or a part of it."""


class AnswersInArrays:
    """Answers which forwards run for such a method."""

    def __init__(self, solution: Solution) -> None:
        """Read what functions return from ``solution``."""
        self.solution = solution

    def has(self, call: Value) -> bool:
        """Whether what a CALL gives is returned as an array, where what it is given has come as one."""
        return call in self._given_back and any(map(_takes_array, call.arguments))

    @cached_property
    def _given_back(self) -> frozenset[Value]:
        """All of which a function of the file returns the numbers, on one of its ways."""
        results = (one for function in self.solution.graph.functions for one in choices(function.result))
        arrays = [one for one in results if one.op is Op.CALL and one.callee.name in GIVING]
        return frozenset(reached(arrays, _behind))


def _behind(value: Value) -> list[Value]:
    """What a tensor is a part of, or was before it was moved, reshaped or detached."""
    if value.op in PARTS:
        return list(value.inputs)
    if value.op is Op.ATTRIBUTE and value.name == "data":
        return list(value.inputs)
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE:
        return []
    name = value.callee.name
    is_of_tensor = name in GIVING or name in SAME_OBJECT or torch_api.method(name) is not None
    return list(value.callee.inputs) if is_of_tensor else []


def _takes_array(given: Value) -> bool:
    """Whether a tensor is made of what the function is given, on one of the ways that lead to it."""
    makers = (part for part in given.computed_from() if part.op is Op.CALL and part.callee.name in TAKING)
    taken = (maker.argument(0) for maker in makers)
    return any(one is not None and one.unnarrowed() in one.function.parameters for one in taken)
