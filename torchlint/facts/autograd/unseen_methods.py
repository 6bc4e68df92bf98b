"""Methods of models that are not seen, called where the model is in evaluation mode."""

from __future__ import annotations

from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.detached_inputs import is_input_of_detached
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.served import Served
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.parameters import is_frozen
from torchlint.frameworks import Holds, method_names


class UnseenMethods:
    """Answers whether such a call infers."""

    def __init__(self, flows: Flows, steps: Steps, served: Served) -> None:
        """Read what is detached from ``flows``, what stays in evaluation mode from ``served``."""
        self.flows, self.solution = flows, flows.solution
        self.steps = steps
        self._served = served

    def is_detached(self, call: Value) -> bool:
        """``model.eval()``, then ``model.encode(x)`` in code that is not seen, whose result is detached.

        Who detaches it knows that it has a graph.
        """
        if call not in self.flows.detached or not call.arguments or not self.is_in_evaluation(call):
            return False
        if call.callee.name in torch_api.module_methods() or call.callee.name in method_names(Holds.GUARDED):
            return False
        if is_frozen(self.solution, call.callee.inputs[0]):
            return False
        return not is_input_of_detached(self.flows, self.steps, call)

    def infers(self, call: Value) -> bool:
        """``model.eval()``, then ``model.validation_step(batch)`` in code that is not seen.

        Frameworks switch gradients off around such a method, so that it does not do so itself; of another method the
        file says it by a call of it under a guard.
        """
        name = call.callee.name
        is_step = name.endswith("_step") and name in method_names(Holds.NO_GRAD)
        if self.solution.functions_of(call) or not (is_step or name in self._guarded_methods):
            return False
        return self.is_in_evaluation(call)

    @cached_property
    def _guarded_methods(self) -> frozenset[str]:
        """The names of the methods of models that are called under a guard somewhere in the file."""
        guarded = (call for call in self.solution.graph.of(Op.CALL) if call.mode is Mode.OFF)
        names = {call.callee.name for call in guarded if self._is_of_module(call)}
        return frozenset(names - torch_api.module_methods() - method_names(Holds.GUARDED))

    def is_in_evaluation(self, call: Value) -> bool:
        """Whether a CALL gives something to a method of a model that is in evaluation mode."""
        if not call.arguments or not self._is_of_module(call):
            return False
        return call.evaluating or self._served.stays_in_evaluation(call.callee.inputs[0])

    def _is_of_module(self, call: Value) -> bool:
        if call.callee.op is not Op.ATTRIBUTE:
            return False
        return may_be_module(self.solution, call.callee.inputs[0])
