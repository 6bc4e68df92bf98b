"""Objects that hold tensors, as distributions do: whether these have a graph, the caller of their maker decides."""

from __future__ import annotations

from collections.abc import Collection

from torchlint.facts.values.domain import Atom, Carrier
from torchlint.facts.values.graph import Function, Mode, Op

__all__ = ["DISTRIBUTIONS", "has_parameter", "is_made_in"]

DISTRIBUTIONS = "torch.distributions."
"""Where the classes of torch's distributions are: https://docs.pytorch.org/docs/stable/distributions.html."""

PARAMETERS = frozenset(
    ["logits", "probs", "mean", "mode", "variance", "stddev", "loc", "scale", "rate", "concentration"]
)  # fmt: skip
"""What distributions are made of, or compute of that: attributes with the same graph."""


def has_parameter(atom: Atom, name: str) -> bool:
    """Whether an attribute of what has a graph is a parameter of a distribution, or computed of its parameters."""
    made = atom.origin if isinstance(atom, Carrier) and name in PARAMETERS else None
    return made is not None and made.op is Op.CALL and made.callee.name.startswith(DISTRIBUTIONS)


def is_made_in(atom: Atom, functions: Collection[Function]) -> bool:
    """Whether ``atom`` holds what one of ``functions`` computed with the gradients of its caller, on or off."""
    if not isinstance(atom, Carrier):
        return False
    return atom.origin.function in functions and atom.origin.mode is Mode.INHERITED
