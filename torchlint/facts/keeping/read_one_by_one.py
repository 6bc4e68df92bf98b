"""Lists of outputs of which each item is reduced by itself once all are there: the pass could do so at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.keeping.fates import LOOKING, End, Fate, Fates
from torchlint.facts.keeping.gathering import iterated
from torchlint.facts.turns.handoffs import LAZY
from torchlint.facts.values.extents import Size
from torchlint.facts.values.graph import Class, Function, Loop, Op, Value
from torchlint.facts.values.running import run_by
from torchlint.syntax.filling_names import INSERTING

if TYPE_CHECKING:
    from torchlint.facts import Facts

TOGETHER = frozenset(["builtins.zip", "builtins.enumerate", "builtins.reversed", "tqdm.tqdm", "tqdm.auto.tqdm"])
"""Functions whose items are those of what they are given, in a row."""

_FILLING = INSERTING | {"clear"}


class ReadOneByOne:
    """Answers for the lists of one file."""

    def __init__(self, facts: Facts, fates: Fates) -> None:
        """Work on ``facts``; ``fates`` know where things go."""
        self.facts, self.solution, self.fates = facts, facts.solution, fates

    def loop_over(self, made: Value, ends: list[End], by: Loop | Function) -> Loop | None:
        """The loop that reduces the items of a list, and needs nothing for it that only all of them tell.

        Args:
            made: what makes the list.
            ends: how the ways of its items end.
            by: what fills it.

        Returns:
            None where something takes the list as a whole, reads it while it is filled, or more than once.
        """
        if not isinstance(by, Loop) or not ends or not all(self._is_reduced(end, set()) for end in ends):
            return None
        loops = set(self._uses(made))
        loop = loops.pop() if len(loops) == 1 else None
        if loop is None or self._is_read_elsewhere(made) or not all(self._runs_in(loop, end.at) for end in ends):
            return None
        return loop if self._comes_after(loop, by) and self._needs_no_more(loop, made, by) else None

    def _is_read_elsewhere(self, made: Value) -> bool:
        """Whether another file speaks of the attribute that has the list."""
        places = (place for place, values in self.solution.stored.items() if made in values)
        return any(self.facts.others_mention(place.path) for place in places if isinstance(place.owner, Class))

    def _runs_in(self, loop: Loop, value: Value) -> bool:
        """Whether a turn of a loop computes a value, be it in a function that it calls."""
        if value.loop is not None and loop in value.loop.around():
            return True
        return value.function in run_by(self.facts.steps, self.facts.steps.calls_within(loop))

    def _is_reduced(self, end: End, seen: set[Value]) -> bool:
        """Whether what is computed of an item is a number, or the host has it at last."""
        if end.fate is not Fate.COMPUTED or end.at in seen:
            return end.fate is Fate.HOST or end.at in seen
        seen.add(end.at)
        if self.facts.extents.of(end.at) is not Size.WHOLE:
            return True
        further = self.fates.of(end.at)
        return bool(further) and all(self._is_reduced(one, seen) for one in further)

    def _uses(self, made: Value) -> Iterator[Loop | None]:
        """The loops that go over a list; None for whatever takes all of it."""
        aliases = self.fates.aliases(made)
        for alias in aliases:
            if any(function.result is alias for function in self.facts.graph.functions):
                yield None
            yield from (self._use(alias, user) for user in alias.users if not self._passes(user, aliases))

    def _passes(self, user: Value, aliases: list[Value]) -> bool:
        """Whether a use of a list puts something in, or only looks at it."""
        if user in aliases or user.op is Op.COMPARISON:
            return True
        if user.op is Op.CONTAINER or (user.op is Op.CALL and user.callee.name in TOGETHER):
            # `rows, names = [], []`, `for row, name in zip(rows, names)`
            is_kept = bool(self.facts.graph.stores_of(user))
            return not is_kept and all(part.op in (Op.ELEMENT, Op.SUBSCRIPT) for part in user.users)
        if user.op is Op.ATTRIBUTE:
            return user.name in _FILLING
        return user.op is Op.CALL and user.callee.name in LOOKING

    def _use(self, value: Value, user: Value) -> Loop | None:
        if user.op is not Op.ELEMENT or user.loop is None or user.loop.iterable is None:
            return None
        return user.loop if value in (user.loop.iterable, *iterated(user.loop.iterable)) else None

    def _comes_after(self, loop: Loop, by: Loop) -> bool:
        """Whether a loop runs once for all that another one has collected, and not again and again."""
        if loop.parent is not None and loop.parent is not by.parent:
            return False
        if loop.function is by.function:
            return by not in loop.around()
        calls = self.solution.callers.get(loop.function, ())
        return bool(calls) and all(call.loop is None for call in calls)

    def _needs_no_more(self, loop: Loop, made: Value, by: Loop) -> bool:
        """Whether what a loop computes with comes of its items alone, and of what was there before any of them."""
        aliases = set(self.fates.aliases(made))
        before = (
            given
            for value in self.facts.graph.values
            if value.loop is not None and loop in value.loop.around()
            for given in value.inputs
            if given.loop is None or loop not in given.loop.around()
        )
        return not any(self._tells_of_all(given, aliases, by) for given in before if given not in aliases)

    def _tells_of_all(self, given: Value, aliases: set[Value], by: Loop) -> bool:
        """Whether a value is made of what another loop has gone through."""
        if given.op is Op.CALL and given.callee.name in TOGETHER | LAZY:
            return False
        behind = set(given.computed_from())
        is_of_pass = any(value.loop is not None and by in value.loop.around() for value in behind)
        return (
            is_of_pass
            or not behind.isdisjoint(by.phis)
            or (given.op is not Op.ELEMENT and not behind.isdisjoint(aliases))
        )
