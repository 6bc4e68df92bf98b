"""Where an exception was caught that a value is, or holds: followed through functions, objects and tuples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.stripping import replaced_at_once, stripped
from torchlint.facts.keeping.tolerating import told_by
from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 4
"""Through how many functions an exception is followed, and how many callers up a handler is looked for."""


class Caught:
    """Answers it for the exceptions of one file."""

    def __init__(self, facts: Facts, holders: Holders) -> None:
        """Work on ``facts``; ``holders`` says of which objects something is a part."""
        self.facts, self.solution = facts, facts.solution
        self.holders = holders
        self._stored: dict[Function, frozenset[Value]] = {}
        self._kept: dict[Function, frozenset[Value]] = {}

    def handler_of(self, value: Value) -> cst.ExceptHandler | cst.FunctionDef | None:
        """The handler whose exception ``value`` is, or holds, or the ``__exit__`` that is told of it.

        None where it is none that is seen to be caught.
        """
        return self._handler_of(value, DEPTH, set())

    def _handler_of(self, value: Value, depth: int, seen: set[Value]) -> cst.ExceptHandler | cst.FunctionDef | None:
        if value in seen or depth == 0:
            return None
        seen.add(value)
        if (told := told_by(self.facts, value)) is not None:
            return told
        if value.op is Op.UNKNOWN and isinstance(value.syntax, cst.AsName):
            handler = self.facts.parents.get(value.syntax)
            return handler if isinstance(handler, cst.ExceptHandler) else None
        if value.op is Op.CALL and value.callee.name in ("sys.exc_info", "sys.exception"):
            return self._handler_around(value)
        for source in self._sources(value):
            found = self._handler_of(source, depth - (source.function is not value.function), seen)
            if found is not None:
                return found
        return None

    def _sources(self, value: Value) -> list[Value]:
        """What ``value`` may be the same as, or hold."""
        if value.op in (Op.PHI, Op.CONTAINER):
            return list(value.inputs)
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        if value.op is Op.READ or (value.op is Op.ATTRIBUTE and value.name != "__traceback__"):
            return stored_at(self.solution, value)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return self._parts(value)
        if value.op is Op.ATTRIBUTE:
            return [value.inputs[0]]
        if value.op is Op.CALL:
            results = [f.result for f in self.solution.functions_of(value) if f.result is not None]
            return [*results, *self._kept_by_object(value)]
        return []

    def _kept_by_object(self, call: Value) -> list[Value]:
        """What an object of a class of the project keeps of that with which it is made; without ``__init__`` all."""
        kept: list[Value] = []
        for atom in self.solution.final(call.callee):
            if not isinstance(atom, ClassReference):
                continue
            made_by = atom.cls.method("__init__")
            if made_by is None:
                kept += call.arguments
                continue
            binding = self.solution.callers.get(made_by, {}).get(call, {})
            stored = self._stored_by(made_by) - self._stripped
            kept += [given for parameter, given in binding.items() if given is not None and parameter in stored]
        return kept

    def _stored_by(self, initializer: Function) -> frozenset[Value]:
        """The parameters that an initializer, or one of a base, keeps on its object as they are."""
        if initializer not in self._stored:
            self._stored[initializer] = frozenset(
                parameter
                for parameter in initializer.parameters
                if any(one in self._kept_in(one.function) for one in reached([parameter], self._given_to_bases))
            )
        return self._stored[initializer]

    def _kept_in(self, initializer: Function) -> frozenset[Value]:
        """What the body of an initializer keeps on its object as it is."""
        if initializer not in self._kept:
            graph, replaced = self.facts.graph, replaced_at_once(self.facts.graph, initializer)
            keeps = graph.foreign.keeps.get(initializer, ())
            whole = (k for k in keeps if k.into == 0 and k.is_shared and not k.of and k.only_if in (-1, k.position))
            stores = (one for one in graph.stores if one.function is initializer and one.attribute)
            self._kept[initializer] = frozenset(
                (initializer.parameters[keep.position] for keep in whole)
                if initializer.is_foreign
                else (one.value for one in stores if one.attribute not in replaced)
            )
        return self._kept[initializer]

    def _given_to_bases(self, parameter: Value) -> Iterator[Value]:
        """The parameters of initializers of bases to which an initializer gives one of its own."""
        for call in self.facts.steps.calls_in(parameter.function):
            for base in self.solution.functions_of(call) if call.callee.name == "__init__" else ():
                yield from (one for one, given in self.solution.callers[base][call].items() if given is parameter)

    @cached_property
    def _stripped(self) -> frozenset[Value]:
        return stripped(self.facts)

    def _parts(self, value: Value) -> list[Value]:
        """The part of a tuple that is unpacked, also of one that a function of the file returns."""
        key, found = value.keys[0], []
        for whole in self.holders.objects(value.inputs[0]):
            results = [f.result for f in self.solution.functions_of(whole) if f.result is not None]
            for choice in [whole, *(c for result in results for c in result.inputs)]:
                if choice.op is Op.CONTAINER and key in choice.keys:
                    found.append(choice.inputs[choice.keys.index(key)])
                elif choice.op is Op.CALL and choice.callee.name == "sys.exc_info":
                    found.append(choice)
        return found

    def _handler_around(self, value: Value, depth: int = DEPTH) -> cst.ExceptHandler | None:
        """The handler in which a value is asked for, or in which the function that asks for it is called."""
        node = value.syntax
        while node is not None and not isinstance(node, cst.FunctionDef):
            if isinstance(node, cst.ExceptHandler):
                return node
            node = self.facts.parents.get(node)
        callers = list(self.solution.callers.get(value.function, ())) if depth else []
        handlers = [self._handler_around(caller, depth - 1) for caller in callers]
        return handlers[0] if len(handlers) == 1 else None
