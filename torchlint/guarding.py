"""How the files of a run call a function: with gradients off or on."""

from __future__ import annotations

from enum import Enum

__all__ = ["Guarding"]


class Guarding(Enum):
    """What is seen of a function's callers in other files."""

    UNSEEN = "no caller that guards it is seen in this run"
    ALWAYS = "called with gradients off only"
    MIXED = "called with gradients off here and on there"
    DOUBTFUL = "called by its name with gradients off here and on there, by files that do not import it"
    ESCAPED = "put into a table out of which nobody is seen to call it"
