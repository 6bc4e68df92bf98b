"""Keys and places under which something is put: whether they come again, so that what was there is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from torchlint.facts.turns.counts import is_new_each_turn
from torchlint.facts.turns.lifetimes import HOPS
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.dictionaries import is_setdefault
from torchlint.facts.values.domain import Container, Tensor
from torchlint.facts.values.draws import is_drawn
from torchlint.facts.values.events import counts_events
from torchlint.facts.values.graph import Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.indices import is_of_last, told_by
from torchlint.facts.values.novelty import CLOCKS
from torchlint.facts.values.solve import Solution
from torchlint.frameworks import Holds, rows_holding


class Keys:
    """Answers for what one file puts into containers."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Look at the stores of ``solution``; ``steps`` says which loops are steps."""
        self.solution, self.steps = solution, steps

    def overwrites(self, store: Store) -> bool:
        """Whether a later insertion replaces this one: a constant key, or one that a loop over names gives."""
        index = store.call.arguments[0] if store.call is not None and is_setdefault(store.call) else store.index
        if not store.is_item and index is None:
            return False
        if store.key is not None:
            return True
        if index is None:
            return False
        if index.op is Op.OPERATION and index.name == "Modulo":
            return True  # `ring[step % size] = x`
        if self._is_next(index, store.holder) or self.is_ring(store):
            return False
        return not (self.changes(index, store.loop) or self.is_drawn_place(store))

    def is_of_new_part(self, holder: Value, loop: Loop | None) -> bool:
        """``rows.setdefault(epoch, {})[name] = x``: whether what takes it is a part that each turn begins."""
        keys = holder.arguments[:1] if is_setdefault(holder) else self.solution.graph.indices.get(holder, ())
        return len(keys) == 1 and self.changes(keys[0], loop)

    def is_ring(self, store: Store) -> bool:
        """``self.slots[self.at] = x`` where ``self.at`` goes round: ``self.at = (self.at + 1) % self.size``."""
        index, holder = store.index, store.holder
        if index is None or index.op not in (Op.READ, Op.ATTRIBUTE) or holder is None:
            return False
        if self.solution.may_be(holder, Tensor):
            return False  # what is written into a tensor in place becomes part of it
        places, later = self.solution.read_from(index), self.set_later(index)
        goes_round = any(one.value.name in ("Modulo", "ModuloAssign") for one in later)
        return goes_round and all(
            one.value.op is Op.OPERATION
            and any(place in places for part in one.value.computed_from() for place in self.solution.read_from(part))
            for one in later
        )

    def is_drawn_place(self, store: Store) -> bool:
        """``self.priorities[i] = x`` for the places of a batch that is drawn from a memory: in time, all of them."""
        if store.index is None or store.holder is None:
            return False
        is_list = self.solution.may_be(store.holder, Container)
        return is_list and is_drawn(self.solution, store.index)

    def changes(self, index: Value, loop: Loop | None, hops: int = HOPS) -> bool:
        """Whether an index is another one in each step: it depends on a loop of steps here or at a caller's."""
        around = loop.around() if loop is not None else []
        deciding = (index, *self._indices_in(index))
        if any(self.steps.is_step(one) and is_new_each_turn(part, one) for one in around for part in deciding):
            return True
        if any(part.op is Op.EXTERNAL and part.name.startswith(CLOCKS) for part in index.computed_from()):
            return True
        if index.op in (Op.READ, Op.ATTRIBUTE):
            return self._is_counter(index, hops)
        if index.op is Op.CONTAINER or index.name in ("Add", "AddAssign"):  # `seen[self.step, name]`, `seen[step + 1]`
            return any(self.changes(part, loop, hops) for part in index.inputs)
        index = told_by(index)
        if index.op is not Op.PARAMETER or hops == 0:
            return False
        calls = self.solution.callers.get(index.function, {})
        given = ((calls[call].get(index), call.loop) for call in calls)
        return any(
            argument is not None and argument is not index and self.changes(argument, at, hops - 1)
            for argument, at in given
        )

    def is_told_counter(self, index: Value) -> bool:
        """``trainer.current_epoch``: whether a framework, or who tells of events, counts it, and not the method."""
        if counts_events(index):
            return True
        if index.op is Op.SUBSCRIPT:  # `net.history[-1]["epoch"]`
            return index.keys[0] in self._told_counters and is_of_last(index)
        return index.op is Op.ATTRIBUTE and index.name in self._told_counters

    @cached_property
    def _told_counters(self) -> frozenset[str]:
        """The attributes that count the steps in the frameworks that the file imports."""
        names = (value.name for value in self.solution.graph.of(Op.EXTERNAL))
        packages = {name.partition(".")[0] for name in names}
        rows = (row for row in rows_holding(Holds.COUNTS) if any(own.partition(".")[0] in packages for own in row.of))
        return frozenset(method for row in rows for method in row.methods)

    def set_later(self, index: Value) -> list[Store]:
        """Where an attribute or a global is set once the program runs."""
        places = self.solution.read_from(index)
        return [
            store
            for store in self.solution.graph.stores
            if store.kind is not Kind.INSERT
            and store.function.name != "__init__"
            and store.function.parent is not None
            and any(target in places for target in targets_of(self.solution, store))
        ]

    def _is_next(self, index: Value, holder: Value | None) -> bool:
        """``rows[len(rows)] = x``: behind all that is there."""
        if holder is None or index.op is not Op.CALL or index.callee.name != "builtins.len" or not index.arguments:
            return False
        return not set(homes_of(self.solution, index.arguments[0])).isdisjoint(homes_of(self.solution, holder))

    def _indices_in(self, value: Value) -> Iterator[Value]:
        """What decides which rows are taken of what ``value`` is computed from: ``users[rows]``, ``users[i:j]``."""
        graph = self.solution.graph
        for part in (part for part in value.computed_from() if part.op is Op.SUBSCRIPT):
            yield from graph.indices.get(part, ())
            for element in part.syntax.slice if isinstance(part.syntax, cst.Subscript) else ():
                if isinstance(element.slice, cst.Slice) and element.slice.lower in graph.bounds:
                    yield graph.bounds[element.slice.lower]

    def _is_counter(self, index: Value, hops: int) -> bool:
        """Whether an attribute or a global is added to as the program goes on, or set to what counts the steps."""
        later = self.set_later(index)
        if not later:
            return self.is_told_counter(index)
        return all(
            store.kind is Kind.UPDATE or (hops > 0 and self.changes(store.value, store.loop, hops - 1))
            for store in later
        )
