"""The way back from a view to what holds its memory, and what the numbers on it say of how much is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.keeping.bases import OF_EACH_TOKEN, index_of, number_of
from torchlint.facts.keeping.numbers import is_known_with
from torchlint.facts.keeping.sizes import is_middle
from torchlint.facts.values.graph import Function, Op, Value

OWN = -1
"""Of a function that returns a part of a tensor which it makes: where it is given that."""

RESHAPED = frozenset(
    ["detach", "view", "view_as", "squeeze", "unsqueeze", "transpose", "permute", "t", "swapaxes", "movedim",
     "unflatten"]
)  # fmt: skip
"""Methods that give all of a tensor's memory in another shape, and never copy."""

PADDING = "torch.nn.functional.pad"

PARTS = frozenset(["select", "narrow", "diagonal"])
"""Methods that give a view of a part."""


@dataclass(frozen=True)
class View:
    """A tensor that is a part of another.

    Attributes:
        base: what was computed and holds the memory.
        part: what takes the first part of it.
        surely_smaller: False where the base may have one row, or one column, and no more.
        entered: the call by which the function was entered that computes the base, None where the view is taken there.
        numbers: what computes the numbers by which smaller parts of that are taken.
    """

    base: Value
    part: Value
    surely_smaller: bool
    entered: Value | None
    numbers: Sequence[Value] = ()


@dataclass(frozen=True)
class Way:
    """The way back from a value.

    Attributes:
        base: the computed value behind all views.
        parts: those of the views that take a part.
        is_squeezed: whether one of them takes it of a dimension behind one that was taken off.
        is_choice: whether something on the way is computed anew in other cases.
        entered: the calls by which functions were entered on the way.
        numbers: what computes the numbers that the parts are indexed by, where these are not written there.
        values: all values on the way.
    """

    base: Value
    parts: tuple[Value, ...]
    is_squeezed: bool
    is_choice: bool
    entered: Mapping[Function, Value]
    numbers: Sequence[Value]
    values: Set[Value]


def is_numbered(part: Value) -> bool:
    """Whether a number is written in the index by which a part is taken."""
    written = (one.value for one in index_of(part) if isinstance(one, cst.Index))
    return any(number_of(one) is not None or is_middle(one) for one in written)


def has_known_numbers(way: Way) -> bool:
    """Whether each number is one for a base: one that is computed on the way to it, and none that counts its rows."""
    return any(map(is_numbered, way.parts)) or all(
        any(is_known_with(number, value) for value in ([way.base] if number.op is Op.CONSTANT else way.values))
        for number in way.numbers
    )


def is_one_of_many(part: Value, way: Way) -> bool:
    """Whether a loop takes part after part of one base, and not one of each that a function which it calls computes."""
    base, entered = way.base, way.entered.get(way.base.function)
    made = base if part.function is base.function else entered
    return part.loop is not (made.loop if made is not None and made.function is part.function else None)


def unpadded(given: Sequence[Value]) -> list[Value]:
    """Without what is only another one made longer where that is too short: ``if len(x) < n: x = F.pad(x, ...)``."""
    return [
        one for one in given if not (one.op is Op.CALL and one.callee.name == PADDING and one.arguments[0] in given)
    ]


def takes_first_row(found: Way) -> bool:
    """``x[0]``, of which no other part is taken and nobody goes over the rows."""
    index = index_of(found.parts[0]) if len(found.parts) == 1 else []
    number = number_of(index[0].value) if len(index) == 1 and isinstance(index[0], cst.Index) else None
    return number == 0 and not found.is_squeezed and all(value.op is not Op.ELEMENT for value in found.values)


def made(base: Value) -> Value:
    """What computes a base, of which it may be an attribute."""
    return base.inputs[0].unnarrowed() if base.op is Op.ATTRIBUTE and base.name == OF_EACH_TOKEN else base
