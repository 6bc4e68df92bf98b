"""What a function writes into an object that it is given, as its summary tells it."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.facts.summaries.parts import Key, Shape

MOST_WRITES = 16
"""Of a function with more writes than this the first ones are told."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step from an object to a part of it.

    Attributes:
        attribute: its name; "" for an item.
        key: the constant key of the item, if any.
    """

    attribute: str
    key: Key


@dataclass(frozen=True, slots=True)
class WriteSummary:
    """A function writes something into an object that it is given, or into a part of it.

    Attributes:
        position: the parameter, from 0.
        path: the steps that lead from it to what is written into.
        attribute: the attribute that is set; "" for an item.
        key: the constant key of an item, if any.
        is_item: it is put under a key, known or not, and not added.
        written: what is written.
    """

    position: int
    path: tuple[Step, ...]
    attribute: str
    key: Key
    is_item: bool
    written: Shape
