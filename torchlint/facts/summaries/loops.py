"""The loops of a function as others see them: how they stand in each other, and which are known to be steps."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.summaries.summary import LoopSummary
from torchlint.facts.turns.counts import counts_few
from torchlint.facts.values.graph import Function, Loop, Op

if TYPE_CHECKING:
    from torchlint.facts import Facts

NO_LOOP = -1
"""The number of what stands in no loop, or in none whose turns may be steps."""


class Loops:
    """Tells it of the functions of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self._facts = facts

    def of(self, function: Function) -> tuple[LoopSummary, ...]:
        """The loops of a function whose turns may be steps, in the order of their numbers."""
        loops = self._numbered.get(function, ())
        return tuple(LoopSummary(self.number(one.parent), self._facts.steps.is_step(one)) for one in loops)

    def number(self, loop: Loop | None) -> int:
        """The number, from 0, of the innermost of these loops around something; :data:`NO_LOOP` without one."""
        around = loop.around() if loop is not None else []
        numbered = self._numbered.get(around[0].function, []) if around else []
        return next((numbered.index(one) for one in around if one in numbered), NO_LOOP)

    @cached_property
    def _numbered(self) -> dict[Function, list[Loop]]:
        table: dict[Function, list[Loop]] = defaultdict(list)
        for loop in self._facts.graph.loops:
            if self._facts.steps.is_step(loop) or self._may_be_of_steps(loop):
                table[loop.function].append(loop)
        return table

    def _may_be_of_steps(self, loop: Loop) -> bool:
        """Whether nothing in a loop says that its turns are no steps: it goes over no layers, nor a few times."""
        is_written = loop.iterable is not None and loop.iterable.op is Op.CONTAINER
        return not (is_written or counts_few(loop) or self._facts.steps.walks_modules(loop))
