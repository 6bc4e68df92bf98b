"""Snapshots: copies of a model or of its state that a container collects from turn to turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.insertions import Insertion, Insertions
from torchlint.facts.keeping.copies import STATES, Copies, is_made_beside
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.summaries.summary import method_in
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.collecting import collected_by
from torchlint.facts.values.graph import Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.writing import Use, text_of
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Snapshot:
    """A copy that goes into a container which outlives a turn.

    Attributes:
        insertion: what takes it.
        copy: the CALL (or the comprehension) that makes the copy.
        subject: of what, as the program writes it; "" where that is not written there.
        is_supposed: nobody is seen to run this more than once.
        copied_by: the function of another file that makes the copy, in words; "" for a copy that is made here.
        kept_at: where an object of another file gets what calls the method that makes the copy; None where it is given
            the copy.
    """

    insertion: Insertion
    copy: Value
    subject: str
    is_supposed: bool = False
    copied_by: str = ""
    kept_at: cst.CSTNode | None = None


def snapshots(facts: Facts) -> list[Snapshot]:
    """Every collection of copies, in source order."""
    search = _Search(facts)
    found = [one for store in facts.graph.stores if (one := search.of(store)) is not None]
    found += [one for call in facts.calls() if (one := search.of_generator(call)) is not None]
    found += [one for made in facts.graph.of(Op.CONTAINER) if (one := search.of_comprehension(made)) is not None]
    handed_over = [one for kept in kept_elsewhere(facts) if (one := search.handed_over(kept)) is not None]
    # A copy that a method makes is one copy, however many calls hand its object over.
    single = {(one.copy, one.insertion.name): one for one in handed_over if one.kept_at is not None}
    return [*found, *(one for one in handed_over if one.kept_at is None), *single.values()]


def _is_turn(facts: Facts, loop: Loop) -> bool:
    """Whether each turn of a loop is a step, or an epoch or a trial of which helpers run the steps."""
    return facts.steps.is_step(loop) or facts.repetitions.turn(loop) is Turn.HOLDS


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.copies = Copies(facts)
        # A method of this object would hold it and all facts in a circle, for the garbage collector to find.
        self.insertions = Insertions(facts.lifetimes, partial(_is_turn, facts))

    def of(self, store: Store) -> Snapshot | None:
        """What ``store`` collects, None where that is no copy or goes away again."""
        if store.kind is not Kind.INSERT or self.flows.live_parts(store.value):
            return None  # with a graph on it, that is what has to be said first
        copy = self.copies.of(store.value)
        if copy is None or not self._is_new(store):
            return None
        seen = self.insertions.of_store(store, [store.value])
        insertion = seen or self.insertions.of_unseen_callers(store, [store.value])
        if insertion is None or insertion.bounded or is_cut(store) or self._is_of_round(insertion):
            return None
        return Snapshot(insertion, copy, self._subject(copy), is_supposed=seen is None)

    def of_generator(self, call: Value) -> Snapshot | None:
        """What a list collects of all that a generator yields: ``list(train(net, loader))``."""
        for yielded in collected_by(self.solution, call) if not self._is_in_turn(call) else ():
            copy = self.copies.of(yielded) if self.insertions.is_yielded_in_step(yielded) else None
            if copy is None or self.flows.live_parts(yielded):
                continue
            insertion = self.insertions.of_generator(call, [copy])
            if insertion is not None and not insertion.bounded and not self._is_of_round(insertion):
                return Snapshot(insertion, copy, self._subject(copy))
        return None

    def _is_in_turn(self, made: Value) -> bool:
        """Whether a list is another one in each turn of a training: what one round needs is gone in the next."""
        around = made.loop.around() if made.loop is not None else ()
        return any(_is_turn(self.facts, loop) for loop in around)

    def of_comprehension(self, made: Value) -> Snapshot | None:
        """``[freeze(net) for _ in train(net, loader)]``, ``{epoch: train(net) for epoch in range(epochs)}``"""
        item = made.inputs[0] if isinstance(made.syntax, cst.ListComp | cst.DictComp) else None
        if item is None or made.statement is None or item.loop is None or item.loop is made.loop:
            return None
        if not _is_turn(self.facts, item.loop) or self.flows.live_parts(item) or self._is_in_turn(made):
            return None
        copy = self.copies.of(item)
        insertion = Insertion(made.statement, made, (Use(item, None),), text_of(made.syntax, made), made, bounded=False)
        return None if copy is None or self._is_of_round(insertion) else Snapshot(insertion, copy, self._subject(copy))

    def handed_over(self, kept: KeptElsewhere) -> Snapshot | None:
        """What an object of another file collects of what it is given: ``log.note(copy.deepcopy(model))``."""
        value, call = kept.given.value, kept.call
        if kept.keep.is_copied:
            return self._copied_there(kept)
        if not kept.is_in_container(self.solution) or self.flows.live_parts(value):
            return None
        is_result = bool(method_in(kept.keep.of))
        copy = self.copies.of(value) if is_result or call.loop is None or is_made_beside(value, call) else None
        if copy is None or not kept.outlives(self.facts, self.insertions.is_step):
            return None
        if is_result and (copy.function is not value.function or kept.keep.keyed):
            return None  # who else has it is not seen, nor whether the key comes again
        insertion = self._by_call(kept)
        if not is_result:
            return Snapshot(insertion, copy, self._subject(copy))
        # Where the object is handed over nothing is said of a copy.
        made_at, owner = self.facts.statement_of(copy), kept.function.owner
        name = f"{owner.name}.{kept.keep.attribute}" if owner is not None else kept.name
        there = replace(insertion, statement=made_at, name=name)
        return Snapshot(there, copy, self._subject(copy), kept_at=insertion.statement)

    def _copied_there(self, kept: KeptElsewhere) -> Snapshot | None:
        """What an object of another file copies and collects: ``selection.after_epoch(net, score)``."""
        keep, node = kept.keep, kept.given.node
        # Under a key a copy replaces the last one of that name, if names come again: that is not seen from here.
        if keep.keyed or not kept.collects(self.solution) or not self.copies.may_be_copied(kept.given.value):
            return None
        if not kept.outlives(self.facts, self.insertions.is_step):
            return None
        name = self.facts.shortly(node) if node is not None else ""
        file = self.solution.graph.foreign.files[kept.function]
        return Snapshot(self._by_call(kept), kept.call, name, copied_by=f"`{kept.function.name}` in {file}")

    def _by_call(self, kept: KeptElsewhere) -> Insertion:
        statement, holder = self.facts.statement_of(kept.call), kept.holder or kept.call
        return Insertion(statement, holder, (kept.given,), kept.name, allocation=None, bounded=False)

    def _is_new(self, store: Store) -> bool:
        """Whether what goes in is made in the same turn, and is not one object again and again."""
        return store.loop is None or is_made_beside(store.value, store)

    def _is_of_round(self, insertion: Insertion) -> bool:
        """Whether each round of a training makes the container anew, fills it, and then goes through all of it."""
        made = insertion.allocation
        outermost = list(ends([made], self._holding)) if made is not None else []
        return bool(outermost) and all(map(self._is_gone_through, outermost))

    def _holding(self, made: Value) -> list[Value]:
        """The containers into which another one is put."""
        return [
            one
            for store in self.facts.graph.stores
            if store.kind is Kind.INSERT and store.holder is not None and store.value is made
            for one in allocations_of(self.solution, store.holder)
        ]

    def _is_gone_through(self, made: Value) -> bool:
        """Whether a turn of the loop in which a container is made takes up every item of it."""
        around = made.loop
        if around is None or not _is_turn(self.facts, around):
            return False
        inside = (loop for loop in self.facts.graph.loops if loop is not around and around in loop.around())
        if any(loop.iterable is not None and made in loop.iterable.computed_from() for loop in inside):
            return True
        calls = (call for call in self.facts.calls() if call.loop is not None and around in call.loop.around())
        return any(made in call.arguments and bool(self.solution.functions_of(call)) for call in calls)

    def _subject(self, copy: Value) -> str:
        """``model`` of ``copy.deepcopy(model.state_dict())``, ``trainer.snapshot()`` of what a function gives."""
        if not isinstance(copy.syntax, cst.Call) or not copy.syntax.args:
            return ""
        node = written = copy.syntax.args[0].value
        while isinstance(node, cst.Call | cst.Attribute) and dotted(node) is None:
            node = node.func if isinstance(node, cst.Call) else node.value
        owner, _, last = (dotted(node) or "").rpartition(".")
        if last in STATES:
            return owner
        is_given = isinstance(written, cst.Call) and written.func is node and any(map(self._gives, copy.arguments[:1]))
        return self.facts.shortly(written) if is_given else dotted(node) or ""

    def _gives(self, value: Value) -> bool:
        """Whether a value is what a function of the file gives."""
        return bool(self.solution.functions_of(value))


def is_cut(store: Store) -> bool:
    """``kept = sorted(kept)[:5]``, ``kept.remove(worst)``, ``heappop(kept)`` anywhere beside a store: a window."""
    name = dotted(store.target)
    return name is not None and any(_cuts(node, name) for node in walk(store.function.syntax))


def _cuts(node: cst.CSTNode, name: str) -> bool:
    """Whether one statement or call takes something out of the container called ``name``."""
    if isinstance(node, cst.Assign):
        value = node.value
        is_slice = isinstance(value, cst.Subscript) and isinstance(value.slice[0].slice, cst.Slice)
        is_same = any(dotted(target.target) == name for target in node.targets)
        return is_slice and is_same and any(dotted(part) == name for part in walk(value))
    if not isinstance(node, cst.Call):
        return False
    owner, _, last = (dotted(node.func) or "").rpartition(".")
    if last in ("heappop", "heappushpop", "heapreplace"):
        return bool(node.args) and dotted(node.args[0].value) == name
    return owner == name and last in ("remove", "discard")
