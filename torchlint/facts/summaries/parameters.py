"""What is told of the parameters of functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.by_field import asks_for_part
from torchlint.facts.summaries.shapes import Shapes
from torchlint.facts.summaries.summary import MOST_CALLS, ParameterSummary
from torchlint.facts.values.domain import History, Module, Tensor
from torchlint.facts.values.frameworks import told_of
from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

FREEZING_CALLS = 3
"""So many functions deep it is looked for who freezes a module."""

FURTHEST_PART = 3
"""So many attributes away what flows into a backward is told."""


class Parameters:
    """Tells of the parameters of one file's functions."""

    def __init__(self, facts: Facts, shapes: Shapes) -> None:
        """Ask ``shapes`` for what defaults are."""
        self.facts, self.solution, self.flows, self.shapes = facts, facts.solution, facts.flows, shapes

    def of(self, parameter: Value) -> ParameterSummary:
        """What other files need to know of a parameter."""
        syntax = parameter.syntax
        annotation, star = "", ""
        if isinstance(syntax, cst.Param):
            star = str(syntax.star or "")
            annotation = told_of(self.solution.graph, parameter)
        evidence = self.solution.evidence.get(parameter, ())
        return ParameterSummary(
            name=parameter.name,
            star=star,
            annotation=annotation,
            default=self.shapes.of(parameter.inputs[0]) if parameter.inputs else (),
            is_module=any(isinstance(atom, Module) for atom in evidence),
            is_trained_on=any(isinstance(atom, Tensor) and atom.history is History.LIVE for atom in evidence),
            reaches_backward=parameter in self.flows.trained and self.facts.steps.trains(parameter.function),
            is_retained=parameter in self.flows.trained and parameter not in self.flows.spent_roots,
            escapes=parameter in self._handed_on_unseen,
            is_frozen=self._freezes(parameter, FREEZING_CALLS),
            trained_parts=tuple(dict.fromkeys(self._trained_parts(parameter))),
            parts=self._parts_used(parameter),
        )

    def _parts_used(self, parameter: Value) -> tuple[str, ...] | None:
        """The attributes by which a parameter goes into a loss or leaves its function; None where it is used whole."""
        if parameter in self._stored or not all(map(asks_for_part, parameter.users)):
            return None
        used = (self.flows.trained, self.flows.leaving, self.handed_on)
        return tuple(dict.fromkeys(one.name for one in parameter.users if any(one in values for values in used)))

    def _trained_parts(self, value: Value, hops: int = FURTHEST_PART) -> Iterator[str]:
        """``rollout.values`` of ``self``: the attributes of a value that are used, and flow into a backward."""
        for part in filter(asks_for_part, value.users if hops else ()):
            if part in self.flows.trained:
                inner = list(self._trained_parts(part, hops - 1))
                yield from (f"{part.name}.{one}" for one in inner)
                yield from [] if all(map(asks_for_part, part.users)) else [part.name]

    @cached_property
    def _stored(self) -> frozenset[Value]:
        """All that the file stores somewhere as it is."""
        return frozenset(store.value for store in self.facts.graph.stores)

    @cached_property
    def handed_on(self) -> frozenset[Value]:
        """All that flows into code that is not seen, whatever becomes of what that gives back."""
        return self.flows.ancestry.of_all(argument for _, argument in self._given_unseen)

    @cached_property
    def _handed_on_unseen(self) -> frozenset[Value]:
        """The same without what parameters are given that are called: whoever passes what is called sees what it is."""
        return self.flows.ancestry.of_all(one for call, one in self._given_unseen if not self._is_told(call, one))

    @cached_property
    def _given_unseen(self) -> list[tuple[Value, Value]]:
        """The arguments of the calls of code that is not seen, each behind its call."""
        calls = (call for call in self.facts.calls() if self.flows.is_unknown_call(call))
        return [(call, argument) for call in calls for argument in call.arguments]

    def _is_told(self, call: Value, argument: Value) -> bool:
        """Whether the summary of a function tells of a CALL in it that it is of a parameter, and given another one."""
        parameters = call.function.parameters
        is_one_of_few = len(self.facts.steps.calls_in(call.function)) <= MOST_CALLS
        return is_one_of_few and call.callee in parameters and argument in parameters

    def _freezes(self, parameter: Value, depth: int) -> bool:
        """Whether a module that is passed for a parameter is told not to require grad, there or in what is called."""
        if parameter in self.solution.frozen:
            return True
        calls = self.facts.steps.calls_in(parameter.function) if depth else ()
        passed = (
            inner
            for call in calls
            for callee in self.solution.functions_of(call)
            for inner, given in self.solution.callers[callee][call].items()
            if given is not None and (given is parameter or (given.op is Op.PHI and parameter in given.inputs))
        )
        return any(self._freezes(inner, depth - 1) for inner in passed)
