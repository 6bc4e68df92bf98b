"""Going on from one value to the next: everything that is reached, each once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

__all__ = ["ends", "reached"]

_Node = TypeVar("_Node", bound=Hashable)


def reached(beginning: Iterable[_Node], further: Callable[[_Node], Iterable[_Node]]) -> Iterator[_Node]:
    """Where one comes to, depth first, each node once, so that it ends though ways lead in circles.

    Args:
        beginning: where one begins, the last of them first; they are given as well.
        further: where it goes on from a node, the last of them first; asked when whoever walks asks for more.
    """
    pending, seen = list(beginning), set[_Node]()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        pending += further(node)


def ends(beginning: Iterable[_Node], further: Callable[[_Node], Sequence[_Node]]) -> Iterator[_Node]:
    """Those of what is :func:`reached` from which it goes no further, in the same order."""
    pending, seen = list(beginning), set[_Node]()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        onward = further(node)
        if not onward:
            yield node
        pending += onward
