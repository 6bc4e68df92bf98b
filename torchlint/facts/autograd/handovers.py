"""Handovers: tensors with a graph that are given to functions of other files which keep them beyond the step.

``meter.update(loss)`` with a meter that the project defines elsewhere: what the meter does is known from its summary,
and the call that hands the graph over is where it can be detached.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.records import Record
from torchlint.facts.summaries.summary import KeepSummary
from torchlint.facts.values.domain import Container
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Mode, Op, Place, Value
from torchlint.facts.values.homes import homes_of, places_of
from torchlint.facts.values.writing import Use, operands

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Handovers:
    """Finds what a file hands over to be kept elsewhere."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows

    def found(self) -> Iterator[Record]:
        """A record for each call and each holder in another file that keeps a live argument of it step after step."""
        # Asking for a method makes it, with what it keeps.
        for function, keeps in list(self.solution.graph.foreign.keeps.items()):
            # A meter that has a window of values and their sum keeps them all by its sum.
            growing = sorted((keep for keep in keeps if keep.grows), key=lambda keep: keep.bounded)
            for call in self._calls(function) if growing else ():
                records = [record for keep in growing if (record := self._record(call, function, keep)) is not None]
                yield from {(record.name, record.parts): record for record in reversed(records)}.values()

    def _calls(self, function: Function) -> list[Value]:
        """The calls of a function in this file, in source order."""
        calls = self.solution.callers.get(function, {})
        return sorted((call for call in calls if not call.function.is_foreign), key=lambda call: call.index)

    def _record(self, call: Value, function: Function, keep: KeepSummary) -> Record | None:
        given = self.solution.given_by(call, function.parameters[keep.position])
        found = [(one, part) for one in given for part in self._live_parts(one, keep)]
        if not found or not self._keeps_graph(call, keep):
            return None
        argument, part = found[0]
        holder = self._holder(call, function, keep)
        if holder is None and keep.into == 0 and is_forward(function):
            return None  # a layer in a row: what it is given is written nowhere
        homes: list[Place | Value] = list(self._places(function, keep))
        if holder is not None and not (keep.into == 0 and function.owner is not None):
            homes += homes_of(self.solution, holder)
        if not self.facts.lifetimes.outlives(homes, call.function, call.loop) or self._is_used(part, function, keep):
            return None
        written = next((use for use in operands(call) if use.value is argument), Use(argument, None))
        name, statement = self._name(call, holder, keep), self.facts.statement_of(call)
        file, into = self.solution.graph.foreign.files[function], self.facts.called(call)
        keeper = f"`{function.name}` in {file} adds it to `{keep.attribute or name}`"
        # A container has no `detach`: what is in it is to be detached where it is put in.
        whole = part is argument
        kept = written if whole else Use(part, written.node)
        is_average = keep.averages and self.flows.is_leaf(part)
        # What the call gives may be computed from what it is given: without a graph that is not trained.
        is_trained = self.flows.may_be_trained_on(call)
        return Record(statement, (kept,), holder or call, name, statement, into, keep.bounded, not whole or is_trained,
                      # By what it gives a module flows into the loss; what it keeps may not.
                      into_container=not (is_forward(function) and keep.into == 0),
                      keeper=keeper, averages=is_average, returned=is_trained)  # fmt: skip

    def _live_parts(self, argument: Value, keep: KeepSummary) -> list[Value]:
        """The tensors with a graph that are kept of an argument: itself, or what is in it."""
        if self.flows.live(argument) is not None:
            return [argument]
        if keep.averages and keep.is_computed and self.flows.is_leaf(argument):
            return [argument]
        # Who goes over a dict goes over its keys.
        containers = [atom.allocation for atom in self.solution.final(argument) if isinstance(atom, Container)]
        has_keys = not all(isinstance(made.syntax, cst.List | cst.Tuple) for made in containers)
        if has_keys and keep.is_computed and not keep.merges:
            return []
        held = [part for made in containers for _, part in self.solution.held.get(made, ())]
        parameters = [part for part in held if keep.averages and keep.is_computed and self.flows.is_leaf(part)]
        return self.flows.live_parts(argument) or parameters[:1]

    def _name(self, call: Value, holder: Value | None, keep: KeepSummary) -> str:
        """How the program writes what keeps: ``meter`` of ``meter.update(loss)``, an argument, the name of a global."""
        if holder is None:
            return keep.attribute
        node = call.syntax.func if isinstance(call.syntax, cst.Call) else None
        if holder is call.callee and node is not None:
            return self.facts.shortly(node)
        if call.callee.inputs and holder is call.callee.inputs[0] and isinstance(node, cst.Attribute):
            return self.facts.shortly(node.value)
        return self.facts.name_in(call, holder)

    def _keeps_graph(self, call: Value, keep: KeepSummary) -> bool:
        """Whether gradients are on where the tensor is kept, or do not matter since it is kept as it is."""
        if not keep.is_computed:
            return True
        mode = Mode(keep.mode)
        return mode is Mode.ON or (mode is Mode.INHERITED and self.facts.modes.records(call))

    def _holder(self, call: Value, function: Function, keep: KeepSummary) -> Value | None:
        """The object that keeps: the receiver of the call or one of its arguments; None for a global."""
        return None if keep.into < 0 else self.solution.passed(call, function, keep.into)

    def _places(self, function: Function, keep: KeepSummary) -> Iterator[Place]:
        if keep.into == 0 and function.owner is not None:
            yield Place(function.owner.root(), keep.attribute)

    def _is_used(self, part: Value, function: Function, keep: KeepSummary) -> bool:
        """Whether what is kept may be trained on: read as an attribute, or by a method, on the way to a backward.

        Code that is not seen runs none over a graph that is freed.
        """
        if any(place in self._trained_places for place in self._places(function, keep)):
            return True
        owner = function.owner
        readers = [owner.method(name) for name in keep.readers] if owner is not None else []
        calls = (call for reader in readers if reader is not None for call in self.solution.callers.get(reader, {}))
        is_wanted = self.flows.is_trained_on if self.flows.touches_spent(part) else self.flows.may_be_trained_on
        return any(map(is_wanted, calls))

    @cached_property
    def _trained_places(self) -> frozenset[Place]:
        """The attributes that are read on the way to a backward of this file."""
        reads = (value for value in self.flows.trained if value.op is Op.ATTRIBUTE and not value.function.is_foreign)
        return frozenset(place for value in reads for place in places_of(self.solution, value))
