"""Exceptions that are stored, with the frames of what failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.caught import Caught
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.keeping.tolerating import leavings, tried_in
from torchlint.facts.keeping.tried_work import TriedWork
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.writing import text_of
from torchlint.syntax.tree import walk, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

OF_MEMORY = ("torch.cuda.empty_cache", "torch.cuda.reset_peak", "torch.cuda.max_memory", "torch.cuda.memory_")
"""How functions of torch begin that ask for the memory of a GPU, or give it back.

https://docs.pytorch.org/docs/stable/cuda.html#memory-management
"""


@dataclass(frozen=True)
class KeptException:
    """An exception that is stored with its traceback.

    Attributes:
        statement: where it is kept.
        name: what keeps it.
        tried: what failed: its frames are kept.
        handler: where it is caught, or the ``__exit__`` that is told of it.
        piles_up: True when one more is kept with each turn.
        is_variable: True for a variable that lives on into the next turn only.
    """

    statement: cst.CSTNode
    name: str
    tried: Value
    handler: cst.ExceptHandler | cst.FunctionDef
    piles_up: bool
    is_variable: bool = False


class KeptExceptions:
    """Finds them in one file."""

    def __init__(self, facts: Facts, work: TriedWork) -> None:
        """Ask ``work`` what computes with tensors."""
        self.facts, self.work = facts, work
        self.solution = facts.solution
        self.holders = work.holders
        self.caught = Caught(facts, work.holders)

    def found(self) -> list[KeptException]:
        """Each place where an exception of failed work is stored."""
        found = [kept for store in self.facts.graph.stores if (kept := self._of_store(store)) is not None]
        found += [kept for node in self.work.tries for kept in self._of_variables(node)]
        found += [kept for one in kept_elsewhere(self.facts) if (kept := self._handed_over(one)) is not None]
        return list({kept.statement: kept for kept in reversed(found)}.values())

    def _of_store(self, store: Store) -> KeptException | None:
        if store.function.name == "__init__":
            return None  # who keeps the object that is made is asked instead
        handler = self.caught.handler_of(store.value)
        if handler is None or self.work.clears_frames(handler):
            return None
        tried = self._tried(handler)
        if tried is None:
            return None
        by = self.facts.novelty.repeats_at(store.function, store.loop)
        if isinstance(handler, cst.FunctionDef) and (by is None or self._is_of_turn(store, handler, by)):
            return None
        if store.kind is Kind.INSERT and store.holder is not None:
            homes = homes_of(self.solution, store.holder)[1:]
            if not homes or self._is_emptied(homes) or self._is_short_lived(homes, store, by):
                return None
            if store.is_item and self._is_for_results(homes, store):
                return None
            name = text_of(store.target, store.holder)
            overwrites = store.is_item and (store.key is not None or store.index is None)
            return KeptException(store.statement, name, tried, handler, by is not None and not overwrites)
        if store.kind is Kind.ASSIGN and (store.attribute or self._is_global(store)) and store.target is not None:
            return KeptException(store.statement, text_of(store.target, store.value), tried, handler, False)
        return None

    def _is_of_turn(self, store: Store, exiting: cst.FunctionDef, by: Loop | Function) -> bool:
        """Whether each turn has a manager of its own, with what an ``__exit__`` keeps of the exception."""
        if store.kind is Kind.INSERT and store.holder is not None:
            made = [home for home in homes_of(self.solution, store.holder) if isinstance(home, Value)]
            kept = [home for home in made if home.op in (Op.CONTAINER, Op.CALL)]
        else:
            managers = [call.callee.inputs[0] for call in leavings(self.facts, exiting)]
            kept = [one for manager in managers for one in self.holders.objects(manager) if one.op is Op.CALL]
        return any(self.facts.novelty.is_made_by(one, by) for one in kept)

    def _handed_over(self, kept: KeptElsewhere) -> KeptException | None:
        """``self.journal.note(error)``: what an object of another file adds to what it keeps."""
        if not kept.keep.grows or kept.keep.bounded or kept.keep.is_computed:
            return None
        handler = self.caught.handler_of(kept.given.value)
        tried = self._tried(handler) if handler is not None and not self.work.clears_frames(handler) else None
        by = self.facts.novelty.repeats_at(kept.call.function, kept.call.loop)
        if handler is None or tried is None or by is None:
            return None
        return KeptException(self.facts.statement_of(kept.call), kept.name, tried, handler, piles_up=True)

    def _is_global(self, store: Store) -> bool:
        """Whether a function assigns a global."""
        owner = store.place.owner if store.place is not None else None
        return owner is self.facts.graph.module and store.function is not owner

    def _is_emptied(self, homes: list[Place | Value]) -> bool:
        return any(set(homes) & set(homes_of(self.solution, reset.holder)) for reset in self.facts.graph.resets)

    def _is_short_lived(self, homes: list[Place | Value], store: Store, by: Loop | Function | None) -> bool:
        """Whether a container ends with the turn, or with the function that fills it once."""
        made = [home for home in homes if isinstance(home, Value)]
        places = [home for home in homes if isinstance(home, Place)]
        if any(not isinstance(place.owner, Function) or place.owner is self.facts.graph.module for place in places):
            return False
        if places and by is None:
            return True  # a variable that an inner function captures: it ends with the outer one
        if isinstance(by, Loop):
            return any(one.loop is not None and by in one.loop.around() for one in made)
        return by is None and any(one.function is store.function for one in made)

    def _is_for_results(self, homes: list[Place | Value], store: Store) -> bool:
        """Whether a variable of the function around takes results of workers as well, ``results[i] = output``.

        Who waits for them raises the exception that is among them.
        """
        owners = {home.owner for home in homes if isinstance(home, Place)}
        if not owners or not all(isinstance(one, Function) and one.parent is not None for one in owners):
            return False
        beside = (one for one in self.facts.graph.stores if one.function is store.function and one.is_item)
        return any(
            one.holder is not None
            and not set(homes).isdisjoint(homes_of(self.solution, one.holder))
            and self.caught.handler_of(one.value) is None
            for one in beside
        )

    def _of_variables(self, node: cst.Try) -> Iterator[KeptException]:
        """``last = error`` in a loop that tries again: the frames of one attempt live through the next."""
        loop = self._loop_around(node)
        if loop is None:
            return
        for handler in node.handlers:
            caught = handler.name.name if handler.name is not None else None
            if not isinstance(caught, cst.Name) or self.work.clears_frames(handler):
                continue
            for line in walk_scope(handler.body):
                if not isinstance(line, cst.SimpleStatementLine):
                    continue
                for small in line.body:
                    name = _renamed(small, caught.value)
                    tried = self._tried(handler) if name is not None else None
                    if name is not None and tried is not None and not self._is_dropped(name, loop):
                        yield KeptException(line, name, tried, handler, False, is_variable=True)

    def _loop_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        current = self.facts.parents.get(node)
        while current is not None and not isinstance(current, cst.FunctionDef | cst.ClassDef):
            if isinstance(current, cst.For | cst.While):
                return current
            current = self.facts.parents.get(current)
        return None

    def _is_dropped(self, name: str, loop: cst.CSTNode) -> bool:
        inside = set(walk(loop))
        if any(drop.path == name and drop.statement in inside for drop in self.facts.graph.drops):
            return True
        return any(isinstance(node, cst.Assign) and _is_cleared(node, name) for node in inside)

    def _tried(self, handler: cst.ExceptHandler | cst.FunctionDef) -> Value | None:
        """The call that failed, where its frames hold tensors: that of a function that looks at GPU memory may."""
        calls = [call for body in tried_in(self.facts, handler) for call in self.work.calls_under(body)]
        known = next((call for call in calls if self.work.works(call)), None)
        minding = (call for call in calls if self._minds_memory(call))
        return known or next((call for call in minding if self.work.is_unknown_work(call, may_be_bare=True)), None)

    def _minds_memory(self, tried: Value) -> bool:
        """Whether the function of a call asks for the memory of a GPU, or gives it back."""
        return any(call.callee.name.startswith(OF_MEMORY) for call in self.work.steps.calls_in(tried.function))


def _is_cleared(node: cst.Assign, name: str) -> bool:
    """``name = None``."""
    is_none = isinstance(node.value, cst.Name) and node.value.value == "None"
    return is_none and any(isinstance(t.target, cst.Name) and t.target.value == name for t in node.targets)


def _renamed(small: cst.CSTNode, caught: str) -> str | None:
    """The variable to which a statement binds the exception."""
    if isinstance(small, cst.Assign) and isinstance(small.value, cst.Name) and small.value.value == caught:
        target = small.targets[0].target
        return target.value if isinstance(target, cst.Name) else None
    return None
