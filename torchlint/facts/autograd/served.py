"""Networks that an object has for inference alone: it puts them into evaluation mode, or reads their weights.

``self.model = load(name).eval()`` in a class without a training: what its methods compute by the model is an answer,
also where they return it with its graph. So is what a network computes whose weights are read from a file where it is
made, of what a method itself has made of a text, an image or numbers, if nobody gets the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.origins import agreed
from torchlint.facts.values.overrides import has_unseen_base
from torchlint.facts.values.own_data import MAKING
from torchlint.facts.values.parameters import before_moves, is_of_self
from torchlint.facts.values.resting import Resting
from torchlint.facts.values.solve import Solution

TRAINING = frozenset(["train", "zero_grad", "requires_grad_", "backward", "grad"])
"""What a class calls that does more with a network than ask it."""


HANDING_OUT = frozenset(["parameters", "named_parameters", "get_parameter", "state_dict", "add_param_group"])
"""What a class calls that gives the parameters of a network to others: an optimizer, a checkpoint."""

READS = ("torch.load", "safetensors.torch.load_file", "joblib.load")
"""What reads weights from a file."""


class Served:
    """Answers whether a call asks such a network."""

    def __init__(self, solution: Solution, steps: Steps, project: Imports) -> None:
        """Read the stores of attributes from ``solution``, what trains from ``steps``, who else from ``project``."""
        self.solution = solution
        self.project = project
        self.steps = steps
        self._resting = Resting(solution)
        self._only_ask: dict[Class, bool] = {}

    def is_asked(self, call: Value) -> bool:
        """Whether a CALL in a method is of a network that its object keeps in evaluation mode, and never trains.

        A module's own method may be a part of a training that is not seen, and so may what answers an unseen base.
        """
        owner, model = call.function.owner, call.callee.unnarrowed()
        if owner is None or not is_of_self(model, call.function) or is_module_class(owner) or has_unseen_base(owner):
            return False
        if not may_be_module(self.solution, model) or not self._only_asks(owner):
            return False
        return self.stays_in_evaluation(model) or self._is_only_read(call, owner)

    def is_in_doubt(self, call: Value) -> bool:
        """Whether nothing but where the weights come from says so of a network."""
        return self.is_asked(call) and not self.stays_in_evaluation(call.callee.unnarrowed())

    def _is_only_read(self, call: Value, owner: Class) -> bool:
        """Whether weights are read for a network, and nobody who trains has it, or goes on with what is computed."""
        model = call.callee.unnarrowed()
        if not self._is_read(model) or owner in self._handing_out or not any(map(self._is_prepared, call.arguments)):
            return False
        if any(other is not call and self.steps.calls_module(other) for other in self.steps.calls_in(call.function)):
            return False  # a loss, which compares two answers, or asks for the distance of one
        return not self.project.train_on(model.name) and not self.project.train_on(call.function.name)

    def stays_in_evaluation(self, model: Value) -> bool:
        """Whether all that an attribute ever holds is in evaluation mode from the beginning."""
        places = self.solution.read_from(model) if model.op is Op.ATTRIBUTE else []
        kept = [value for place in places for value in self.solution.stored.get(place, ())]
        return bool(kept) and all(self._resting.comes_at_rest(value) or self._is_set_to_rest(value) for value in kept)

    def _is_read(self, model: Value) -> bool:
        """Whether all that an attribute ever holds, but for nothing, has its weights from a file where it is made."""
        places = self.solution.read_from(model) if model.op is Op.ATTRIBUTE else []
        stored = [value for place in places for value in self.solution.stored.get(place, ())]
        kept = [value for value in stored if value.name != "None"]
        return bool(kept) and all(_is_pretrained(value) or self._takes_weights(value) for value in kept)

    def _takes_weights(self, kept: Value) -> bool:
        """``self.net.load_state_dict(torch.load(path))`` where the network is stored."""
        calls = (call for call in self.steps.calls_in(kept.function) if call.callee.name == "load_state_dict")
        made = before_moves(kept)
        return any(
            before_moves(call.callee.inputs[0].unnarrowed()) in (kept, made)
            and any(
                part.callee.name in READS
                for given in call.arguments
                for part in given.computed_from()
                if part.op is Op.CALL
            )
            for call in calls
            if call.callee.op is Op.ATTRIBUTE
        )

    def _is_prepared(self, given: Value) -> bool:
        """Whether what a network is given is no tensor of the caller: tokens of a text, one image, a row of numbers."""
        return any(part.op is Op.CALL and self._makes_data(part) for part in given.computed_from())

    def _makes_data(self, call: Value) -> bool:
        name = call.callee.name
        if call.callee.op is Op.EXTERNAL:
            return name in MAKING or not name.startswith(("torch.", "builtins."))
        if call.callee.op is not Op.ATTRIBUTE or torch_api.method(name) is None:
            return True
        return name == "unsqueeze" and agreed(self.solution, call.argument(0, "dim")) == 0

    @cached_property
    def _handing_out(self) -> frozenset[Class]:
        """The classes of which a method gives away parameters of a network."""
        asked = (value for value in self.solution.graph.of(Op.ATTRIBUTE) if value.name in HANDING_OUT)
        owners = {value.function.owner for value in asked if not _asks_for_device(value)}
        return frozenset(owner for owner in owners if owner is not None)

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


def _is_pretrained(value: Value) -> bool:
    """``AutoModel.from_pretrained(name)``, or layers of ``resnet18(pretrained=True)``, moved as may be."""
    made = before_moves(value)
    calls = (part for part in made.computed_from() if part.op is Op.CALL)
    return any(one.callee.name.endswith(".from_pretrained") or _asks_for_weights(one) for one in calls)


def _asks_for_weights(call: Value) -> bool:
    """Whether a CALL of what makes a network asks for weights that others trained."""
    pretrained, weights = call.argument(-1, "pretrained"), call.argument(-1, "weights")
    return (pretrained is not None and pretrained.name == "True") or (weights is not None and weights.name != "None")


def _asks_for_device(method: Value) -> bool:
    """``next(net.parameters()).device``"""
    using = (user for call in method.calls for user in call.users)
    return all(user.op is Op.CALL and user.callee.name == "builtins.next" for user in using)
