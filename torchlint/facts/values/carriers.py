"""Objects that hold tensors, as distributions do: whether these have a graph, the caller of their maker decides."""

from __future__ import annotations

from collections.abc import Collection

from torchlint.facts.values.domain import Atom, Carrier
from torchlint.facts.values.graph import Function, Mode

__all__ = ["is_made_in"]


def is_made_in(atom: Atom, functions: Collection[Function]) -> bool:
    """Whether ``atom`` holds what one of ``functions`` computed with the gradients of its caller, on or off."""
    if not isinstance(atom, Carrier):
        return False
    return atom.origin.function in functions and atom.origin.mode is Mode.INHERITED
