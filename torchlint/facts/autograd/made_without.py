"""What is computed with gradients off, call by call: a step elsewhere may have given the same objects a graph.

The solver keeps one object for each place that makes it. What ``forward`` returns in a dictionary has the graph of the
training step, also where ``predict`` asks for it under ``torch.no_grad()``. Here the way back from one value is walked
by the calls that really led to it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

from torchlint import torch_api
from torchlint.facts.turns.modes import Modes
from torchlint.facts.values.domain import (
    SYMBOLIC,
    ClassReference,
    Container,
    Derived,
    FunctionReference,
    Instance,
    Module,
    Tensor,
    Unknown,
    is_graphless,
)
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.solve import Solution

DEPTH = 4
"""Through how many calls, one in another, it is followed what functions give back."""

_PARTS = (Op.SUBSCRIPT, Op.ELEMENT, Op.NARROWED)


class _At(NamedTuple):
    """A value, and the calls, all with gradients off, by which its function was entered."""

    value: Value
    calls: tuple[Value, ...]


class MadeWithout:
    """Answers whether a value is surely computed with gradients off, from nothing that has a graph."""

    def __init__(self, solution: Solution, modes: Modes) -> None:
        """Ask ``modes`` where gradients may be on."""
        self.solution = solution
        self.modes = modes

    def is_surely(self, value: Value) -> bool:
        """Whether all ways back from ``value`` end at a computation without gradients, or at what has no graph."""
        if self.modes.records(value):
            return False
        pending, seen = [_At(value, ())], set[_At]()
        while pending:
            at = pending.pop()
            if at in seen or self._has_none(at):
                continue
            seen.add(at)
            behind = self._behind(at)
            if behind is None:
                return False
            pending += behind
        return True

    def _has_none(self, at: _At) -> bool:
        """Whether a value has no graph, whatever called it, or is an object that runs what it is asked for."""
        atoms = self.solution.final(at.value)
        objects = (Module, Instance, FunctionReference, ClassReference)
        return bool(atoms) and all(is_graphless(atom) or isinstance(atom, objects) for atom in atoms)

    def _behind(self, at: _At) -> list[_At] | None:
        """What a value is, or is taken from, nothing where it is computed anew; None where that is not seen."""
        value, calls = at
        if value.op in (Op.OPERATION, Op.COMPARISON) and not value.name.endswith("Assign"):
            return []
        if value.op in (Op.PHI, Op.CONTAINER, *_PARTS):
            sources = value.inputs[:1] if value.op in _PARTS else value.inputs
            return [_At(one, calls) for one in (*sources, *self._put_into.get(value, ()))]
        if value.op is Op.PARAMETER and calls:
            given = self.solution.callers[value.function].get(calls[-1], {}).get(value)
            return None if given is None else [_At(given, calls[:-1])]
        if value.op is Op.GIVEN and calls:
            return self._behind_given(value, calls)
        return self._behind_call(value, calls) if value.op is Op.CALL and not self._records(value, calls) else None

    def _behind_given(self, value: Value, calls: tuple[Value, ...]) -> list[_At] | None:
        """What a function of another file gives back, by what its own file says of it."""
        behind, function = [], value.function
        for atom in self.solution.final(value):
            if isinstance(atom, Derived | Tensor) and atom.inherits is function:
                continue  # computed there, be it of what its object was given before
            if isinstance(atom, SYMBOLIC) and atom.parameter.function is function:
                behind.append(_At(atom.parameter, calls))
            elif isinstance(atom, Container) and atom.allocation.function is function:
                behind.append(_At(atom.allocation, calls))
            elif not (is_graphless(atom) or isinstance(atom, Unknown)):
                return None
        return behind

    def _records(self, call: Value, calls: tuple[Value, ...]) -> bool:
        """Whether gradients may be on at a CALL; in a function that was entered with them off it inherits that."""
        return call.mode is not Mode.OFF and not (calls and call.mode is Mode.INHERITED) and self.modes.records(call)

    def _behind_call(self, call: Value, calls: tuple[Value, ...]) -> list[_At] | None:
        functions = self.solution.functions_of(call)
        if functions:
            results = [function.result for function in functions]
            if len(calls) == DEPTH or any(f.is_foreign and not self._computes(f) for f in functions):
                return None
            within = [_At(result, (*calls, call)) for result in results if result is not None]
            return within + [_At(one, calls) for one in self._put_into.get(call, ())]
        if call.callee.op is Op.EXTERNAL:
            return [] if call.callee.name.startswith("torch.") else [_At(one, calls) for one in call.arguments]
        if self.solution.may_be(call.callee, Module):
            return [_At(one, calls) for one in self._put_into.get(call, ())]
        known = torch_api.method(call.callee.name) if call.callee.op is Op.ATTRIBUTE else None
        if known is None:
            return None
        in_place = known.history in (torch_api.History.SELF, torch_api.History.DETACHES_SELF)
        return [_At(call.callee.inputs[0], calls)] if in_place else []

    def _computes(self, function: Function) -> bool:
        """Whether a function of another file gives what it computes there, and nothing that its object has."""
        return all(choice.op is not Op.ATTRIBUTE for choice in (function.result.inputs if function.result else ()))

    @cached_property
    def _put_into(self) -> dict[Value, list[Value]]:
        """What is put into each value where that stands."""
        found: dict[Value, list[Value]] = defaultdict(list)
        for store in self.solution.graph.stores:
            if store.holder is not None:
                found[store.holder].append(store.value)
        return found
