"""Which tensors a function computes: by operations of torch, by arithmetic on them, or what it lets others fill."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.operations import operation

if TYPE_CHECKING:
    from torchlint.facts import Facts


TELLING = frozenset(["mark_dirty", "mark_non_differentiable", "save_for_backward", "save_for_forward"])
"""Methods by which a context is told what of a call is an output, and what backward reads."""


class ComputedHere:
    """Answers it for one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.flows, self.identity = facts, facts.flows, facts.identity
        self._known: dict[Value, bool] = {}

    def is_computed(self, value: Value) -> bool:
        """Whether ``value`` is a tensor that is computed where it stands.

        A buffer is when it is handed to a function that is not seen: ``kernel(x, weight, buffer)``. One that stays as
        it was made may be a constant.
        """
        if value not in self._known:
            self._known[value] = False  # a sum that a loop carries on is computed where something else in it is
            self._known[value] = self._compute(value)
        return self._known[value]

    def _compute(self, value: Value) -> bool:
        if value.op is Op.OPERATION:
            return any(self.is_computed(root) for one in value.inputs for root in self.identity.roots(one))
        made = operation(value) if value.op is Op.CALL else None
        if made is None or made.returns is not torch_api.Returns.TENSOR:
            return False
        return made.history is torch_api.History.KEEPS or (
            made.history is torch_api.History.FRESH and value in self._handed_out
        )

    @cached_property
    def _handed_out(self) -> frozenset[Value]:
        """What is given to functions that are not seen, and not torch's; a context only hears of it."""
        calls = (call for call in self.facts.calls() if operation(call) is None and call.callee.name not in TELLING)
        unseen = filter(self.flows.is_unknown_call, calls)
        return frozenset(root for call in unseen for one in call.arguments for root in self.identity.roots(one))
