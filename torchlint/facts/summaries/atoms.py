"""From the parts of a summary's shapes to atoms of the abstract domain: what a value of another file is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.summaries.parts import FROZEN, OLDER, Part, PartKind, Shape
from torchlint.facts.summaries.summary import FunctionSummary
from torchlint.facts.summaries.units import Unit
from torchlint.facts.values.domain import (
    Argument,
    Atom,
    ClassReference,
    Container,
    Derived,
    Differentiable,
    External,
    FunctionReference,
    History,
    Instance,
    Module,
    Plain,
    Tensor,
    Tool,
    Unknown,
)
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Class, Function, Key, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.summaries.linking import Linker

SYMBOLIC = (PartKind.GIVEN, PartKind.COMPUTED, PartKind.RESULT, PartKind.SUMMED, PartKind.OWN)
"""Parts that say how a result comes from what a function is given, or from what it calls."""


class Atoms:
    """Makes the atoms of the values of one file's linker.

    Attributes:
        registries: what decorates the classes of which something is an object, as far as that was met, each with what
            defines it.
    """

    def __init__(self, linker: Linker) -> None:
        """Ask ``linker`` for the definitions that parts name."""
        self._linker = linker
        self.registries: list[tuple[str, Unit]] = []

    def atom(self, part: Part, unit: Unit, value: Value) -> Atom:
        """What a part of a shape, told in ``unit``, is to the value that has it."""
        maker = self._ATOMS.get(part.kind)
        return Unknown() if maker is None else maker(self, part, unit, value)

    def _tensor(self, part: Part, unit: Unit, value: Value) -> Atom:
        history = History(part.name)
        return Tensor(history, value if history is History.LIVE else None, self._decider(part, unit))

    def _module(self, part: Part, unit: Unit, value: Value) -> Atom:
        if part.name == FROZEN:
            self._linker.foreign.frozen_weights.add(value)
        return Module(part.flag)

    def _decider(self, part: Part, unit: Unit) -> Function | None:
        return self._linker.function(part.by, unit) if part.by else None

    def _imported(self, part: Part, unit: Unit, _: Value) -> Atom:
        linked = self._linker.linked(part.name, unit.found.imports, unit.hops + 1)
        if linked is None:
            return External(unit.found.imports.absolute(part.name))
        if isinstance(linked[0], Class):
            return ClassReference(linked[0])
        return FunctionReference(linked[0]) if isinstance(linked[0], Function) else Unknown()

    def _made(self, part: Part, unit: Unit, value: Value) -> Atom:
        """What a name of another file makes; functions that only give on what others return may do so in a circle."""
        asked: set[Function] = set()
        while part.kind is PartKind.MADE:
            linked = self._linker.linked(part.name, unit.found.imports, unit.hops + 1)
            if linked is None:
                self._linker.foreign.made[value].add(part.name)
                return _of_torch(part.name)
            maker, there = linked
            if isinstance(maker, Class):
                return Instance(maker)
            if not isinstance(maker, Function) or maker in asked:
                return Unknown()
            returned = self._returned(maker, part, there)
            if returned is None:
                return Unknown()
            if returned.is_evaluated:
                self._linker.foreign.evaluated.add(value)
            asked.add(maker)
            part, unit = returned, there
        return self.atom(part, unit, value)

    def _returned(self, maker: Function, part: Part, unit: Unit) -> Part | None:
        """What a function returns, or an item of that, whatever it is given, where that is one thing."""
        results = [function.result for function in _alike(maker, unit) if function.name == maker.name]
        if part.flag:
            results = [shape for one in results for key, shape in _items_of(one) if key == part.position]
        parts = results[0] if len(results) == 1 else ()
        made = [part for part in parts if part.kind is not PartKind.MODULE] or list(parts)
        return made[0] if len(made) == 1 and made[0].kind not in SYMBOLIC else None

    def _registered(self, part: Part, unit: Unit, _: Value) -> Atom:
        """An object of one of several classes, maybe, and no single atom."""
        self.registries.append((part.name, unit))
        return Unknown()

    def _container(self, part: Part, unit: Unit, value: Value) -> Atom:
        made = self._linker.containers
        # A global of another file, which functions here read, is one for all of them and older than any call.
        is_global = not value.function.is_foreign and unit.summary is not None and part in unit.summary.shape
        owner = unit.module if is_global else value
        if (owner, part) not in made:
            items = tuple(self._linker.value_of(shape, unit, value.function) for _, shape in part.items)
            keys = tuple(key for key, _ in part.items)
            # What a dictionary on an object is for, and what takes things out of it, is that file's business.
            is_known = is_global or (value.op is Op.PARAMETER and not part.items)
            syntax = cst.Dict([]) if part.flag and is_known else None
            function = unit.module if is_global or part.name == OLDER else value.function
            made[owner, part] = self._linker.make(Op.CONTAINER, items, function, keys=keys, syntax=syntax)
            for name in unit.found.emptied_by if is_global else ():
                self._linker.empties(name, made[owner, part], unit)
        return Container(made[owner, part])

    def _argument(self, part: Part, unit: Unit, _: Value) -> Atom:
        function = self._linker.function(part.name, unit)
        return Unknown() if function is None else Argument(function.parameters[part.position])

    def _derived(self, part: Part, unit: Unit, _: Value) -> Atom:
        function = self._linker.function(part.name, unit)
        return Unknown() if function is None else Derived(function.parameters[part.position], self._decider(part, unit))

    def _instance(self, part: Part, unit: Unit, _: Value) -> Atom:
        cls = self._linker.class_named(part.name, unit)
        return Unknown() if cls is None else Instance(cls)

    def _class_reference(self, part: Part, unit: Unit, _: Value) -> Atom:
        cls = self._linker.class_named(part.name, unit)
        return Unknown() if cls is None else ClassReference(cls)

    def _function_reference(self, part: Part, unit: Unit, _: Value) -> Atom:
        function = self._linker.function(part.name, unit)
        return Unknown() if function is None else FunctionReference(function, part.flag)

    _ATOMS: dict[PartKind, Callable[[Atoms, Part, Unit, Value], Atom]] = {
        PartKind.PLAIN: lambda *_: Plain(),
        PartKind.MODULE: _module,
        PartKind.TOOL: lambda _, part, *__: Tool(part.name),
        PartKind.DIFFERENTIABLE: lambda *_: Differentiable(),
        PartKind.TENSOR: _tensor,
        PartKind.INSTANCE: _instance,
        PartKind.CLASS: _class_reference,
        PartKind.FUNCTION: _function_reference,
        PartKind.IMPORTED: _imported,
        PartKind.MADE: _made,
        PartKind.REGISTERED: _registered,
        PartKind.CONTAINER: _container,
        PartKind.GIVEN: _argument,
        PartKind.COMPUTED: _derived,
    }


def _items_of(result: Shape) -> Sequence[tuple[Key, Shape]]:
    return result[0].items if len(result) == 1 and result[0].kind is PartKind.CONTAINER else ()


def _alike(maker: Function, unit: Unit) -> Sequence[FunctionSummary]:
    """The functions of a unit, or the methods of a class of it, one of which a function is."""
    if unit.summary is None:
        return ()
    if maker.owner is None:
        return unit.summary.functions
    return [method for cls in unit.summary.classes if cls.name == maker.owner.name for method in cls.methods]


def _of_torch(name: str) -> Atom:
    """What an imported class or function of torch, or of what builds networks, makes, whatever it is given."""
    made = torch_api.torch_class(name)
    if made is None:
        return Module() if meaning_of(name) is Meaning.MODULE else Unknown()
    if made.kind in ("module", "loss"):
        return Module(made.has_parameters or made.wraps)
    return Unknown() if made.kind in ("parameter", "other") else Tool(made.kind)
