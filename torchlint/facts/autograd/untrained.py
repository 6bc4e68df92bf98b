"""Forwards in a training step that record a graph although nothing is trained through them.

The network is in no optimizer (a teacher, a target, a fixed extractor), or its gradients are thrown away before its own
optimizer steps (the generator in the discriminator's step); and what it is given needs no gradient either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.collected_layers import collects_live
from torchlint.facts.autograd.decided import is_decided
from torchlint.facts.autograd.detached_ends import ends_detached
from torchlint.facts.autograd.discarding import Discarding
from torchlint.facts.autograd.forwarded import Forwarded, RunByObject
from torchlint.facts.autograd.frozen_parts import runs_for_frozen
from torchlint.facts.autograd.handed_to_training import HandedToTraining
from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.autograd.outliving import outlives_its_statement
from torchlint.facts.autograd.trained_tensors import TrainedTensors
from torchlint.facts.autograd.trainees import Trainees
from torchlint.facts.autograd.unseen_uses import UnseenUses
from torchlint.facts.autograd.whole_statements import is_alone
from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.domain import Argument, Derived, Instance, Module, surely_graphless
from torchlint.facts.values.frameworks import is_forward, may_be_module, trains_on_result
from torchlint.facts.values.freezing import switched_subjects
from torchlint.facts.values.graph import Backward, Class, Function, Op, Place, Value
from torchlint.facts.values.parameters import is_all_frozen, is_frozen
from torchlint.frameworks import Holds, method_names

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class UntrainedForward:
    """A forward that records a graph in vain.

    Attributes:
        call: the forward, or the call of a function that runs it.
        name: how the program writes the network there, or the method of it.
        backward: the backward that goes through it, None when none does.
        trained: True when the network learns nothing from this, whoever trains it: its gradients are zeroed before the
            optimizer steps, or no backward reaches it.
        certain: True when all that is trained in this file is seen.
        supposed: True when the optimizer is not seen: the network stays in evaluation mode, beside one that does not.
        made: for a network that an object of another file runs, where this one makes it, or the object that has it.
        part: the attribute by which a network of another file has another one that it makes itself; "" for any other.
        whole: True when its statement computes nothing but this.
        results: the calls of its statement that give such graphs on, of those one in the other the outermost.
    """

    call: Value
    name: str
    backward: Backward | None
    trained: bool
    certain: bool
    supposed: bool
    made: Value | None
    part: str
    whole: bool
    results: tuple[Value, ...]


def untrained_forwards(facts: Facts) -> list[UntrainedForward]:
    """Every such forward of a file; of a chain of them in one statement the first."""
    return _Search(facts).found()


class _Search:
    """One file's search."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.optimized = Optimized(facts.flows)
        self.trainees = Trainees(facts, self.optimized)
        self.trained_tensors = TrainedTensors(facts, self.optimized)
        self.extents = facts.extents
        self.forwarded = Forwarded(facts)
        self.discarding = Discarding(facts, self.optimized)
        self.unseen = UnseenUses(facts, self.optimized, self.trainees)
        self._switched = switched_subjects(self.solution)
        self._handed_to_training = HandedToTraining(facts.solution, facts.steps)
        self._wasted: dict[Value, UntrainedForward | None] = {}
        self._left: dict[Function, frozenset[Value]] = {}

    def found(self) -> list[UntrainedForward]:
        """See :func:`untrained_forwards`."""
        found: dict[cst.CSTNode, list[UntrainedForward]] = defaultdict(list)
        for call in self.facts.calls():
            if call.statement is None or call in self._inferred:
                continue
            one = self._of(call)
            runs = [*self.forwarded.by_object(call), *self.forwarded.by_function(call)] if one is None else []
            forwards = [one, *(self._run_elsewhere(run) for run in runs)]
            found[call.statement] += [forward for forward in forwards if forward is not None]
        return [_together(forwards) for forwards in found.values() if forwards]

    @cached_property
    def _inferred(self) -> frozenset[Value]:
        """Forwards of inference, which another rule tells of."""
        return frozenset(call for one in self.facts.inferences.found.values() for call in one.forwards)

    def _of(self, call: Value) -> UntrainedForward | None:
        if call not in self._wasted:
            self._wasted[call] = None  # a cycle gives itself no reason
            try:
                self._wasted[call] = self._compute(call)
            except AttributeError:
                del self._wasted[call]  # a bare tree could not name it; these facts are asked again once it can
                raise
        return self._wasted[call]

    def _compute(self, call: Value) -> UntrainedForward | None:
        helped = self._run_by_helper(call)
        module = self.forwarded.module(call) or self.forwarded.by_method(call) or helped
        if is_forward(call.function) and any(
            self._of(caller) for caller in self.solution.callers.get(call.function, ())
        ):
            return None  # a part of a network that is found as a whole
        runs = (run.network for run in self.forwarded.by_object(call))
        if any(network in call.arguments and self.optimized.is_trained(network) for network in runs):
            return None  # whatever else it runs, it is handed one that is trained
        return None if module is None else self._judged(call, module, call.arguments, helped)

    def _run_elsewhere(self, run: RunByObject) -> UntrainedForward | None:
        """A network that this file makes, in one place, and an object of another file runs in a training.

        Or that such an object, which is made here, makes for itself.
        """
        made = self.optimized.making(run.network)
        part = run.network.name if made is None and self._makes_itself(run) else ""
        made = self.optimized.making(called_object(run.call)) if part else made
        if made is None or (not run.is_whole and self.optimized.is_trained(run.network)):
            return None
        if not self._may_have_weights(run.network):
            return None
        found = self._judged(run.call, run.network, run.given, made=made)
        return replace(found, part=part) if found is not None and found.backward is not None else None

    def _makes_itself(self, run: RunByObject) -> bool:
        """Whether the network that an object runs is one that its class, of another file, makes: no parameter."""
        roots = self.optimized.roots(run.network)
        return run.network.op is Op.ATTRIBUTE and all(
            isinstance(root, Value) and root.op is Op.GIVEN and root.function.parent is None for root in roots
        )

    def _judged(
        self,
        call: Value,
        module: Value,
        given: Sequence[Value],
        helped: Value | None = None,
        made: Value | None = None,
    ) -> UntrainedForward | None:
        """A ``call`` that runs ``module`` on what is ``given``, if that is in vain.

        Args:
            call: the call.
            module: the network.
            given: what it is run on.
            helped: the network as it is handed to a function that runs it.
            made: where a network is made that an object of another file runs.
        """
        if not self._is_in_training(call) or not self._records(call, module):
            return None
        if any(self._wants_gradient(argument) for argument in given):
            return None
        backwards = [b for b in self.facts.graph.backwards if call in self.flows.ancestry.of(b.root)]
        if not backwards and (call in self.flows.trained or not self._stays(call)):
            return None  # a backward of another file may be the one that trains it
        if not backwards and (call in self.facts.hooks.used_through or self._handed_to_training.has(call)):
            return None
        if any(backward.retains and not backward.inputs for backward in backwards):
            return None  # what is kept for another backward may be wanted there
        trained = self.optimized.is_trained(module)
        is_detached = not backwards and self._is_dropped(call) and ends_detached(self.flows, call)
        if not trained and self.forwarded.module(call) is None and helped is None and made is None:
            return None  # what runs in the method is found there, for all callers at once
        if trained:
            if is_forward(call.function):
                return None  # whose backward it is differs from caller to caller
            if not (all(self._is_discarded(module, b) for b in backwards) if backwards else self._is_dropped(call)):
                return None
            if not backwards and self.flows.loses_sight:
                return None  # what it is trained by may well be this
        elif not (is_detached or self.trainees.is_no_trainee(module)):
            return None
        supposed = not all(self._trains_another(module, backward) for backward in backwards)
        if supposed and not (
            self.trainees.is_evaluated(module) and all(map(partial(self._trains_beside, module), backwards))
        ):
            return None
        if not (backwards or is_detached) and not any(
            self.trainees.is_optimized(other) for other in self._modules_in(call.function)
        ):
            return None
        backward = backwards[0] if backwards else None
        is_made = all(isinstance(r, Value) and r.op is not Op.PARAMETER for r in self._roots(module))
        certain = is_made and not trained and not self.unseen.uses(module, backwards)
        certain = certain and call not in self.flows.inspected
        is_given = helped is not None and helped.function is call.function
        name = self.facts.name_in(call, helped) if helped is not None and is_given else self.facts.called(call)
        whole = made is None and is_alone(self.facts, call, lambda other: self._of(other) is not None)
        is_known = trained or is_detached
        return UntrainedForward(call, name, backward, is_known, certain, supposed, made, "", whole, (call,))

    # -- which calls ----------------------------------------------------------------------------------------------

    def _networks_of(self, call: Value) -> list[Value]:
        """The networks that a CALL runs, itself or by a function that it gives them to."""
        network = self.forwarded.module(call) or self._run_by_helper(call)
        return [network] if network is not None else self.forwarded.run_elsewhere(call)

    def _is_discarded(self, module: Value, backward: Backward) -> bool:
        return self.discarding.is_discarded(module, backward, self._networks_of)

    def _run_by_helper(self, call: Value) -> Value | None:
        """The network that a CALL hands to a function for many networks.

        Where what is said holds for all that are handed over, it is said in the function.
        """
        handed = self.forwarded.by_helper(call)
        if handed is None or any(one in self._inferred or self._of(one) is not None for one in handed.within):
            return None
        return handed.network

    def _is_in_training(self, call: Value) -> bool:
        """Whether the function trains, by itself, by its callers or by a framework; none that builds an object."""
        function = call.function
        if function.name == "__init__":
            return False
        around = (function, *self.solution.callers_above([function]))
        return any(self.steps.trains(one) or trains_on_result(one) for one in around)

    def _records(self, call: Value, module: Value) -> bool:
        if not self.flows.modes.records(call) or is_frozen(self.solution, module):
            return False
        if runs_for_frozen(self.solution, call.function):
            return False
        if not self._may_train(module):
            return False
        if is_decided(self.solution, call) or not self._switched.isdisjoint(self._roots(module) | {module}):
            return False
        if any(self.steps.trains(function) for function in self.solution.functions_of(call)):
            return False
        parts = bool(self.flows.live_parts(call)) or collects_live(self.flows, call)
        return parts or self.extents.is_method_of_module(call)

    def _may_train(self, module: Value) -> bool:
        """Whether a network has parameters of its own that get gradients, as far as its class is seen."""
        atoms = self.solution.final(module)
        instances = [atom for atom in atoms if isinstance(atom, Instance)]
        if not instances or len(instances) < len(atoms):
            return True
        return any(
            self.steps.may_have_parameters(atom.cls)
            and not is_all_frozen(self.solution, atom.cls)
            and not self._answers_without_graph(atom.cls)
            for atom in instances
        )

    def _answers_without_graph(self, cls: Class) -> bool:
        """Whether the forward of a class, be it in another file, gives nothing with a graph: it switches them off."""
        forward = cls.method("forward")
        if forward is None:
            return False
        forward.open()
        return forward.result is not None and surely_graphless(self.solution.final(forward.result))

    def _wants_gradient(self, argument: Value) -> bool:
        """Whether an argument has a graph that begins elsewhere than in such a forward, or may have one."""
        if surely_graphless(self.solution.final(argument)):
            return False
        if self.trained_tensors.reach_in(argument):
            return True
        for part in argument.computed_from():
            is_forward_of = (
                part.op is Op.CALL and (self.forwarded.module(part) or self.forwarded.by_method(part)) is not None
            )
            if is_forward_of and self._of(part) is not None:
                continue
            if part.op is Op.PARAMETER and self._is_unknown_parameter(part):
                return True
            if part.op in (Op.READ, Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT) and self._comes_of_wasted(part):
                continue
            if part.op is Op.CALL and self._is_guarded_in_library(part):
                continue
            network = self.forwarded.module(part) if part.op is Op.CALL else None
            if network is not None and self._may_have_weights(network):
                return True  # another network is trained through this one, whatever is seen of its result
            if self._is_object(part):
                continue
            if self.flows.live(part) is not None or self.flows.is_leaf(part):
                if not self._comes_of_wasted(part):
                    return True
        return False

    def _is_guarded_in_library(self, call: Value) -> bool:
        """``policy.generate(prompts)`` of a network of no class of the project: what it gives has no graph."""
        if call.callee.op is not Op.ATTRIBUTE or self.solution.functions_of(call):
            return False
        is_guarded = call.callee.name in method_names(Holds.GUARDED) - {"__call__"}
        return is_guarded and may_be_module(self.solution, call.callee.inputs[0])

    def _may_have_weights(self, module: Value) -> bool:
        """Whether something may be trained in a module: not in a spectrogram, a pooling, a softmax."""
        atoms = self.solution.final(module)
        return not all(isinstance(atom, Module) and not atom.has_parameters for atom in atoms)

    def _is_object(self, value: Value) -> bool:
        """Whether a value is a module or what calls one, and no tensor."""
        atoms = self.solution.final(value)
        return value.op in (Op.FUNCTION, Op.CLASS, Op.EXTERNAL) or any(isinstance(a, Module | Instance) for a in atoms)

    def _comes_of_wasted(self, value: Value) -> bool:
        """Whether the graph of a value begins with forwards through which nothing is trained, and nowhere else."""
        found = self.flows.live(value)
        origin = found.origin if found is not None else None
        return origin is not None and origin in self._wasted and self._wasted[origin] is not None

    def _is_unknown_parameter(self, parameter: Value) -> bool:
        """Whether a tensor comes from callers that are not seen, and not as the data of a step."""
        function = parameter.function
        if self.solution.callers.get(function):
            return False
        if not self.solution.may_be(parameter, Argument | Derived):
            return False
        is_step = bool(self.facts.graph.backwards) and (self.steps.trains(function) or trains_on_result(function))
        return not is_step and function.parent is not None

    def _stays(self, call: Value) -> bool:
        """Whether a graph that no backward uses outlives its statement: a variable holds it."""
        is_unknown = self.extents.is_method_of_module(call) and self.forwarded.module(call) is None
        if is_unknown or call in self.flows.inspected:
            return False
        return outlives_its_statement(self.solution, call)

    def _is_dropped(self, call: Value) -> bool:
        """Whether the graph stays in a function that trains: what leaves, others may train on."""
        function = call.function
        if call in self.flows.escaped or call in self.flows.put_away or not self.steps.trains(function):
            return False
        if function.parent is None:
            return call.loop is not None  # the variables of a script are seen by all of it, and so leave nothing
        return call not in self._leaving(function)

    def _leaving(self, function: Function) -> frozenset[Value]:
        """All that flows into what a function returns, or into what outlives its call."""
        if function not in self._left:
            stores = self.facts.graph.stores_in(function)
            kept = [store.value for store in stores if store.attribute or store.place is not None]
            results = [function.result] if function.result is not None else []
            self._left[function] = self.flows.ancestry.of_all([*kept, *results])
        return self._left[function]

    # -- whether it is trained ------------------------------------------------------------------------------------

    def _roots(self, module: Value) -> frozenset[Value | Place]:
        return self.optimized.roots(module)

    def _trains_another(self, module: Value, backward: Backward) -> bool:
        """Whether a backward is there for another network, whose gradients are used, or for what else goes through."""
        return self.trained_tensors.go_through(module, backward, self._networks_of) or any(
            self.trainees.is_optimized(other) and not self._is_discarded(other, backward)
            for other in self._others_before(module, backward)
        )

    def _trains_beside(self, module: Value, backward: Backward) -> bool:
        """Whether a backward goes through another network that is trained, as its mode or its gradients say."""
        others = self._others_before(module, backward)
        return any(self.trainees.is_switched(one, trains=True) or self.trainees.is_clipped(one) for one in others)

    def _others_before(self, module: Value, backward: Backward) -> list[Value]:
        """The other networks through which a backward goes."""
        before = self.flows.ancestry.of(backward.root)
        calls = [call for call in self.facts.calls() if call in before]
        networks = [one for call in calls for one in self._networks_of(call) or [call.callee]]
        elsewhere = (self.forwarded.by_function, self.forwarded.by_object)
        networks += [run.network for call in calls for runs in elsewhere for run in runs(call)]
        return [one for one in networks if one.op is not Op.EXTERNAL and not self.optimized.overlap(module, one)]

    def _modules_in(self, function: Function) -> list[Value]:
        """The networks of which a function runs the forward, or a method that gives what a part of one gives."""
        calls = self.steps.calls_in(function)
        return [self.forwarded.module(call) or self.forwarded.by_method(call) or call.callee for call in calls]


def _together(forwards: list[UntrainedForward]) -> UntrainedForward:
    """The forwards of one statement as the first of them."""
    inner = {part for one in forwards for part in one.call.computed_from() if part is not one.call}
    results = tuple(one.call for one in forwards if one.call not in inner)
    return replace(forwards[0], results=results, certain=all(one.certain for one in forwards))
