"""Forwards that are no inference, though no backward is seen: what has no weights, what is prepared for a guarded one.

And what may differentiate by itself, what subclasses make of it, what reads as an array and so has no graph.
"""

from __future__ import annotations

from functools import cached_property

from torchlint.facts.autograd.arrays import read_as_arrays
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.layers import layers
from torchlint.facts.autograd.unseen_training import is_given_what_trains
from torchlint.facts.turns.steps import Steps, called_object
from torchlint.facts.values.domain import Instance, Module
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.overriding import is_left_open
from torchlint.facts.values.parameters import all_same_objects

HOPS = 3
"""Through so many functions it is followed to whom a network is given."""

WITHIN = (Mode.OFF, Mode.UNKNOWN)
"""The modes in a guard; what another context manager does within one is not known."""

LOOKUPS = frozenset(["torch.nn.Embedding", "torch.nn.Embedding.from_pretrained"])
"""What makes a layer that looks up rows of its weights."""

CONVERTING = "astype"
"""A method that arrays of NumPy have, and tensors have not."""


class LeftOut:
    """Says of the calls of one file which ones are left out of its inference, whatever becomes of their graph."""

    def __init__(self, flows: Flows, steps: Steps) -> None:
        """Search when first asked."""
        self.solution = flows.solution
        self.flows = flows
        self.steps = steps
        self._open: dict[Function, bool] = {}

    def is_left_to_subclasses(self, call: Value) -> bool:
        """Whether a CALL is of an object whose class has no forward to speak of: an explainer, a search, a solver.

        One that is put into evaluation mode is a network, whatever its subclasses do.
        """
        atoms = self.solution.final(call.callee)
        forwards = [atom.cls.method("forward") for atom in atoms if isinstance(atom, Instance)]
        if not forwards or len(forwards) < len(atoms):
            return False  # the most
        if not all(method is not None and is_left_open(method) for method in forwards):
            return False
        itself = set(all_same_objects(self.solution, called_object(call)))
        modes = (one for one in self.steps.calls_in(call.function) if one.callee.name == "eval" and one.callee.inputs)
        return all(itself.isdisjoint(all_same_objects(self.solution, one.callee.inputs[0])) for one in modes)

    def may_differentiate(self, call: Value) -> bool:
        """Whether a CALL is of a model that nobody is seen to make, where the program has one that differentiates.

        Or of a function that gives a network, and what is computed of its output, to code that is not seen.
        """
        if functions := self.solution.functions_of(call):
            return any(self._leaves_training_open(function, HOPS) for function in functions)
        atoms = self.solution.final(call.callee)
        return self._has_differentiating_forward and not any(isinstance(atom, Instance) for atom in atoms)

    def _leaves_training_open(self, function: Function, hops: int) -> bool:
        """Whether a function, or one that it calls, gives to code that is not seen what that may train with."""
        if function not in self._open:
            self._open[function] = False  # a cycle of calls gives no more than it gives
            calls = self.steps.calls_in(function)
            self._open[function] = any(
                is_given_what_trains(self.solution, one) and self.flows.is_unknown_call(one) for one in calls
            ) or any(
                hops > 0 and self._leaves_training_open(inner, hops - 1)
                for one in calls
                for inner in self.solution.functions_of(one)
            )
        return self._open[function]

    @cached_property
    def _has_differentiating_forward(self) -> bool:
        return any(is_forward(function) and self.steps.trains(function) for function in self.solution.graph.functions)

    def runs_no_network(self, call: Value) -> bool:
        """Whether a CALL makes a layer, looks rows up, is without weights, takes or gives arrays of NumPy."""
        if call in self._read_as_arrays or call in self._layers:
            return True
        return self._has_no_weights(call) or self._takes_arrays(call) or self._looks_up(call)

    def _has_no_weights(self, call: Value) -> bool:
        """A softmax, a loss: whatever it is given was made by a forward, or is a weight by itself."""
        atoms = self.solution.final(call.callee)
        return all(isinstance(atom, Module) and not atom.has_parameters for atom in atoms)

    def _looks_up(self, call: Value) -> bool:
        """``net.embedding(ids)``: a row of weights for each index, for which nothing but the indices is kept."""
        made = [one.callee.name for one in all_same_objects(self.solution, call.callee) if one.op is Op.CALL]
        return bool(made) and LOOKUPS.issuperset(made)

    def _takes_arrays(self, call: Value) -> bool:
        """``self.encoder(ids.astype(np.int32))`` of what is not seen: no network of torch is given arrays of NumPy."""
        atoms = self.solution.final(call.callee)
        is_seen = any(isinstance(atom, Instance) and is_module_class(atom.cls) for atom in atoms)
        return not is_seen and any(one.op is Op.CALL and one.name == CONVERTING for one in call.arguments)

    @cached_property
    def _layers(self) -> frozenset[Value]:
        """What is made a layer of: ``Sequential(*[block(3) for _ in range(n)])`` calls a class."""
        return layers(self.flows)

    @cached_property
    def _read_as_arrays(self) -> frozenset[Value]:
        """What NumPy reads, and would refuse if it had a graph: a guard stands elsewhere, or all is frozen."""
        read = read_as_arrays(self.flows)
        # One forward of a function with gradients on would raise: those beside it run without them, too.
        guarded = {one.function for one in read if one.mode is Mode.INHERITED and self.steps.calls_module(one)}
        calls = (call for call in self.solution.graph.of(Op.CALL) if call.function in guarded)
        return read | frozenset(call for call in calls if call.mode is Mode.INHERITED)

    @cached_property
    def prepared(self) -> frozenset[Value]:
        """All that flows into a forward which the program guards: whoever guards that leaves the rest out on purpose.

        What normalizes or augments the input of a network seldom has parameters.
        """
        return self.flows.ancestry.of_all(
            argument
            for call in self.solution.graph.of(Op.CALL)
            if (self.steps.calls_module(call) and (call.mode in WITHIN or not self.flows.modes.records(call)))
            or (call.mode in WITHIN and self.flows.is_unknown_call(call))
            for argument in call.arguments
        )


def is_metric_of_several(call: Value) -> bool:
    """``for metric in self.metrics: self.log(name, metric(predicted, wanted))``: the graph is that of who predicted."""
    callee = call.callee
    is_method = call.function.owner is not None and is_module_class(call.function.owner)
    if not is_method or callee.op is not Op.ELEMENT or len(call.arguments) < 2:
        return False
    return all(argument.op is Op.PARAMETER for argument in call.arguments)
