"""Small views that outlive a step and keep large tensors with them, or that are written to files with all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.host.datasets import keeps_sample
from torchlint.facts.keeping.bases import index_of, number_of
from torchlint.facts.keeping.chosen_rows import ChosenRows
from torchlint.facts.keeping.gathering import Gathering, iterated
from torchlint.facts.keeping.joining import is_join
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.keeping.views import Views
from torchlint.facts.keeping.ways import View
from torchlint.facts.turns.changing import is_computed_with
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.choices import choices, held_in
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import allocations_of, is_handed_to_method
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.writing import Use, parts, text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class KeptView:
    """A small view that keeps a large tensor.

    Attributes:
        statement: where it is kept.
        item: the view, as it is written there.
        base: what holds the memory.
        certain: False where the base may be as small as the view.
        is_written_to: True when something changes the base in place, so that a copy could hold other numbers.
        name: how the program names the container, "" for a file.
        made: where the container was made, if that is seen.
        repeated_by: what repeats the statement, None for a file.
        is_window: True where the container gives up its oldest when it is full.
        is_bounded: True where it belongs to one call, and the loop is not seen to run over data.
        taken_by: the call of a function of another file that takes the part; None where it is taken here.
    """

    statement: cst.CSTNode
    item: Use
    base: Value
    certain: bool
    is_written_to: bool
    name: str
    made: cst.CSTNode | None
    repeated_by: Loop | Function | None
    is_window: bool = False
    is_bounded: bool = False
    taken_by: Value | None = None


@dataclass(frozen=True)
class _Holder:
    """The container that takes a view, and what repeats the taking; a file has neither."""

    name: str = ""
    made: cst.CSTNode | None = None
    by: Loop | Function | None = None
    is_window: bool = False
    is_bounded: bool = False


def kept_views(facts: Facts) -> list[KeptView]:
    """Every such view of a file."""
    search = _Search(facts)
    return [*search.inserted(), *search.handed_over(), *search.comprehended(), *search.saved()]


class _Search:
    """One file's search."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution = facts.solution
        self.views = Views(facts.solution, facts.steps)
        # Who stores all windows of a tensor stores the tensor; each file has all of it again.
        self.saved_views = Views(facts.solution, facts.steps, windows=True)
        self.gathering = Gathering(facts)
        self.chosen_rows = ChosenRows(facts, self.views)

    @cached_property
    def _insertions(self) -> list[Store]:
        stores = (store for store in self.facts.graph.stores if store.kind is Kind.INSERT)
        return [store for store in stores if not is_handed_to_method(self.solution, store)]

    def inserted(self) -> Iterator[KeptView]:
        """``firsts.append(hidden[:, 0])`` in a loop."""
        for store in self._insertions:
            if store.holder is None:
                continue
            at = self.gathering.position(store)
            items = self._items(store.value, store.syntax)
            found = [(item, view) for item in items if (view := self._view_in(store, item)) is not None]
            repetition = self._repetition(at, found[0][1]) if found else None
            if repetition is None or not (self._brings_data(repetition.by) or keeps_sample(self.facts, store)):
                continue
            is_put_anywhere = self.chosen_rows.is_put_anywhere(store)
            if store.is_item and not is_put_anywhere and not self.gathering.adds_item(store, repetition.by):
                continue
            grows, window = (f(store, repetition) for f in (self.gathering.allocation, self.gathering.window))
            made = grows or window
            if made is None or _is_of_one_batch(made, repetition.by):
                continue
            name = text_of(store.target, store.holder)
            local = self._is_local(made, repetition.by)
            for item, view in found:
                if self.facts.flows.live(item.value) is not None:
                    continue  # its graph holds what it was computed with; that is another rule's to say
                if self._is_made_in_turn(view, repetition) and not self._is_kept_whole(view):
                    bounded = local and not self.gathering.is_over_data(repetition.by, view.base)
                    if bounded and (self._is_joined(made) or _is_first_row(view.part)):
                        continue
                    is_window = grows is None or is_put_anywhere
                    kept_in = _Holder(name, made.statement, repetition.by, is_window, bounded)
                    yield self._kept(store.statement, kept_in, item, view)

    def _view_in(self, store: Store, item: Use) -> View | None:
        return self.views.of(item.value) or self.chosen_rows.of(store, item.value)

    def handed_over(self) -> Iterator[KeptView]:
        """``firsts.put(hidden[:, 0])`` in a loop, of an object of another file that keeps it, or takes the part."""
        for kept in self._handed_over:
            told = None if _is_all_of_given(kept) else kept.keep.view
            for item in self._items(kept.given.value, kept.given.node):
                view = self.views.of(item.value) if told is None else self.views.taken_elsewhere(item.value, told)
                repetition = self._repetition(kept.call, view) if view is not None else None
                if view is None or repetition is None or self.facts.flows.live(item.value) is not None:
                    continue
                if not self._brings_data(repetition.by) or not self._is_made_in_turn(view, repetition):
                    continue
                if self._is_put_in_one_place(kept, repetition.by):
                    continue
                if not self._is_kept_whole(view) and kept.outlives(self.facts, self._brings_data):
                    holder = _Holder(kept.name, by=repetition.by)
                    found = self._kept(self.facts.statement_of(kept.call), holder, item, view)
                    yield found if told is None else replace(found, taken_by=kept.call)

    def _is_put_in_one_place(self, kept: KeptElsewhere, by: Loop | Function) -> bool:
        """Whether each turn puts it under the same key, where it replaces what was there."""
        key = kept.key(self.solution)
        if key is None or isinstance(by, Function):
            return kept.is_replaced(self.solution)
        return not is_computed_with(key, by)

    @cached_property
    def _handed_over(self) -> list[KeptElsewhere]:
        return [kept for kept in kept_elsewhere(self.facts) if kept.is_in_container(self.solution, or_view=True)]

    def _brings_data(self, by: Loop | Function) -> bool:
        return self.gathering.brings_data(by) or self.gathering.goes_over_disk(by)

    def _is_local(self, made: Value, by: Loop | Function) -> bool:
        """Whether a container is a variable of the function that fills it, and of no object."""
        homes = (place for place, values in self.solution.stored.items() if made in values)
        is_variable = all(isinstance(place.owner, Function) for place in homes)
        return (
            isinstance(by, Loop) and made.function is by.function and made.function.parent is not None and is_variable
        )

    def _is_joined(self, made: Value) -> bool:
        """Whether the function in which a list is made joins its items, and keeps or returns the list nowhere."""
        joins = (call for call in self.facts.steps.calls_in(made.function) if is_join(call))
        joined = any(made in allocations_of(self.solution, call.arguments[0]) for call in joins)
        return joined and not self._is_returned(made)

    def _is_returned(self, made: Value) -> bool:
        """Whether a list is what its function returns, or a part of that."""
        result = made.function.result
        return result is not None and any(
            value is made or (value.op is not Op.CONTAINER and made in allocations_of(self.solution, value))
            for value in held_in(result)
        )

    def _repetition(self, at: Value, view: View) -> Repetition | None:
        """What repeats the taking of views of a new base each time: not a loop over the rows, or the items, of one."""
        base = view.base
        found = self._any_repetition(at)
        iterable = found.by.iterable if found is not None and isinstance(found.by, Loop) else None
        over = iterated(iterable) if iterable is not None else []
        is_over_rows = any(base in (one, self.views.output_behind(one), self.views.base_of(one)) for one in over)
        is_over_rows |= found is not None and self._counts_rows(view, found.by)
        is_over_rows |= found is not None and view.part.op is Op.ELEMENT and view.part.loop is found.by
        is_over_rows |= found is not None and self.views.is_chosen(view) and _is_inside(found.by, base)
        return self._any_repetition(base) if is_over_rows else found

    def _any_repetition(self, at: Value) -> Repetition | None:
        """A loop, or the method that another file calls in one where nobody does here: ``catalog.add(row["path"])``."""
        found, method = self.gathering.any_repetition(at), at.function
        if found is not None:
            return found
        if method.owner is None or method.name == "__init__" or self.solution.callers.get(method):
            return None
        return Repetition(method, Turn.OTHER, (at,)) if self.facts.repeats(method.asked_as) else None

    def _counts_rows(self, view: View, by: Loop | Function) -> bool:
        """Whether a loop counts the rows of a base that is there before it: ``table[key] = hidden[i, 0]``."""
        indices = [*map(unpacked, self.solution.graph.indices.get(view.part, ())), *view.numbers]
        counts = any(index.op is Op.CONSTANT and index.loop is by for index in indices)
        return counts and (view.base.loop is None or by not in view.base.loop.around())

    def comprehended(self) -> Iterator[KeptView]:
        """``[net(x)[:, 0] for x in loader]``."""
        for value in self.facts.graph.of(Op.CONTAINER):
            if not isinstance(value.syntax, cst.ListComp) or value.statement is None:
                continue
            item = value.inputs[0]
            view = self.views.of(item)
            loop = item.loop
            if view is None or loop is None or loop is value.loop or not self.gathering.is_pass(loop):
                continue
            if not self._is_made_in_turn(view, Repetition(loop, Turn.OTHER, ())):
                continue
            if not self._is_kept_whole(view):
                bounded = not self.gathering.is_over_data(loop, view.base)
                if bounded and (self._is_joined(value) or _is_first_row(view.part)):
                    continue
                kept_in = _Holder(text_of(value.syntax, value), value.statement, loop, is_bounded=bounded)
                yield self._kept(value.statement, kept_in, Use(item, value.syntax.elt), view)

    def saved(self) -> Iterator[KeptView]:
        """``torch.save(table[:10], path)``: the file holds the whole table."""
        for call in self.facts.calls():
            if call.callee.name != "torch.save" or not call.arguments or call.statement is None:
                continue
            syntax = call.syntax.args[0].value if isinstance(call.syntax, cst.Call) else None
            for item in self._items(call.arguments[0], syntax):
                view = self.saved_views.of(item.value)
                if view is not None:
                    yield self._kept(call.statement, _Holder(), item, view)

    def _kept(self, statement: cst.CSTNode, holder: _Holder, item: Use, view: View) -> KeptView:
        written = self._is_written(view.base)
        kept = KeptView(statement, item, view.base, view.surely_smaller, written, holder.name, holder.made, holder.by)
        return replace(kept, is_window=holder.is_window, is_bounded=holder.is_bounded)

    def _items(self, value: Value, syntax: cst.CSTNode | None) -> list[Use]:
        """What is put in: the value itself, or what is in the tuple, the dict or the record that is written there.

        Or what is written so for each of those that a list is extended by, ``firsts += [(key, row[0]) for ...]``.
        """
        if (made := self._comprehension(value)) is not None and isinstance(made.syntax, cst.BaseSimpleComp):
            value, syntax = made.inputs[0], made.syntax.elt
        found, pending = [], [value]
        while pending:
            current = pending.pop(0)
            if current.op is Op.CONTAINER and isinstance(current.syntax, cst.Tuple | cst.Dict | cst.List):
                pending.extend(current.inputs)
            elif makes_record(self.facts, current):
                pending.extend(current.arguments)
            else:
                found.append(current)
        return parts(value, syntax, found)

    def _comprehension(self, value: Value) -> Value | None:
        """What computes each of those that a list is extended by, be it in a function of the file that returns them."""
        made = value.inputs[0] if value in self.views.spread else None
        functions = self.solution.functions_of(made) if made is not None and made.op is Op.CALL else []
        results = choices(functions[0].result) if len(functions) == 1 else [made] if made is not None else []
        one = results[0] if len(results) == 1 else None
        return one if one is not None and isinstance(one.syntax, cst.BaseSimpleComp) else None

    def _is_made_in_turn(self, view: View, repetition: Repetition) -> bool:
        """Whether each turn computes, or loads, a base of its own."""
        by, base = repetition.by, view.base
        if (
            base.op is Op.ELEMENT
            and isinstance(by, Loop)
            and self._is_item(base, by)
            and not self.gathering.is_pass(by)
        ):
            return False  # an item of a list, which keeps it anyway
        if base.op not in (Op.CALL, Op.OPERATION, Op.ELEMENT, Op.SUBSCRIPT):
            return False
        if base.loop is not None and isinstance(by, Loop) and base.function is by.function:
            return by in base.loop.around()
        return self.gathering.is_within(base.function, base.loop, repetition) or self._is_called_in_turn(
            view, repetition
        )

    def _is_item(self, base: Value, loop: Loop) -> bool:
        """Whether a value is what a loop runs over, or a part of that."""
        while base.op is Op.ELEMENT and base.inputs[0] is not loop.iterable:
            base = base.inputs[0]
        return base.op is Op.ELEMENT

    def _is_called_in_turn(self, view: View, repetition: Repetition) -> bool:
        """Whether a helper that is called in each turn computes the base."""
        callers = self.solution.callers.get(view.base.function, {})
        calls = callers if view.entered is None or view.entered not in callers else [view.entered]
        return bool(calls) and all(
            self.gathering.is_within(call.function, call.loop, repetition) for call in calls
        )  # fmt: skip

    def _is_kept_whole(self, view: View) -> bool:
        """Whether all of the base is kept anyway, by itself or part by part: how many there are is seldom known."""
        parts: set[tuple[str, tuple[int | str | None, ...]]] = set()
        put_in = [(store.value, store.syntax) for store in self._insertions]
        put_in += [(kept.given.value, kept.given.node) for kept in self._handed_over if _is_all_of_given(kept)]
        for item in (item for value, syntax in put_in for item in self._items(value, syntax)):
            if self.views.base_of(item.value) is not view.base:
                continue
            kept = self.views.of(item.value)
            if kept is None:
                return True
            parts.add((text_of(kept.part.syntax, kept.part), tuple(kept.part.keys)))
        return len(parts) > 1

    def _is_written(self, base: Value) -> bool:
        """Whether a base is changed in place."""
        in_place = any(
            user.op is Op.ATTRIBUTE and user.name.endswith("_") and not user.name.endswith("__") for user in base.users
        )
        return in_place or any(_changes(store, base) for store in self.facts.graph.stores)


def _is_all_of_given(kept: KeptElsewhere) -> bool:
    """Whether all of what is handed over is kept, be it row by row."""
    return kept.keep.view is None or kept.keep.view.is_row


def _is_first_row(part: Value) -> bool:
    """``x[:1]``, which is all of what one sample gives."""
    slices = index_of(part)
    first = slices[0] if slices else None
    return isinstance(first, cst.Slice) and first.lower is None and number_of(first.upper) == 1


def _is_of_one_batch(made: Value, by: Loop | Function) -> bool:
    """Whether a generator makes a container for each batch that it yields, and fills it in a loop of its own."""
    return made.loop is not None and made.loop is not by and made.loop in made.function.yielding_loops


def _is_inside(by: Loop | Function, base: Value) -> bool:
    """Whether a loop runs whole in the turn that makes a base: over the boxes that are found in one frame."""
    if not isinstance(by, Loop) or base.function is not by.function or base.loop is by:
        return False
    return base.loop is None or base.loop in by.around()


def _changes(store: Store, base: Value) -> bool:
    return store.holder is base and (store.is_item or store.kind is Kind.UPDATE)
