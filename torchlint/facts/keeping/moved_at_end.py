"""Containers of an object whose items all go to the host, and are of no use before: ``torch.cat(self.outs).cpu()``.

Or to whoever calls a method that gives all of them, who may do so.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.fates import End, Fate, Fates
from torchlint.facts.values.choices import choices
from torchlint.facts.values.extents import CHOICES
from torchlint.facts.values.graph import Function, Key, Kind, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.residence import Residences
from torchlint.facts.values.solve import Solution

if TYPE_CHECKING:
    from torchlint.facts import Facts

MOVES = ("cpu", "to")
"""Methods that move a tensor, which says that it may be on a device; ``tolist()`` does not."""


MIXED = "mixed"
"""In place of a position: what a method gives is one thing on one path and another on the next."""


class MovedAtEnd:
    """Answers which stores of one file fill such a container."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def is_filled_by(self, store: Store) -> bool:
        """Whether a store adds to a container whose items are moved to the host, and go nowhere else.

        Nor does what is chosen of one where it is: ``torch.cat([out.argmax(1).cpu() for out in self.outs])``.
        """
        if store.kind is not Kind.INSERT or store.holder is None or not self._moves:
            return False
        made = allocations_of(self.solution, store.holder)
        ends = [end for one in made for end in self._fates.of(one)]
        left = [end for end in ends if not _is_moved(end)]
        return len(left) < len(ends) and all(map(self._is_choice_moved, left))

    def _is_choice_moved(self, end: End) -> bool:
        """Whether an end of the way of an item is that a few numbers of it are chosen, which then go to the host."""
        chosen = end.at.op is Op.CALL and end.at.callee.name.rpartition(".")[2] in CHOICES
        ends = self._fates.of(end.at) if end.fate is Fate.COMPUTED and chosen else []
        return bool(ends) and all(map(_is_moved, ends))

    def given_back_by(self, store: Store) -> tuple[tuple[str, Key], ...]:
        """The methods of the object that give all that a store adds to, and the only ways on which it goes anywhere.

        Each with the position in the tuple that it returns, None where it returns nothing else.
        """
        owner = store.function.owner
        if store.kind is not Kind.INSERT or store.holder is None or owner is None:
            return ()
        made = allocations_of(self.solution, store.holder)
        ends = [end for one in made for end in self._fates.of(one)]
        methods = [end.at.function for end in ends if end.fate is Fate.LEAVES and end.at is end.at.function.result]
        if not ends or len(methods) < len(ends) or any(one.owner is not owner for one in methods):
            return ()
        found = [(one.name, _position(self.solution, one, frozenset(made))) for one in dict.fromkeys(methods)]
        return tuple(found) if MIXED not in dict(found).values() else ()

    @cached_property
    def _moves(self) -> bool:
        calls = self.facts.graph.of(Op.CALL)
        return any(call.callee.op is Op.ATTRIBUTE and call.callee.name in MOVES for call in calls)

    @cached_property
    def _fates(self) -> Fates:
        return Fates(self.facts.flows, Residences(self.facts.flows))


def _position(solution: Solution, method: Function, made: frozenset[Value]) -> Key:
    """Where in the tuple that a method returns that is which comes of a container; see :data:`MIXED`."""
    results = choices(method.result)
    if len(results) != 1:
        return MIXED
    if results[0].op is not Op.CONTAINER or not isinstance(results[0].syntax, cst.Tuple):
        return None
    positions = [
        key
        for key, item in zip(results[0].keys, results[0].inputs, strict=True)
        if any(not made.isdisjoint(allocations_of(solution, one)) for one in item.computed_from())
    ]
    return positions[0] if len(positions) == 1 else MIXED


def _is_moved(end: End) -> bool:
    at = end.at
    return end.fate is Fate.HOST and at.op is Op.CALL and at.callee.op is Op.ATTRIBUTE and at.callee.name in MOVES
