"""Exceptions that keep frames: work that is done again while one is handled, and exceptions that are stored.

An exception holds its traceback, the traceback the frames through which it came, and each frame its variables: the
activations of the step that failed. Until the handler ends, and for as long as the exception is kept, so are they.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.asking_back import AskingBack
from torchlint.facts.keeping.caught import Caught
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.keeping.tolerating import leavings, tried_in
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import Argument, ClassReference, Container, External, Instance, Plain, Tool
from torchlint.facts.values.framework_objects import contract_of
from torchlint.facts.values.frameworks import is_module, may_be_module
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.writing import text_of
from torchlint.frameworks import Holds
from torchlint.syntax.tree import dotted, walk, walk_scope, walk_statements

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 4
"""How many calls deep a module is looked for."""

OUT_OF_MEMORY = ("OutOfMemoryError", "MemoryError")
"""How the exceptions are called that say so."""

PARTING = frozenset(["chunk", "split", "narrow", "tensor_split", "unbind"])
"""Methods that take a batch apart."""

BROAD = ("RuntimeError", "Exception", "BaseException")
"""Exceptions that out of memory is one of."""


@dataclass(frozen=True)
class Retry:
    """Work that failed and is done again inside the handler.

    Attributes:
        call: what does it again.
        handler: the handler.
        tried: what failed.
    """

    call: Value
    handler: cst.ExceptHandler
    tried: Value


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


class Handling:
    """Looks at the ``try`` statements of one file."""

    def __init__(self, facts: Facts) -> None:
        """Prepare to look up calls by where they are written."""
        self.facts = facts
        self.solution = facts.solution
        self.steps = facts.steps
        self.holders = Holders(facts)
        self.caught = Caught(facts, self.holders)
        self.asking = AskingBack(facts)

    @cached_property
    def _calls(self) -> dict[cst.CSTNode, Value]:
        return {call.syntax: call for call in self.facts.calls() if call.syntax is not None}

    def _calls_under(self, node: cst.CSTNode) -> Iterator[Value]:
        """The calls that are made where ``node`` runs, not in functions that it defines."""
        for inner in walk_scope(node):
            if inner in self._calls:
                yield self._calls[inner]

    @cached_property
    def _tries(self) -> list[cst.Try]:
        return [node for node in walk_statements(self.facts.module) if type(node) is cst.Try]

    # -- work that is done again ----------------------------------------------------------------------------------

    def retries(self) -> list[Retry]:
        """Each handler of out of memory in which the work that failed is done again."""
        found = []
        for node in self._tries:
            tried = [(call, reached) for call in self._calls_under(node.body) if (reached := self._works(call))]
            for handler in node.handlers:
                if self._clears_frames(handler) or not self._may_catch_out_of_memory(handler):
                    continue
                means_it = self._catches_out_of_memory(handler)
                retry = self._retry(handler, tried)
                if retry is None and means_it:
                    retry = self._same_again(node, handler)
                if retry is not None and (means_it or self._takes_less(retry.call)):
                    found.append(retry)
        return found

    def _takes_less(self, call: Value) -> bool:
        """Whether a call is given a part of something: a slice, or one of the chunks of a batch."""
        for value in (part for argument in call.arguments for part in argument.computed_from()):
            if value.op is Op.SUBSCRIPT and isinstance(value.syntax, cst.Subscript):
                if isinstance(value.syntax.slice[0].slice, cst.Slice):
                    return True
            if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in PARTING:
                return True
        return False

    def _same_again(self, node: cst.Try, handler: cst.ExceptHandler) -> Retry | None:
        """What is called by the same name in a handler of out of memory, or the function itself, which tries again."""
        tried = [call for call in self._calls_under(node.body) if self._is_unknown_work(call)]
        for again in self._calls_under(handler.body):
            if tried and again.arguments and again.function in self.solution.functions_of(again):
                return Retry(again, handler, tried[0])
            if self._is_unknown_work(again):
                for call in tried:
                    if path_of_call(call) == path_of_call(again):
                        return Retry(again, handler, call)
        return None

    def _is_unknown_work(self, call: Value, depth: int = DEPTH) -> bool:
        """Whether an object of unknown type is called, or a method of one, with something, for its result.

        A function of the file works as little as what it calls: it may only choose a smaller batch.
        """
        functions = self.solution.functions_of(call)
        inside = (inner for function in functions for inner in self.steps.calls_in(function))
        runs = any(function in self.solution.graph.foreign.running for function in functions)
        if functions and not runs and not (depth and any(self._is_unknown_work(one, depth - 1) for one in inside)):
            return False
        if call.is_bare or not call.arguments or path_of_call(call) is None or call.callee.op is Op.EXTERNAL:
            return False
        callee = call.callee
        subject = callee.inputs[0] if callee.op is Op.ATTRIBUTE else callee
        known = Plain | Tool | External | Container | ClassReference
        return not self.solution.may_be(subject, known)

    def _retry(self, handler: cst.ExceptHandler, tried: list[tuple[Value, set[object]]]) -> Retry | None:
        for again in self._calls_under(handler.body):
            works = self._works(again)
            for call, reached in tried:
                if works & reached:
                    return Retry(again, handler, call)
        return None

    def _works(self, call: Value) -> set[object]:
        """The modules and functions that a call runs, where it computes with tensors; empty for any other call."""
        reached = self._reached(call, DEPTH, set())
        if any(not isinstance(one, Function) for one in reached):
            return reached
        return reached if any(map(self._is_computed_with, call.arguments)) else set()

    def _is_computed_with(self, argument: Value) -> bool:
        """Whether an argument is or holds tensors; a trainer does, too, but whoever is given it may ask it anything."""
        atoms = self.solution.final(argument)
        objects = [atom for atom in atoms if isinstance(atom, Instance) and not is_module(atom)]
        is_object = bool(objects) and all(atom in objects or isinstance(atom, Argument) for atom in atoms)
        return not is_object and self.facts.tensors.holds_tensors(argument)

    def _reached(self, call: Value, depth: int, seen: set[Function]) -> set[object]:
        found: set[object] = set()
        if self._runs_module(call):
            found |= self.holders.objects(call.callee)
        elif self._may_compute(call):
            found.add(call.callee)
        for function in self.solution.functions_of(call):
            if function in seen or function.name == "__init__":
                continue
            seen.add(function)
            found.add(function)
            if function in self.solution.graph.foreign.running:
                found.add(function.name)
            if depth > 0:
                for inner in self.steps.calls_in(function):
                    found |= self._reached(inner, depth - 1, seen)
        return found

    def _runs_module(self, call: Value) -> bool:
        callee = call.callee
        if callee.op is Op.ATTRIBUTE and callee.name in ("forward", "__call__", "generate"):
            callee = callee.inputs[0]
        if contract_of(self.solution, call, Holds.GUARDED) is not None:
            return True  # a pipeline
        return may_be_module(self.solution, callee)

    def _may_compute(self, call: Value) -> bool:
        """Whether code that is not seen gets tensors: by what is handed in, ``run(x)``, or beside a network to run."""
        given = call.arguments
        if call.callee.op is not Op.PARAMETER:
            given = tuple(one for one in given if not self.facts.tensors.is_module(one))
            if len(given) == len(call.arguments) or self.solution.functions_of(call):
                return False
        return any(map(self.facts.tensors.holds_tensors, given))

    def _may_catch_out_of_memory(self, handler: cst.ExceptHandler) -> bool:
        """Whether out of memory is among what a handler catches."""
        return bool(_caught(handler) & {"", *BROAD, *OUT_OF_MEMORY})

    def _catches_out_of_memory(self, handler: cst.ExceptHandler) -> bool:
        """Whether a handler catches out of memory, and says that it means it."""
        return bool(_caught(handler) & set(OUT_OF_MEMORY)) or self._means_memory(handler)

    def _means_memory(self, handler: cst.ExceptHandler) -> bool:
        for node in walk_scope(handler.body):
            if isinstance(node, cst.SimpleString) and "memory" in node.value.lower():
                return True
        return any(map(self._tidies, self._calls_under(handler.body)))

    def _tidies(self, call: Value) -> bool:
        """Whether a CALL collects garbage or empties the cache, by itself or by a function, be it of another file."""
        return self.asking.is_asked_by(call) or call in self._tidying

    @cached_property
    def _tidying(self) -> frozenset[Value]:
        return frozenset(effect.call for effect in self.facts.effects.of(EffectKind.TIDIES))

    def _clears_frames(self, handler: cst.ExceptHandler | cst.FunctionDef) -> bool:
        """Whether a handler drops the traceback, or the variables of its frames."""
        for node in walk_scope(handler.body):
            if isinstance(node, cst.Call) and (dotted(node.func) or "").endswith(("clear_frames", "with_traceback")):
                return True
            if isinstance(node, cst.AssignTarget) and (dotted(node.target) or "").endswith("__traceback__"):
                return True
        return False

    # -- exceptions that are kept ---------------------------------------------------------------------------------

    def kept(self) -> list[KeptException]:
        """Each place where an exception of failed work is stored."""
        found = [kept for store in self.facts.graph.stores if (kept := self._of_store(store)) is not None]
        found += [kept for node in self._tries for kept in self._of_variables(node)]
        found += [kept for one in kept_elsewhere(self.facts) if (kept := self._handed_over(one)) is not None]
        return list({kept.statement: kept for kept in reversed(found)}.values())

    def _of_store(self, store: Store) -> KeptException | None:
        if store.function.name == "__init__":
            return None  # who keeps the object that is made is asked instead
        handler = self.caught.handler_of(store.value)
        if handler is None or self._clears_frames(handler):
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
        tried = self._tried(handler) if handler is not None and not self._clears_frames(handler) else None
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
            if not isinstance(caught, cst.Name) or self._clears_frames(handler):
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
        """The call that failed, where its frames hold tensors."""
        calls = (call for body in tried_in(self.facts, handler) for call in self._calls_under(body))
        return next((call for call in calls if self._works(call)), None)


def _caught(handler: cst.ExceptHandler) -> set[str]:
    """The last names of the exceptions that a handler catches; "" where it catches all."""
    if handler.type is None:
        return {""}
    return {(dotted(node) or "").rpartition(".")[2] for node in walk(handler.type)} - {""}


def path_of_call(call: Value) -> str | None:
    """What a call calls, where it is written as a chain of names: ``self.task.valid_step``."""
    return dotted(call.syntax.func) if isinstance(call.syntax, cst.Call) else None


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
