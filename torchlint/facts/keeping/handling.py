"""Work that failed and is done again while its exception is handled.

An exception holds its traceback, the traceback the frames through which it came, and each frame its variables: the
activations of the step that failed. Until the handler ends, so are they.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.asking_back import AskingBack
from torchlint.facts.keeping.tried_work import TriedWork, path_of_call
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.graph import Op, Value
from torchlint.syntax.tree import dotted, walk, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

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


class Handling:
    """Looks at the handlers of one file."""

    def __init__(self, facts: Facts, work: TriedWork) -> None:
        """Ask ``work`` what computes with tensors."""
        self.facts, self.work = facts, work
        self.solution = facts.solution
        self.asking = AskingBack(facts)

    def retries(self) -> list[Retry]:
        """Each handler of out of memory in which the work that failed is done again."""
        found = []
        for node in self.work.tries:
            tried = [(call, reached) for call in self.work.calls_under(node.body) if (reached := self.work.works(call))]
            for handler in node.handlers:
                if self.work.clears_frames(handler) or not self._may_catch_out_of_memory(handler):
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
        tried = [call for call in self.work.calls_under(node.body) if self.work.is_unknown_work(call)]
        for again in self.work.calls_under(handler.body):
            if tried and again.arguments and again.function in self.solution.functions_of(again):
                return Retry(again, handler, tried[0])
            if self.work.is_unknown_work(again):
                for call in tried:
                    if path_of_call(call) == path_of_call(again):
                        return Retry(again, handler, call)
        return None

    def _retry(self, handler: cst.ExceptHandler, tried: list[tuple[Value, set[object]]]) -> Retry | None:
        for again in self.work.calls_under(handler.body):
            works = self.work.works(again)
            for call, reached in tried:
                if works & reached:
                    return Retry(again, handler, call)
        return None

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
        return any(map(self._tidies, self.work.calls_under(handler.body)))

    def _tidies(self, call: Value) -> bool:
        """Whether a CALL collects garbage or empties the cache, by itself or by a function, be it of another file."""
        return self.asking.is_asked_by(call) or call in self._tidying

    @cached_property
    def _tidying(self) -> frozenset[Value]:
        return frozenset(effect.call for effect in self.facts.effects.of(EffectKind.TIDIES))


def _caught(handler: cst.ExceptHandler) -> set[str]:
    """The last names of the exceptions that a handler catches; "" where it catches all."""
    if handler.type is None:
        return {""}
    return {(dotted(node) or "").rpartition(".")[2] for node in walk(handler.type)} - {""}
