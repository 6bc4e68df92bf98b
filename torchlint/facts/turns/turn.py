"""What a turn of a loop, or a call of a function, stands for: a step, an epoch, an inference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from torchlint.facts.values.graph import Function, Loop, Value


class Turn(Enum):
    """What one turn of a loop is."""

    TRAINS = auto()
    """A step of training."""
    INFERS = auto()
    """A batch or a forward, without training."""
    HOLDS = auto()
    """Whole loops of steps: an epoch, a fold, a trial."""
    OTHER = auto()

    @property
    def is_step(self) -> bool:
        """True for one batch, with or without training."""
        return self in (Turn.TRAINS, Turn.INFERS)


@dataclass(frozen=True)
class Repetition:
    """What repeats a call.

    Attributes:
        by: the loop each turn of which runs it, or the method that does with each call.
        turn: what a turn is; HOLDS means that it is repeated, but not in every step.
        chain: the call, the call of the function in which it stands, the call of the function in which that is ...
    """

    by: Loop | Function
    turn: Turn
    chain: tuple[Value, ...]
