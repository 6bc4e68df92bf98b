"""What stands in the functions of other files, as their summaries tell it: parameters, calls, what is returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import all_parameters
from torchlint.facts.summaries import receivers
from torchlint.facts.summaries.effect_kinds import EffectSummary
from torchlint.facts.summaries.following import followed
from torchlint.facts.summaries.parts import SUM, Part, PartKind, Shape
from torchlint.facts.summaries.skeletons import function_syntax
from torchlint.facts.summaries.summary import (
    CallSummary,
    FunctionSummary,
    KeepSummary,
    LoopSummary,
    ParameterSummary,
)
from torchlint.facts.summaries.units import Unit
from torchlint.facts.summaries.write_summary import WriteSummary
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Mode, Op, Store, Value

if TYPE_CHECKING:
    from torchlint.facts.summaries.linking import Linker


_OF_PARAMETERS = (PartKind.GIVEN, PartKind.COMPUTED)
"""What a function is given, or what it computes from that."""


class Bodies:
    """Fills the functions that one file's linker has made."""

    def __init__(self, linker: Linker) -> None:
        """Ask ``linker`` for values, and for the definitions that summaries name."""
        self._linker, self._foreign = linker, linker.foreign

    def fill(self, function: Function, summary: FunctionSummary, unit: Unit) -> list[Loop]:
        """Give a function all that its summary says.

        Returns:
            its loops, by their numbers.
        """
        known_before = len(self._foreign.backwards)
        function.syntax = function_syntax(summary)
        self._foreign.nodes.add(function.syntax)
        function.is_async, function.is_generator = summary.is_async, summary.is_generator
        function.is_left_open, function.is_written = summary.is_left_open, summary.is_written
        function.decorators, function.guard = summary.decorators, Mode(summary.guard)
        function.wraps = Mode(summary.wraps) if summary.wraps else None
        function.alters, function.memoises = summary.alters, summary.memoises
        decorators = [self._linker.function_linked(name, unit) for name in summary.decorators]
        modes = [one.wraps for one in decorators if one is not None and one.wraps is not None]
        if modes and function.guard is Mode.INHERITED and not function.is_async:
            function.guard = modes[0]  # its file only knew that something decorates it
        function.is_altered = summary.is_altered or any(one is not None and one.alters for one in decorators)
        function.converts = summary.converts
        function.is_converted = summary.is_converted or any(one is not None and one.converts for one in decorators)
        for position, parameter in enumerate(summary.parameters):
            function.parameters.append(self._parameter(parameter, position, function, unit))
        loops = self._loops(summary.loops, function, unit)
        calls: list[Value] = []
        for call in summary.calls:
            calls.append(self._call(call, function, unit, loops, calls))
        function.result = self._linker.make(Op.PHI, (), function, name="<result>")
        given_back = () if function.is_converted else summary.result
        known = tuple(filter(_is_told_by_itself, given_back))
        for value in self._values(given_back, calls, unit, function):
            function.result.feed(value)
        for write in summary.writes:
            self._write(write, calls, unit, function)
        self._tell(function, summary, unit)
        for told in summary.hands_over if function.name != "__init__" else ():
            self._foreign.handing_over.update(receivers.link(self._linker, told, function, unit))
        if summary.makes:
            self._foreign.makers[function] = partial(self._linker.is_made_anew, known, unit)
        if summary.closure is not None:
            made = self._foreign.closures[function] = self._linker.new_function(function.name, None, unit)
            made.parent = function
            self.fill(made, summary.closure, unit)
        differentiates = any(map(unit.found.trains_by, summary.differentiates_by))
        for given in function.parameters[1:] if differentiates else ():
            self._linker.add_backward(given, function, None, proves=False)
        trains = summary.trains or differentiates
        if trains and not any(backward.function is function for backward in self._foreign.backwards):
            self._linker.add_backward(self._linker.value_of((Part(PartKind.UNKNOWN),), unit, function), function, None)
        for backward in self._foreign.backwards[known_before:]:
            if backward.function is function:  # those of functions that were read meanwhile are told already
                backward.is_of_callers = not trains
        return loops

    def _tell(self, function: Function, summary: FunctionSummary, unit: Unit) -> None:
        """Say what a function does, and what is true of what it returns."""
        is_emptied = unit.found.imports.empty  # a global of its file, be it by the file that is checked
        kept = (keep for keep in summary.keeps if keep.into >= 0 or not is_emptied(keep.attribute))
        self._foreign.keeps[function] = tuple(kept)
        if summary.holds:
            self._foreign.holds[function] = summary.holds
        if summary.releases:
            self._foreign.releases[function] = summary.releases
        if summary.effects:
            self._foreign.effects[function] = followed(
                summary.effects,
                partial(self._effects_of, unit),
                partial(self._keeps_of, function.owner),
                partial(self._done_by, function.owner),
                held_above=partial(self._held_above, function.owner),
                done_above=partial(self._done_above, function.owner),
            )
            self._foreign.found[function] = unit.found
        if summary.chains:
            self._foreign.chains[function] = summary.chains
        if summary.trains_long:
            self._foreign.trainings.add(function)
        if summary.repeats_steps:
            self._foreign.holding.add(function)
        if summary.lists:
            self._foreign.lists.add(function)
        if summary.goes_over_disk:
            self._foreign.disk_passes.add(function)
        if summary.yielded_outputs:
            self._foreign.yielded_outputs[function] = summary.yielded_outputs
        if summary.tensors:
            self._foreign.tensors[function] = summary.tensors
        if summary.gives_output:
            self._foreign.outputs.add(function)
        if summary.residence:
            self._foreign.residences[function] = summary.residence
        if summary.runs:
            self._foreign.running.add(function)
        if summary.view is not None:
            self._foreign.views[function] = summary.view
        if summary.severed is not None:
            self._foreign.severed[function] = summary.severed
        if summary.width is not None:
            self._foreign.widths[function] = summary.width
        if summary.lengthened:
            self._foreign.lengthened[function] = summary.lengthened
        if summary.cuts:
            self._foreign.cuts[function] = summary.cuts

    def _values(self, shape: Shape, calls: list[Value], unit: Unit, function: Function) -> Iterator[Value]:
        """What a function hands to others, by its shape; ``calls`` are those that its summary tells."""
        known = tuple(filter(_is_told_by_itself, shape))
        if known:
            yield self._linker.value_of(known, unit, function)
        for part in shape:
            if _comes_of_calls(part):
                yield self._returned(part, calls, unit, function)
            elif part.kind is PartKind.OWN:
                path = part.name.split(".") if part.name else ()
                yield self._attribute(function.parameters[0], path, Mode.INHERITED)
            elif part.kind is PartKind.RECORD:
                yield self._record(part, unit, function)

    def _write(self, write: WriteSummary, calls: list[Value], unit: Unit, function: Function) -> None:
        """Say what a function writes into an object that it is given."""
        holder, make = function.parameters[write.position], self._linker.make
        for step in write.path:
            op = Op.ATTRIBUTE if step.attribute else Op.SUBSCRIPT
            keys = () if step.attribute else (step.key,)
            holder = make(op, (holder,), function, name=step.attribute, keys=keys)
        kind = Kind.ASSIGN if write.attribute else Kind.INSERT
        given = [part for part in write.written if part.kind in _OF_PARAMETERS and part.name == function.full_name]
        others = tuple(part for part in write.written if part not in given)
        written = (
            self._of(function.parameters[part.position], function, is_computed=part.kind is PartKind.COMPUTED)
            for part in given
        )
        for value in (*written, *self._values(others, calls, unit, function)):
            self._foreign.stores.append(
                Store(
                    kind, value, function, None, Mode.INHERITED, function.syntax,
                    holder=holder, attribute=write.attribute, is_item=write.is_item, key=write.key,
                )
            )  # fmt: skip

    def _returned(self, part: Part, calls: list[Value], unit: Unit, function: Function) -> Value:
        """What a function returns of what it calls, by itself or in a tuple."""
        if part.kind is PartKind.RESULT:
            called = calls[part.position]
            for key, _ in part.items:
                called = self._linker.make(Op.ELEMENT, (called,), function, keys=(key,))
            return self._of(called, function, is_computed=part.flag)
        items = [
            self._returned(shape[0], calls, unit, function)
            if any(map(_comes_of_calls, shape))
            else self._linker.value_of(shape, unit, function)
            for _, shape in part.items
        ]
        for position, (_, shape) in enumerate(part.items):
            if shape[0].kind is PartKind.SUMMED:
                items[position] = self._sum_of(items[shape[0].position], function)
        return self._linker.make(Op.CONTAINER, tuple(items), function, keys=tuple(key for key, _ in part.items))

    def _of(self, value: Value, function: Function, *, is_computed: bool) -> Value:
        """What a call returns, or a parameter is given, or a tensor that is computed from that."""
        return self._linker.make(Op.OPERATION, (value,), function) if is_computed else value

    def _sum_of(self, summands: Value, function: Function) -> Value:
        """The CALL that sums up all that a container holds."""
        make = self._linker.make
        method = make(Op.ATTRIBUTE, (summands,), function, name="values")
        given = make(Op.CALL, (method,), function, name=method.name, keys=(None,))
        return make(Op.CALL, (make(Op.EXTERNAL, (), function, name=SUM), given), function, name=SUM, keys=(None, 0))

    def _record(self, part: Part, unit: Unit, function: Function) -> Value:
        """The CALL of its class that makes a record."""
        cls = self._linker.class_named(part.name, unit)
        maker = cls.method("__init__") if cls is not None else None
        fields = [parameter.name for parameter in maker.parameters[1:]] if maker is not None else []
        items = []
        for key, shape in part.items:
            items.append(self._linker.value_of(shape, unit, function))
            items[-1].name = key if isinstance(key, str) else "".join(fields[key : key + 1]) if key is not None else ""
        made_by = self._linker.value_of((Part(PartKind.CLASS, part.name),), unit, function)
        return self._linker.make(Op.CALL, (made_by, *items), function, keys=(None, *(key for key, _ in part.items)))

    def _effects_of(self, unit: Unit, name: str) -> tuple[EffectSummary, ...]:
        function = self._linker.function_linked(name, unit)
        return self._foreign.effects.get(function, ()) if function is not None else ()

    def _keeps_of(self, cls: Class | None, name: str) -> tuple[KeepSummary, ...]:
        method = cls.method(name) if cls is not None else None
        return self._foreign.keeps.get(method, ()) if method is not None else ()

    def _done_by(self, cls: Class | None, name: str) -> tuple[EffectSummary, ...]:
        method = cls.method(name) if cls is not None else None
        return self._foreign.effects.get(method, ()) if method is not None else ()

    def _held_above(self, cls: Class | None) -> tuple[int, ...]:
        """What the object of the next ``__init__`` above that of a class has, of what this is given."""
        above = _next_initializer(cls)
        return self._foreign.holds.get(above, ()) if above is not None else ()

    def _done_above(self, cls: Class | None) -> tuple[EffectSummary, ...]:
        """What the next ``__init__`` above that of a class does."""
        above = _next_initializer(cls)
        return self._foreign.effects.get(above, ()) if above is not None else ()

    def _parameter(self, summary: ParameterSummary, position: int, function: Function, unit: Unit) -> Value:
        inputs = (self._linker.value_of(summary.default, unit, function),) if summary.default else ()
        syntax = all_parameters(function.syntax.params)[position]  # type: ignore[attr-defined]
        value = self._linker.make(Op.PARAMETER, inputs, function, name=summary.name, keys=(position,), syntax=syntax)
        if summary.is_module:
            self._foreign.modules.append(value)
        if summary.escapes:
            self._foreign.hands_on.add(value)
        if summary.is_frozen:
            self._foreign.frozen.append(value)
        if summary.parts is not None:
            self._foreign.parts[value] = frozenset(summary.parts)
        if summary.is_trained_on or summary.reaches_backward:
            self._linker.add_backward(value, function, None, retains=summary.is_retained, proves=summary.is_trained_on)
        for path in summary.trained_parts:
            part = self._attribute(value, path.split("."), Mode.INHERITED)
            self._linker.add_backward(part, function, None, proves=False)
        return value

    def _call(
        self, summary: CallSummary, function: Function, unit: Unit, loops: Sequence[Loop], earlier: Sequence[Value]
    ) -> Value:
        """The skeleton of a call: what is called, where, with what of ``earlier`` ones, and what becomes of it."""
        loop = loops[summary.loop] if summary.loop >= 0 else None
        mode = function.guard if Mode(summary.mode) is Mode.INHERITED else Mode(summary.mode)
        if summary.base >= 0:
            callee = self._attribute(function.parameters[summary.base], summary.path, mode)
        elif summary.function:
            callee = self._linker.value_of((Part(PartKind.FUNCTION, summary.function),), unit, function)
        else:
            callee = self._linker.value_of((Part(PartKind.MODULE, flag=True),), unit, function)
        given = [function.parameters[position] for _, position in summary.arguments]
        given += [self._of(earlier[number], function, is_computed=flag) for _, number, flag in summary.computed]
        keys = (None, *(key for key, *_ in (*summary.arguments, *summary.computed)))
        call = self._linker.make(Op.CALL, (callee, *given), function, name=callee.name, keys=keys, mode=mode, loop=loop)
        call.evaluating = summary.evaluating
        if summary.gives_more:
            self._foreign.given_more.add(call)
        if summary.leaves:
            self._foreign.leaving.add(call)
        if summary.is_skipped:
            self._foreign.skipped.add(call)
        if summary.is_trained_on:
            self._linker.add_backward(call, function, loop, proves=summary.is_live)
        return call

    def _attribute(self, parameter: Value, path: Sequence[str], mode: Mode) -> Value:
        """What a parameter is, or an attribute of it, or of one of its attributes."""
        value = parameter
        for attribute in path:
            value = self._linker.make(Op.ATTRIBUTE, (value,), parameter.function, name=attribute, mode=mode)
        return value

    def _loops(self, told: Sequence[LoopSummary], function: Function, unit: Unit) -> list[Loop]:
        """The loops of a function, over batches where they are known for those of steps; parents come first."""
        made: list[Loop] = []
        for one in told:
            items = Part(PartKind.TOOL, "loader") if one.is_step else Part(PartKind.UNKNOWN)
            syntax = cst.For(cst.Name("_"), cst.Name("_"), cst.IndentedBlock([]))
            self._foreign.nodes.add(syntax)
            parent = made[one.parent] if one.parent >= 0 else None
            made.append(Loop(syntax, function, parent, self._linker.value_of((items,), unit, function)))
        return made


def _comes_of_calls(part: Part) -> bool:
    """Whether a part tells what a function returns of what it calls, be that in a tuple."""
    if part.kind is PartKind.RESULT:
        return True
    return part.kind is PartKind.CONTAINER and any(
        one.kind is PartKind.SUMMED or _comes_of_calls(one) for _, shape in part.items for one in shape
    )


def _is_told_by_itself(part: Part) -> bool:
    """Whether a part says what something is without the calls, the object and the records of the function."""
    return not _comes_of_calls(part) and part.kind not in (PartKind.OWN, PartKind.RECORD)


def _next_initializer(cls: Class | None) -> Function | None:
    """The ``__init__`` that a class would have without its own."""
    bases = cls.lineage()[1:] if cls is not None else []
    return next((one.methods["__init__"] for one in bases if "__init__" in one.methods), None)
