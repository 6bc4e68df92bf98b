"""Methods of models that are not seen, called where the model is in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.detached_inputs import is_input_of_detached
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.served import Served
from torchlint.facts.turns.steps import Steps, called_object
from torchlint.facts.values.domain import Unknown
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.overriding import is_left_open
from torchlint.facts.values.parameters import is_frozen
from torchlint.facts.values.reaching import reached
from torchlint.frameworks import Holds, method_names

CHANCES = frozenset(["softmax", "log_softmax"])
"""What is made of the scores that a network gives."""

HOPS = 2
"""Through so many methods of one object it is followed what it runs."""


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

    def gives_scores(self, call: Value) -> bool:
        """``model.eval()``, then ``F.log_softmax(model.head(state), -1)``: its head is not seen.

        Who makes chances of what it gives knows that a network computes it.
        """
        if call.callee.op is not Op.ATTRIBUTE or not call.arguments or self.solution.functions_of(call):
            return False
        if call.callee.name in torch_api.module_methods() or call.callee.name in method_names(Holds.GUARDED):
            return False
        if not any(map(_makes_chances, reached([call], _parts_of))) or not self.is_in_evaluation(call):
            return False
        return not is_frozen(self.solution, call.callee.inputs[0])

    def infers(self, call: Value) -> bool:
        """``model.eval()``, then ``model.validation_step(batch)`` in code that is not seen, or runs such code.

        Frameworks switch gradients off around such a method, so that it does not do so itself; of another method the
        file says it by a call of it under a guard, or by a backward over what it gives.
        """
        name = call.callee.name
        if self._is_guarded_elsewhere(call):
            return True
        is_step = name.endswith("_step") and name in method_names(Holds.NO_GRAD)
        if not (is_step or name in self._guarded_methods or name in self._trained_methods):
            return False
        functions = self.solution.functions_of(call)
        is_asked = self.is_in_evaluation(call) or (name in self._guarded_methods and self._is_only_read(call))
        return is_asked and all(self._runs_unseen(one, HOPS) for one in functions)

    def _is_only_read(self, call: Value) -> bool:
        """Whether what becomes of an answer in the file is that its numbers are taken: nobody trains on it."""
        if not call.arguments or not self._is_of_module(call):
            return False
        return call in self.flows.detached and call not in self.flows.trained and call not in self.flows.escaped

    def _is_guarded_elsewhere(self, call: Value) -> bool:
        """``self.evaluate_batch(batch)`` where models are in evaluation mode, which another method runs under a guard.

        What it runs of its object is not seen, as the methods are that the classes below have to have.
        """
        functions = self.solution.functions_of(call)
        if not functions or not call.evaluating or not self._is_of_own(call, call.function):
            return False
        guarded = (any(other.mode is Mode.OFF for other in self.solution.callers.get(one, ())) for one in functions)
        return all(guarded) and all(self._runs_unseen(one, HOPS) for one in functions)

    def runs_unseen(self, call: Value) -> bool:
        """Whether a CALL infers in code that may switch gradients off itself."""
        return self.infers(call) or self.gives_scores(call)

    def _runs_unseen(self, method: Function, hops: int) -> bool:
        """Whether a method leaves it to its callers to guard what it runs of its object, of which nothing is seen."""
        if method.guard is not Mode.INHERITED or not method.parameters or self.steps.trains(method):
            return False
        calls = [call for call in self.steps.calls_in(method) if self._is_of_own(call, method)]
        return any(calls) and all(self._is_left_open(call, hops) for call in calls)

    def _is_of_own(self, call: Value, method: Function) -> bool:
        """``self.net(batch)``, ``self.evaluate(batch)``"""
        is_own = call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] in method.parameters[:1]
        return is_own and bool(call.arguments) and call.callee.name not in torch_api.module_methods()

    def _is_left_open(self, call: Value, hops: int) -> bool:
        functions = self.solution.functions_of(call)
        if call.mode is not Mode.INHERITED:
            return False
        if functions:
            return all(is_left_open(one) or (hops > 0 and self._runs_unseen(one, hops - 1)) for one in functions)
        return self.solution.may_be(call.callee, Unknown)

    @cached_property
    def _guarded_methods(self) -> frozenset[str]:
        """The names of the methods of models that are called under a guard somewhere in the file."""
        guarded = (call for call in self.solution.graph.of(Op.CALL) if call.mode is Mode.OFF)
        return _of_programs(call.callee.name for call in guarded if self._is_of_module(call))

    @cached_property
    def _trained_methods(self) -> frozenset[str]:
        """The names of the methods of models, in code that is not seen, over whose answer a backward runs."""
        trained = (call for call in self.flows.trained if call.op is Op.CALL and self._is_of_module(call))
        unseen = (call for call in trained if call.arguments and not self.solution.functions_of(call))
        return _of_programs(call.callee.name for call in unseen)

    def is_in_evaluation(self, call: Value) -> bool:
        """Whether a CALL gives something to a method of a model that is in evaluation mode."""
        if not call.arguments or not self._is_of_module(call):
            return False
        model = call.callee.inputs[0]
        if call.evaluating or self._served.stays_in_evaluation(model):
            return True
        return self._is_handed_over_in_evaluation(model, HOPS)

    def is_of_given(self, call: Value) -> bool:
        """Whether a CALL is of a network that a function is given, and by all who call it in evaluation mode."""
        return self.steps.calls_module(call) and self._is_handed_over_in_evaluation(called_object(call), HOPS)

    def _is_handed_over_in_evaluation(self, model: Value, hops: int) -> bool:
        """Whether a function is given a model, and all who are seen to call it put that into evaluation mode before."""
        calls = self.solution.callers.get(model.function, {}) if model.op is Op.PARAMETER and hops else {}
        return bool(calls) and all(
            (given := binding.get(model)) is not None
            and (self._is_all_in_evaluation(call, given) or self._is_handed_over_in_evaluation(given, hops - 1))
            for call, binding in calls.items()
        )

    def _is_all_in_evaluation(self, call: Value, model: Value) -> bool:
        """Whether the one model that a CALL hands over is in evaluation mode there; of two one may train."""
        others = (one for one in call.arguments if one is not model)
        return call.evaluating and not any(may_be_module(self.solution, one) for one in others)

    def _is_of_module(self, call: Value) -> bool:
        if call.callee.op is not Op.ATTRIBUTE:
            return False
        return may_be_module(self.solution, call.callee.inputs[0])


def _makes_chances(call: Value) -> bool:
    return call.op is Op.CALL and call.callee.name.rpartition(".")[2] in CHANCES


def _parts_of(value: Value) -> list[Value]:
    """The parts that are taken of what a call gives, and what makes chances of one."""
    if _makes_chances(value):
        return []
    parts = [one for one in value.users if one.op in (Op.SUBSCRIPT, Op.ELEMENT) and one.inputs[0] is value]
    methods = [one for one in value.users if one.op is Op.ATTRIBUTE and one.name in CHANCES]
    return [*parts, *filter(_makes_chances, (one for given in (value, *methods) for one in given.users))]


def _of_programs(names: Iterable[str]) -> frozenset[str]:
    """The names among some that neither every module has nor a framework that guards in the method itself."""
    return frozenset(names) - torch_api.module_methods() - method_names(Holds.GUARDED)
