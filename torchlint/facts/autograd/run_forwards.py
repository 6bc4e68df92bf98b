"""Calls of functions that run forwards of modules, and give on what they compute by them."""

from __future__ import annotations

from types import UnionType

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.carriers import DISTRIBUTIONS
from torchlint.facts.values.domain import FunctionReference, Instance, Module
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Mode, Op, Value

KNOWN = ("torch.", "builtins.")
"""How the full names of the functions begin of which it is known what they do."""


class RunForwards:
    """Answers whether a call of a function of this file runs a forward."""

    def __init__(self, flows: Flows, steps: Steps) -> None:
        """Work on the flows and steps of a file."""
        self.solution = flows.solution
        self.flows = flows
        self.steps = steps

    def are_in(self, call: Value) -> bool:
        """Whether a CALL runs a forward whose graph it gives back."""
        callees = self.solution.functions_of(call)
        return any(self._runs_forward(callee, call) for callee in callees) and self._begins_in_module(call)

    def are_surely_not_in(self, call: Value) -> bool:
        """Whether all that a CALL of a method may run is seen, and calls functions of torch and Python alone."""
        callees = self.solution.functions_of(call)
        inner = (one for callee in callees for one in self.steps.calls_in(callee))
        return (
            bool(callees)
            and call.callee.op is Op.ATTRIBUTE
            and not any(callee.is_foreign or is_forward(callee) for callee in callees)
            and all(map(self._runs_no_forward, inner))
        )

    def _runs_no_forward(self, call: Value) -> bool:
        """Whether a CALL is of a function of torch or Python, or makes a record of what it is given."""
        if call.callee.op is Op.EXTERNAL:
            return call.callee.name.startswith(KNOWN)
        made = self.solution.functions_of(call)
        return bool(made) and not any(one.is_written for one in made)

    def _begins_in_module(self, call: Value) -> bool:
        """Whether the graph that a helper returns begins with a forward, and not with any operation on a leaf."""
        for part in self.flows.live_parts(call):
            found = self.flows.live(part)
            origin = _whole(found.origin) if found is not None and found.origin is not None else None
            if origin is None:
                continue
            is_forward_elsewhere = origin.function.is_foreign and is_forward(origin.function)
            if is_forward_elsewhere or self.steps.calls_module(origin) or self._is_made_of_a_forward(origin, part):
                return True
        return False

    def _is_made_of_a_forward(self, origin: Value, part: Value) -> bool:
        """Whether a graph that is known by a backward alone, as it is in what both phases call, has a forward in it.

        So has a distribution that is made of what a layer gives.
        """
        is_distribution = origin.op is Op.CALL and origin.callee.name.startswith(DISTRIBUTIONS)
        if not is_distribution and (origin.op is not Op.OPERATION or any(map(self.flows.is_leaf, origin.inputs))):
            return False
        return any(
            value.op is Op.CALL and self.steps.calls_module(value) for value in self.flows.ancestry.of_all([part])
        )

    def _runs_forward(self, function: Function, by: Value, depth: int = 3) -> bool:
        """Whether the call ``by`` of ``function`` runs a module's forward under the caller's grad mode."""
        return any(
            call.mode not in (Mode.OFF, Mode.MAYBE)  # a switch that hangs on a condition decides for all callers
            and (
                (self.steps.calls_module(call) and self._is_called_by(by, call, Module | Instance))
                or (
                    depth > 0
                    and self._is_called_by(by, call, Module | Instance | FunctionReference)
                    and any(self._runs_forward(f, call, depth - 1) for f in self.solution.functions_of(call))
                )
            )
            for call in self.steps.calls_in(function)
        )

    def _is_called_by(self, by: Value, call: Value, kinds: type | UnionType) -> bool:
        """Whether what a function calls is of such a kind where ``by`` calls it, though it may be so elsewhere."""
        callee, function = call.callee, call.function
        if callee.op is not Op.PARAMETER or callee.function is not function:
            return True
        given = self.solution.callers.get(function, {}).get(by, {}).get(callee)
        return given is None or self.solution.may_be(given, kinds)


def _whole(origin: Value) -> Value:
    """The CALL that gives a pair of which a part has the graph: ``spikes, states = net(x)``."""
    whole = origin
    while whole.op in (Op.ELEMENT, Op.SUBSCRIPT):
        whole = whole.inputs[0]
    return whole if whole.op is Op.CALL else origin
