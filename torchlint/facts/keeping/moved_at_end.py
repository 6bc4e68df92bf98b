"""Containers of an object whose items all go to the host, and are of no use before: ``torch.cat(self.outs).cpu()``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.keeping.fates import Fate, Fates
from torchlint.facts.values.graph import Kind, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.residence import Residences

if TYPE_CHECKING:
    from torchlint.facts import Facts

MOVES = ("cpu", "to")
"""Methods that move a tensor, which says that it may be on a device; ``tolist()`` does not."""


class MovedAtEnd:
    """Answers which stores of one file fill such a container."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def is_filled_by(self, store: Store) -> bool:
        """Whether a store adds to a container whose items are moved to the host, and go nowhere else."""
        if store.kind is not Kind.INSERT or store.holder is None or not self._moves:
            return False
        made = allocations_of(self.solution, store.holder)
        ends = [end for one in made for end in self._fates.of(one)]
        return bool(ends) and all(end.fate is Fate.HOST and _is_move(end.at) for end in ends)

    @cached_property
    def _moves(self) -> bool:
        calls = self.facts.graph.of(Op.CALL)
        return any(call.callee.op is Op.ATTRIBUTE and call.callee.name in MOVES for call in calls)

    @cached_property
    def _fates(self) -> Fates:
        return Fates(self.facts.flows, Residences(self.facts.flows))


def _is_move(at: Value) -> bool:
    return at.op is Op.CALL and at.callee.op is Op.ATTRIBUTE and at.callee.name in MOVES
