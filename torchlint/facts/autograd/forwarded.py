"""Which network's forward a call runs: its own, by a method, or in a function that is handed the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Forwarded:
    """Answers it for the calls of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.extents = facts.extents

    def module(self, call: Value) -> Value | None:
        """The network whose forward a CALL runs."""
        if self.steps.calls_module(call):
            return called_object(call)
        is_method = self.extents.is_method_of_module(call) or self._is_method_elsewhere(call)
        return call.callee.inputs[0] if is_method and call in self.flows.trained else None

    def by_method(self, call: Value) -> Value | None:
        """The network of which a CALL runs a method of this file that gives what its forward, or a part, gives."""
        functions = self.solution.functions_of(call) if call.callee.op is Op.ATTRIBUTE else []
        return call.callee.inputs[0] if functions and all(map(self._gives_own_output, functions)) else None

    def by_helper(self, call: Value) -> Value | None:
        """The forward, of a network that it is handed, on which the function that a CALL runs computes its result."""
        functions = self.solution.functions_of(call)
        if len(functions) != 1 or functions[0].result is None or self.steps.calls_module(call):
            return None
        behind = (v for v in functions[0].result.computed_from() if v.op is Op.CALL and self.steps.calls_module(v))
        forwards = [forward for forward in behind if called_object(forward) in functions[0].parameters]
        return forwards[0] if len(forwards) == 1 else None

    def _gives_own_output(self, method: Function) -> bool:
        if method.owner is None or not is_module_class(method.owner) or not method.parameters or method.result is None:
            return False
        if is_forward(method) or self.steps.trains(method):
            return False
        own = (v for v in method.result.computed_from() if v.op is Op.CALL and self.steps.calls_module(v))
        return any(method.parameters[0] in called_object(v).computed_from() for v in own)

    def _is_method_elsewhere(self, call: Value) -> bool:
        """Whether a CALL runs a method of a module that another file defines: what runs in it is told nowhere else."""
        functions = self.solution.functions_of(call) if call.callee.op is Op.ATTRIBUTE else []
        return bool(functions) and all(
            function.is_foreign and function.owner is not None and is_module_class(function.owner)
            for function in functions
        )
