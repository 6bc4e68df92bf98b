"""Inference in functions of other files that record graphs: forwards there whose graph does not even leave them."""

from __future__ import annotations

from collections.abc import Callable

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps, called_object
from torchlint.facts.values.domain import Module
from torchlint.facts.values.frameworks import is_forward, may_be_module
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.origins import origins
from torchlint.facts.values.parameters import is_frozen
from torchlint.guarding import Guarding


class InferenceElsewhere:
    """Answers it for the calls of one file."""

    def __init__(self, flows: Flows, steps: Steps, is_used: Callable[[Value], bool]) -> None:
        """Ask ``is_used`` whether a call's own result reaches a backward."""
        self.solution = flows.solution
        self.flows = flows
        self.steps = steps
        self._is_used = is_used
        self._inferring: dict[tuple[Function, bool, bool], bool] = {}

    def infers(self, call: Value) -> bool:
        """Whether a function of another file runs forwards for this call whose graph does not even leave it."""
        functions = [function for function in self.solution.functions_of(call) if function.is_foreign]
        # Of a graph that comes back from a network which is known it is told where the whole is.
        evaluating = call.evaluating and not self.steps.calls_module(call) and not self.flows.live_parts(call)
        # Most calls run none; what escapes takes a walk through the whole file.
        infers = bool(functions) and any(
            self._infers_in(one, call in self.flows.escaped, evaluating) for one in functions
        )
        return infers and not self._is_trained_by_attribute(call) and not self._runs_frozen(call)

    def _runs_frozen(self, call: Value) -> bool:
        """``score(net, loader)``, ``Scorer(net).run(loader)``: whether all networks that are given there are frozen.

        Or the network itself, of which a method is called: ``vae.encode(images)``.
        """
        receiver = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
        if receiver is not None and is_frozen(self.solution, receiver):
            return True
        made = origins(self.solution, receiver) if receiver is not None else []
        given = [*call.arguments, *(argument for one in made if one.op is Op.CALL for argument in one.arguments)]
        networks = [argument for argument in given if may_be_module(self.solution, argument)]
        return bool(networks) and all(is_frozen(self.solution, network) for network in networks)

    def _is_trained_by_attribute(self, call: Value) -> bool:
        """``controller.sample()``, and then a backward over ``controller.log_prob``, which that has left there."""
        owners = set(self.solution.read_from(call.callee.inputs[0])) if call.callee.op is Op.ATTRIBUTE else set()
        if not owners:
            return False
        read = (value for value in self.solution.graph.of(Op.ATTRIBUTE) if value.name not in torch_api.module_methods())
        return any(
            not owners.isdisjoint(self.solution.read_from(value.inputs[0])) and self.flows.is_trained_on(value)
            for value in read
        )

    def runs_forwards_only(self, call: Value) -> bool:
        """Whether what a CALL runs are the forwards of models, which serve a training as well."""
        functions = [function for function in self.solution.functions_of(call) if function.is_foreign]
        return bool(functions) and all(map(is_forward, functions))

    def files_of(self, call: Value) -> str:
        """The names of the files whose functions a CALL runs, for a message: ``metrics.py``."""
        files = self.solution.graph.foreign.files
        functions = (function for function in self.solution.functions_of(call) if function.is_foreign)
        return " or ".join(sorted({files[function] for function in functions}))

    def is_guarded_by_others(self, call: Value) -> bool:
        """Whether other files guard what this one calls with gradients on."""
        called_elsewhere = self.solution.graph.foreign.called_elsewhere
        functions = [function for function in self.solution.functions_of(call) if function.is_foreign]
        return any(called_elsewhere[function]() is Guarding.MIXED for function in functions)

    def _infers_in(self, function: Function, escapes: bool, evaluating: bool = False) -> bool:
        """Whether a function of another file drops a graph; where what it returns ``escapes``, that is not dropped.

        ``evaluating``: who calls it, in another file as well, has put a model into evaluation mode.
        """
        if not function.is_foreign or function.name == "__init__" or self.steps.trains(function):
            return False
        key = (function, escapes, evaluating)
        if key not in self._inferring:
            self._inferring[key] = False  # a cycle of calls adds nothing to itself
            self._inferring[key] = any(
                self._is_dropped(call, escapes, evaluating or call.evaluating) for call in self.steps.calls_in(function)
            )
        return self._inferring[key]

    def _is_dropped(self, call: Value, escapes: bool, evaluating: bool) -> bool:
        """Whether a call in a function of another file runs a forward, under its caller's grad mode, for nothing."""
        if call.mode is not Mode.INHERITED or self._is_used(call):
            return False
        functions = self.solution.functions_of(call)
        if any(map(self.steps.trains, functions)):
            return False  # forces: the forward itself differentiates
        if functions and all(function.guard is Mode.OFF for function in functions):
            return False
        by_method = self.steps.runs_layers_by_method(call)
        if by_method or self.steps.calls_module(call):
            is_known = by_method or evaluating or self.steps.calls_network(call) or self._is_passed_network(call)
            leaves = call in self.solution.graph.foreign.leaving
            return is_known and ((evaluating and not escapes) or not leaves)
        return any(self._infers_in(function, escapes, evaluating) for function in functions)

    def _is_passed_network(self, call: Value) -> bool:
        """Whether an object of another file calls a module of torch that it was made with in this one."""
        called = called_object(call)
        atoms = self.solution.final(called) if called.op is Op.ATTRIBUTE else ()
        return any(isinstance(atom, Module) and atom.has_parameters for atom in atoms)
