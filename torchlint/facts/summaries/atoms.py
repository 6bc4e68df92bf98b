"""From the parts of a summary's shapes to atoms of the abstract domain: what a value of another file is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchlint.facts.summaries.summary import Part, PartKind
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
from torchlint.facts.values.graph import Class, Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.summaries.linking import Linker

SYMBOLIC = (PartKind.GIVEN, PartKind.COMPUTED, PartKind.RESULT, PartKind.OWN)
"""Parts that say how a result comes from what a function is given, or from what it calls."""


class Atoms:
    """Makes the atoms of the values of one file's linker."""

    def __init__(self, linker: Linker) -> None:
        """Ask ``linker`` for the definitions that parts name."""
        self._linker = linker

    def atom(self, part: Part, unit: Unit, value: Value) -> Atom:
        """What a part of a shape, told in ``unit``, is to the value that has it."""
        maker = self._ATOMS.get(part.kind)
        return Unknown() if maker is None else maker(self, part, unit, value)

    def _tensor(self, part: Part, unit: Unit, value: Value) -> Atom:
        history = History(part.name)
        return Tensor(history, value if history is History.LIVE else None, self._decider(part, unit))

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
        linked = self._linker.linked(part.name, unit.found.imports, unit.hops + 1)
        if linked is not None and isinstance(linked[0], Class):
            return Instance(linked[0])
        if linked is not None and isinstance(linked[0], Function):
            return self._returned(linked[0].name, linked[1], value)
        return Unknown()

    def _returned(self, name: str, unit: Unit, value: Value) -> Atom:
        """What a function returns whatever it is given, where that is one thing."""
        functions = unit.summary.functions if unit.summary is not None else ()
        results = [function.result for function in functions if function.name == name]
        if len(results) != 1 or len(results[0]) != 1 or results[0][0].kind in SYMBOLIC:
            return Unknown()
        return self.atom(results[0][0], unit, value)

    def _container(self, part: Part, unit: Unit, value: Value) -> Atom:
        made = self._linker.containers
        if (value, part) not in made:
            items = tuple(self._linker.value_of(shape, unit, value.function) for _, shape in part.items)
            keys = tuple(key for key, _ in part.items)
            made[value, part] = self._linker.make(Op.CONTAINER, items, value.function, keys=keys)
        return Container(made[value, part])

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
        PartKind.MODULE: lambda _, part, *__: Module(part.flag),
        PartKind.TOOL: lambda _, part, *__: Tool(part.name),
        PartKind.DIFFERENTIABLE: lambda *_: Differentiable(),
        PartKind.TENSOR: _tensor,
        PartKind.INSTANCE: _instance,
        PartKind.CLASS: _class_reference,
        PartKind.FUNCTION: _function_reference,
        PartKind.IMPORTED: _imported,
        PartKind.MADE: _made,
        PartKind.CONTAINER: _container,
        PartKind.GIVEN: _argument,
        PartKind.COMPUTED: _derived,
    }
