"""The parts of a shape: an abstract value as a summary tells it, without a graph to point into.

``values/domain.py`` has the values that they stand for; ``shapes.py`` makes the one of the other, ``atoms.py`` back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from torchlint.symbol import Symbol

Key: TypeAlias = "str | int | None"


class PartKind(Symbol):
    """Which alternative of an abstract value a part stands for; see ``values/domain.py``."""

    PLAIN = "plain"
    """``name``: the number or the truth that an attribute is, be it where nothing is given for the parameter of
    ``__init__`` at ``position``, if that is not 0."""
    UNKNOWN = "unknown"
    TENSOR = "tensor"
    """``name``: its history; ``by``: the function whose callers decide on the grad mode."""
    MODULE = "module"
    """``flag``: it has parameters that may be trained; ``name``: :data:`FROZEN` for one that has others."""
    TOOL = "tool"
    INSTANCE = "instance"
    """Of the class ``name`` of the same file."""
    FUNCTION = "function"
    """The function or method ``name`` of the same file; ``flag``: its first parameter is given."""
    CLASS = "class"
    IMPORTED = "imported"
    """What the file imports under the dotted ``name``."""
    MADE = "made"
    """What calling the imported ``name`` gives."""
    REGISTERED = "registered"
    """An object of one of the classes that the function ``name`` of the same file decorates, in whatever files."""
    CONTAINER = "container"
    """``flag``: it is a dictionary; ``name``: :data:`OLDER` for one that is passed and is older than the call."""
    GIVEN = "given"
    """What the caller passes for the parameter at ``position`` of the function ``name``."""
    COMPUTED = "computed"
    """A tensor computed, differentiably, from that; ``by`` as for TENSOR."""
    OWN = "own"
    """What the attribute ``name`` (dotted for one of another) of the method's ``self`` holds; without one, itself."""
    RESULT = "result"
    """What the call at ``position`` of the function's summary returns, or the item of it under the key of ``items``;
    with ``flag`` a tensor computed from that."""
    SUMMED = "summed"
    """The sum of all that the item at ``position`` of the same tuple holds."""
    DIFFERENTIABLE = "differentiable"
    RECORD = "record"
    """A record of the class ``name`` of the same file that the function makes of ``items``, by position or keyword."""


@dataclass(frozen=True, slots=True)
class Part:
    """One alternative of a :data:`Shape`; which fields count depends on the kind.

    ``flag`` of what is made says that the item at ``position`` of what is returned is meant. ``is_evaluated``: it is
    made in this file and put into evaluation mode. ``is_spent``: a backward has run over all of its graph.
    """

    kind: PartKind
    name: str = ""
    position: int = 0
    flag: bool = False
    by: str = ""
    items: tuple[tuple[Key, Shape], ...] = ()
    is_evaluated: bool = False
    is_spent: bool = False


Shape: TypeAlias = "tuple[Part, ...]"
"""An abstract value without a graph to point into: its alternatives, in a fixed order."""


SUM = "builtins.sum"

OLDER, FROZEN = "older", "frozen"


UNKNOWN: Shape = (Part(PartKind.UNKNOWN),)
