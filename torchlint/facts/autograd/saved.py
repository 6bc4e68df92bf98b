"""What a graph keeps beside its nodes: the tensors that operations have saved for a backward that did not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Tensor
from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

PRODUCTS = ("Multiply", "Divide", "MatrixMultiply")
"""Operators that keep both of their operands when both have a graph."""

SAVING_NOTHING = frozenset(
    ["sum", "mean", "add", "sub", "neg", "view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute",
     "t", "contiguous", "clone", "to", "float", "double", "half", "cpu", "cuda", "expand", "expand_as", "chunk",
     "split", "unbind", "stack", "cat", "narrow", "select", "index_select", "gather", "type", "view_as"]
)  # fmt: skip
"""Operations whose backward needs no tensor of theirs: sums and views."""


class Saved:
    """Tells it of the values of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.solution, self.flows = facts.solution, facts.flows

    def holds_activations(self, value: Value) -> bool:
        """Whether ``value``'s graph keeps more than nodes: no backward runs over it, or not over all of it."""
        return not self.flows.is_spent(value) or self._saves(value, set())

    def _saves(self, value: Value, seen: set[Value]) -> bool:
        """Whether something that was computed behind a spent graph saved tensors of its own for a backward."""
        if value in self.flows.spent_roots or value in seen:
            return False
        seen.add(value)
        sources = [source for source in self.flows.ancestry.sources(value) if self.flows.carries(source)]
        if self._is_saving(value, sources) and not all(map(self._is_scalar, sources)):
            return True
        return any(self._saves(source, seen) for source in sources)

    def saved_by(self, value: Value) -> Value:
        """What ``value`` is a sum, a view or a copy of: whoever frees the graph of that leaves nodes of this."""
        while self._is_part_of_tensor(value) or (
            value.op is Op.CALL and value.name.rpartition(".")[2] in SAVING_NOTHING
        ):
            sources = [source for source in self.flows.ancestry.sources(value) if self.flows.carries(source)]
            if len(sources) != 1:
                break
            value = sources[0]
        return value

    def _is_part_of_tensor(self, value: Value) -> bool:
        """``weights[0]``, a view; not what a dict holds under a key."""
        return value.op is Op.SUBSCRIPT and self.solution.may_be(value.inputs[0], Tensor)

    def _is_saving(self, value: Value, sources: list[Value]) -> bool:
        """Whether an operation keeps what it was given or what it gave: it is no sum and no view."""
        if value.op is Op.OPERATION:
            return value.name.startswith("Power") or (value.name.startswith(PRODUCTS) and len(sources) > 1)
        name = value.name.rpartition(".")[2]
        return value.op is Op.CALL and self.flows.is_arithmetic(value) and name not in SAVING_NOTHING

    def _is_scalar(self, value: Value) -> bool:
        """Whether a spent value is a single number, as far as is seen: a loss, a mean."""
        if any(backward.root is value for backward in self.solution.graph.backwards):
            return True
        bare = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and not value.arguments
        if bare and value.callee.name in ("sum", "mean", "max", "min", "norm"):
            return True
        sources = [source for source in self.flows.ancestry.sources(value) if self.flows.carries(source)]
        return value.op is Op.OPERATION and all(map(self._is_scalar, sources))
