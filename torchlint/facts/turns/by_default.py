"""Functions that put a model into training mode if asked: ``def predict(self, x, training=False)``."""

from __future__ import annotations

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.overrides import has_unseen_base
from torchlint.facts.values.parameters import before_moves
from torchlint.facts.values.solve import Solution


class EvaluatingByDefault:
    """Answers whether a call concerns a model that is in evaluation mode unless a caller asks for the other one."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Read the callers from ``solution`` and the calls of each function from ``steps``."""
        self.solution = solution
        self.steps = steps
        self._idle: dict[Value, bool] = {}

    def flag(self, call: Value) -> Value | None:
        """The parameter by which ``model.train(training)`` put the model of a CALL into evaluation mode; None if none.

        It is False where it is not passed, and those who call the function pass nothing else; where nobody is seen to
        call it, or the model's own methods and unseen bases do, it may be a part of a training.
        """
        owner = call.function.owner
        if owner is not None and (is_module_class(owner) or has_unseen_base(owner)):
            return None
        for switch in self.steps.calls_in(call.function):
            given = switch.argument(0, "mode") if switch.callee.name == "train" else None
            if given is None or switch.callee.op is not Op.ATTRIBUTE or switch.index > call.index:
                continue
            if given.op is Op.PARAMETER and self._concerns(switch.callee.inputs[0], call) and self._is_idle(given):
                return given
        return None

    def _concerns(self, model: Value, call: Value) -> bool:
        """Whether a CALL is of the model itself, or of a method of the object that has the model."""
        model, callee = before_moves(model.unnarrowed()), call.callee.unnarrowed()
        if callee is model:
            return True
        if model.op is not Op.ATTRIBUTE or callee.op is not Op.ATTRIBUTE or callee.inputs[0] is not model.inputs[0]:
            return False
        return callee.name == model.name or bool(self.solution.functions_of(call))

    def _is_idle(self, flag: Value) -> bool:
        """Whether a parameter is False wherever it comes from in this file, and its function is called."""
        if flag not in self._idle:
            self._idle[flag] = False  # a function that calls itself adds nothing
            self._idle[flag] = self._is_off_by_default(flag) and self._is_left_off(flag)
        return self._idle[flag]

    def _is_off_by_default(self, flag: Value) -> bool:
        return any(map(_is_false, flag.inputs))

    def _is_left_off(self, flag: Value) -> bool:
        calls = self.solution.callers.get(flag.function, {})
        return bool(calls) and all(
            call.op is Op.CALL and None not in call.keys[1:] and self._is_off(binding.get(flag))
            for call, binding in calls.items()
        )

    def _is_off(self, given: Value | None) -> bool:
        if given is None or _is_false(given):
            return True
        if given.op is not Op.PARAMETER or not self._is_off_by_default(given):
            return False
        return not self.solution.callers.get(given.function) or self._is_idle(given)


def _is_false(value: Value) -> bool:
    return value.op is Op.CONSTANT and value.name == "False"
