"""Networks that an object has for inference alone: it puts them into evaluation mode, and they stay there.

``self.model = load(name).eval()`` in a class without a training: what its methods compute by the model is an answer,
also where they return it with its graph.
"""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import Module
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.homes import places_of
from torchlint.facts.values.overrides import has_unseen_base
from torchlint.facts.values.parameters import SAME_OBJECT, before_moves, is_of_self
from torchlint.facts.values.solve import Solution

TRAINING = frozenset(["train", "zero_grad", "requires_grad_", "backward", "grad"])
"""What a class calls that does more with a network than ask it."""


class Served:
    """Answers whether a call asks such a network."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Read the stores of attributes from ``solution``, what trains from ``steps``."""
        self.solution = solution
        self.steps = steps
        self._only_ask: dict[Class, bool] = {}

    def is_asked(self, call: Value) -> bool:
        """Whether a CALL in a method is of a network that its object keeps in evaluation mode, and never trains.

        A module's own method may be a part of a training that is not seen, and so may what answers an unseen base.
        """
        owner, model = call.function.owner, call.callee.unnarrowed()
        if owner is None or not is_of_self(model, call.function) or is_module_class(owner) or has_unseen_base(owner):
            return False
        if not self.solution.may_be(model, Module):
            return False
        return self.stays_in_evaluation(model) and self._only_asks(owner)

    def stays_in_evaluation(self, model: Value) -> bool:
        """Whether all that an attribute ever holds is in evaluation mode from the beginning."""
        places = places_of(self.solution, model) if model.op is Op.ATTRIBUTE else []
        kept = [value for place in places for value in self.solution.stored.get(place, ())]
        return bool(kept) and all(_is_put_into_evaluation(value) or self._is_set_to_rest(value) for value in kept)

    def _is_set_to_rest(self, kept: Value) -> bool:
        """Whether the function that stores a network says ``self.model.to(device).eval()`` there."""
        calls = (call for call in self.steps.calls_in(kept.function) if call.callee.op is Op.ATTRIBUTE)
        put = (call.callee.inputs[0] for call in calls if call.callee.name == "eval")
        return any(before_moves(model.unnarrowed()) is kept for model in put)

    def _only_asks(self, owner: Class) -> bool:
        if owner not in self._only_ask:
            methods = [method for cls in owner.lineage() for method in cls.methods.values()]
            self._only_ask[owner] = not any(map(self.steps.trains, methods)) and self._calls(methods).isdisjoint(
                TRAINING
            )
        return self._only_ask[owner]

    def _calls(self, methods: Iterable[Function]) -> set[str]:
        return {call.callee.name.rpartition(".")[2] for method in methods for call in self.steps.calls_in(method)}


def _is_put_into_evaluation(value: Value) -> bool:
    while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT:
        if value.callee.name == "eval":
            return True
        value = value.callee.inputs[0]
    return False
