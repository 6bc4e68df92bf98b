"""What a pass over data collects at a cost, and what is wrong with how it does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import libcst as cst

from torchlint.facts.values.graph import Function, Loop, Value
from torchlint.facts.values.writing import Use


class Collecting(Enum):
    """What is wrong with how a pass collects."""

    UNTIL_HOST = auto()
    """Everything stays on the device until all of it is moved to the host."""
    UNTIL_REDUCED = auto()
    """Everything stays on the device until a loop of its own reduces one after the other."""
    UNTIL_DROPPED = auto()
    """Everything stays on the device, for callers that are not seen."""
    COPIES = auto()
    """What was collected is copied whole in each turn."""


@dataclass(frozen=True)
class Collection:
    """Something that a pass collects at a cost.

    Attributes:
        way: what is wrong.
        statement: where something is put aside.
        name: how the program names what collects.
        item: what is put aside, as it is written there; what ``extend`` takes it from, row by row.
        made: where the collecting began, if that is seen.
        end: UNTIL_HOST: what moves it; None where the object of another file that collects it does. UNTIL_REDUCED: what
            takes an item.
        repeated_by: what repeats the statement.
        has_graph: True when what is put aside keeps its graph, which costs more and which other rules say.
        by_rows: True for ``extend``, which may be given a list as well as a tensor.
        supposed: True where nobody is seen to call the method again and again.
    """

    way: Collecting
    statement: cst.CSTNode
    name: str
    item: Use
    made: cst.CSTNode | None
    end: Value | None
    repeated_by: Loop | Function
    has_graph: bool
    by_rows: bool = False
    supposed: bool = False
