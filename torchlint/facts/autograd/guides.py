"""Networks that a loss or a model is given to look at their answers alone, as a guide that sorts negatives out."""

from __future__ import annotations

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.outliving import outlives_its_statement
from torchlint.facts.turns.steps import Steps, called_object
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at


class Guides:
    """Answers which forwards in a method of a module are of a guide.

    What a module's own layers compute may decide how it goes on, and is small: a gate, a router. A guide is a network
    of its own, which the module was given beside another one; its graph stays until the method returns, beside the
    graph of that other one, which is what its callers train.
    """

    def __init__(self, flows: Flows, steps: Steps) -> None:
        """Work on the flows and steps of a file."""
        self.solution = flows.solution
        self.flows = flows
        self.steps = steps
        self._given_on: dict[Function, frozenset[Value]] = {}

    def asks(self, call: Value) -> bool:
        """Whether a CALL runs a guide: of its graph, which a variable holds, nothing leaves the method."""
        if not self._is_of_given(call) or not outlives_its_statement(self.solution, call):
            return False
        given_on = self._leaving(call.function)
        return call not in given_on and any(
            other in given_on and self._is_of_given(other) and not self._are_of_one(call, other)
            for other in self.steps.calls_in(call.function)
        )

    def _leaving(self, function: Function) -> frozenset[Value]:
        """What flows into what a function returns, be it through helpers, or into what anybody keeps."""
        if function not in self._given_on:
            stores = self.flows.solution.graph.stores
            kept = [store.value for store in stores if store.attribute or store.place is not None]
            results = [function.result] if function.result is not None else []
            self._given_on[function] = self.flows.ancestry.of_all([*results, *kept, *self.flows.exits()])
        return self._given_on[function]

    def _is_of_given(self, call: Value) -> bool:
        """Whether a CALL in a method of a module is of a network that only its constructor puts on it, as given."""
        owner, network = call.function.owner, called_object(call)
        if owner is None or not is_module_class(owner) or network.op is not Op.ATTRIBUTE:
            return False
        if network.inputs[0].unnarrowed() not in call.function.parameters[:1] or not self.steps.calls_module(call):
            return False
        given = stored_at(self.solution, network)
        return bool(given) and all(
            one.unnarrowed().op is Op.PARAMETER and one.function.name == "__init__" for one in given
        )

    def _are_of_one(self, call: Value, other: Value) -> bool:
        """Whether two calls are of one network, whatever the attributes are called."""
        first, second = (called_object(one) for one in (call, other))
        return first.name == second.name or not set(stored_at(self.solution, first)).isdisjoint(
            stored_at(self.solution, second)
        )
