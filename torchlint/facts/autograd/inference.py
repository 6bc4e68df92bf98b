"""Forwards whose graph nobody uses: where a program runs a network for its answer alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.autograd.answers_in_arrays import AnswersInArrays
from torchlint.facts.autograd.beside import beside
from torchlint.facts.autograd.beside_training import BesideTraining
from torchlint.facts.autograd.by_contract import InferringMethods
from torchlint.facts.autograd.decided import is_asked_for, is_decided, is_volatile
from torchlint.facts.autograd.demonstrations import Demonstrations
from torchlint.facts.autograd.detached_answers import is_detached_answer
from torchlint.facts.autograd.detached_ends import is_target_of_step
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.guides import Guides
from torchlint.facts.autograd.inference_elsewhere import InferenceElsewhere
from torchlint.facts.autograd.left_out import LeftOut, is_metric_of_several
from torchlint.facts.autograd.left_terms import LeftTerms
from torchlint.facts.autograd.left_to_callers import LeftToCallers, asks_whole_network
from torchlint.facts.autograd.made_up import Maker, makers
from torchlint.facts.autograd.older_torch import OlderTorch
from torchlint.facts.autograd.outliving import outlives_its_statement
from torchlint.facts.autograd.overridden import Overridden
from torchlint.facts.autograd.probed import is_probe
from torchlint.facts.autograd.prompts import EncodedPrompts
from torchlint.facts.autograd.run_forwards import RunForwards
from torchlint.facts.autograd.served import Served
from torchlint.facts.autograd.trained_elsewhere import TrainedElsewhere
from torchlint.facts.autograd.unseen_methods import UnseenMethods
from torchlint.facts.autograd.unseen_training import given_while_training
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.turns.by_default import EvaluatingByDefault
from torchlint.facts.turns.evaluating import Evaluating
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.frameworks import is_module_class, may_be_module, may_be_optimizer, trains_on_result
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.overrides import has_unseen_base
from torchlint.facts.values.parameters import has_frozen_part

if TYPE_CHECKING:
    from torchlint.facts.hooks.taps import Taps


@dataclass(frozen=True)
class Inference:
    """A function, or a part of one, that runs forwards with gradients on and never a backward.

    Attributes:
        function: where.
        forwards: the calls that record the graphs, in source order.
        inline: True when only these statements infer, since the function trains as well, computes what others train on
            (or is a module's body).
        says_eval: True when the model was put into evaluation mode before: the program says that it infers.
        leaves: True when the graph of one of them leaves the function.
        hands_out: True when any graph leaves the function, also one that is not of these forwards.
        elsewhere: True when all its forwards run in functions of other files, where they can be guarded as well.
        others_guard: True when other callers of those functions guard them, and this one does not.
        unseen: True when all its forwards run in methods of models in code that is not seen.
        volatile: True when the program writes the guard that torch had before 0.4.
        doubtful: True when some who call it guard it and others do not; see :meth:`Modes.is_doubtful`.
        partly_frozen: True when a part of each network is frozen, which then keeps no activations by itself.
        trained_there: True when what runs elsewhere are forwards of models alone, through which a training runs too.
        for_arrays: True when a graph leaves the function only where it is not given an array, which it answers by one.
        given: True when all its forwards are of networks that an object was given: whoever did may have frozen them.
        flag: the parameter by which its callers ask for a training mode that none of them asks for, if there is one.
        is_target: True when the answers are detached beside that of another network, which leaves: a teacher's.
        network: the first of the forwards that is of a network, be it run by what that calls; it stands for all.
    """

    function: Function
    forwards: tuple[Value, ...]
    inline: bool
    says_eval: bool
    leaves: bool
    hands_out: bool
    elsewhere: bool
    others_guard: bool
    unseen: bool
    volatile: bool
    doubtful: bool
    partly_frozen: bool
    trained_there: bool
    for_arrays: bool
    given: bool
    flag: Value | None
    is_target: bool
    network: Value

    @property
    def is_in_doubt(self) -> bool:
        """Whether it is not sure that gradients are on, or for nothing, in some call of the function."""
        return self.unseen or self.doubtful or self.partly_frozen or self.for_arrays


class Inferences:
    """Finds inference that records graphs."""

    def __init__(
        self,
        flows: Flows,
        steps: Steps,
        project: Imports,
        is_brief: Callable[[Value], bool],
        taps: Taps,
    ) -> None:
        """Search when first asked.

        ``project``: whether the file belongs to a package; ``is_brief``: whether a forward runs once, in a unit test;
        ``taps``: what hooks make of its graph.
        """
        self.solution = flows.solution
        self.flows = flows
        self.steps = steps
        self.left_out = LeftOut(flows, steps)
        self._guides = Guides(flows, steps)
        self._by_contract = InferringMethods(flows, steps)
        self._older_torch = OlderTorch(flows.solution)
        self._served = Served(flows.solution, steps, project)
        self._methods = UnseenMethods(flows, steps, self._served)
        self._beside_training = BesideTraining(flows, steps, taps)
        self._prompts = EncodedPrompts(flows.solution)
        self._in_arrays = AnswersInArrays(flows.solution)
        self._demonstrations = Demonstrations(flows.solution, flows.ancestry, project)
        self.evaluating = Evaluating(flows.solution, self._does_more)
        self._run_forwards = RunForwards(flows, steps)
        self._by_default = EvaluatingByDefault(flows.solution, steps)
        self._left_terms = LeftTerms(steps, project)
        self._overridden = Overridden(steps, project.subclasses)
        self._trained_elsewhere = TrainedElsewhere(flows, project.train_on_result)
        self._is_brief = is_brief
        self._taps = taps
        self.elsewhere = InferenceElsewhere(flows, steps, self._is_used)
        self._inferring: dict[Function, list[Value]] = {}
        self._detached: dict[Value, bool] = {}

    @cached_property
    def found(self) -> dict[Function, Inference]:
        """Each function with such forwards; of a chain of calls the innermost that shows the evidence."""
        found: dict[Function, Inference] = {}
        left_to_callers = LeftToCallers(self.solution, self.steps)
        left = dict.fromkeys(filter(left_to_callers.has, self.solution.graph.functions))
        functions = [f for f in self.solution.graph.functions if f not in left]
        for function in functions:
            self._add(function, found, self._says_so_or_drops_it)
        for function in left:
            if any(asks_whole_network(call) or self._guides.asks(call) for call in self.steps.calls_in(function)):
                self._add(function, found, self._reads_numbers_of_a_whole_network, inline=True)
                if function not in found:
                    self._add(function, found, self._answers_in_arrays)
        for function in functions:
            if function not in found and found.keys().isdisjoint(self.solution.callers_above([function])):
                self._add(function, found, self._serves_callers)
        return self._innermost_causes(found)

    def _innermost_causes(self, found: dict[Function, Inference]) -> dict[Function, Inference]:
        """Without functions whose only forwards are calls of other functions that are found themselves."""
        return {
            function: inference
            for function, inference in found.items()
            if not all(
                any(callee in found for callee in self.solution.functions_of(call))
                and not self.steps.calls_module(call)
                for call in inference.forwards
            )
        }

    def _add(
        self,
        function: Function,
        found: dict[Function, Inference],
        counts: Callable[[Function, Value], bool],
        *,
        inline: bool = False,
    ) -> None:
        if function not in self._inferring:
            self._inferring[function] = list(filter(self._infers, self.steps.calls_in(function)))
        forwards = [call for call in self._inferring[function] if counts(function, call)]
        if forwards:
            forwards = [call for call in forwards if not self._is_used_elsewhere(call)]
        if forwards:
            by_answers = list(map(self._is_detached_answer, forwards))
            others = beside(self.flows, self.steps, function, forwards, are_answers=all(by_answers))
            if all(by_answers) and others.leaves:
                return  # a part of a training: what is detached there is a target
            if others.gives and not any(outlives_its_statement(self.solution, forward) for forward in forwards):
                return  # so is what is detached at once
            inline = inline or self._does_more(function) or others.trains or others.gives or others.answers
            says_eval = any(map(self.evaluating.at, forwards))
            leaves = any(call in self.flows.leaving for call in forwards)
            if others.hands_on and (leaves or all(by_answers)) and not any(map(self._by_contract.infers, forwards)):
                inline = True  # what it is given may be held against their answers, and that be trained on
            elsewhere = all(map(self.elsewhere.infers, forwards))
            others_guard = elsewhere and all(map(self.elsewhere.is_guarded_by_others, forwards))
            unseen = all(by_answers) or all(map(self._methods.runs_unseen, forwards))
            for_arrays = leaves and not says_eval and all(map(self._in_arrays.has, forwards))
            doubtful = not inline and not elsewhere and self._may_be_guarded(function, forwards)
            found[function] = Inference(
                function,
                tuple(forwards),
                inline,
                says_eval,
                leaves,
                leaves or others.leaves or others.hands_on or self._left_terms.are_wanted(function, forwards),
                elsewhere,
                others_guard,
                unseen,
                any(is_volatile(self.solution, forward) for forward in forwards),
                doubtful,
                all(has_frozen_part(self.solution, forward.callee) for forward in forwards),
                elsewhere and all(map(self.elsewhere.runs_forwards_only, forwards)),
                for_arrays,
                all(map(self._guides.asks, forwards)),
                self._by_default.flag(forwards[0]),
                others.answers and not (leaves or says_eval) and self._are_targets(function, forwards),
                next(filter(self.steps.calls_module, forwards), None) or _outermost(forwards),
            )

    def _are_targets(self, function: Function, forwards: list[Value]) -> bool:
        """Whether all that a function makes of forwards is detached, and it trains nothing by itself."""
        return not self._does_more(function) and self.flows.detached.issuperset(forwards)

    def _may_be_guarded(self, function: Function, forwards: list[Value]) -> bool:
        """Whether some callers guard a function, or it gives answers with their graph to callers that are not seen."""
        if self.flows.modes.is_doubtful(function):
            return True
        if any(call in self.flows.escaped and self._served.is_in_doubt(call) for call in forwards):
            return True
        is_unseen = not self.solution.callers.get(function)
        return is_unseen and any(call in self.flows.leaving and self._served.is_asked(call) for call in forwards)

    def _says_so_or_drops_it(self, function: Function, call: Value) -> bool:
        """The model was put into evaluation mode, or the graph does not even leave the function."""
        if self._evaluates_elsewhere(call) or self._methods.infers(call) or self._is_told_of(call):
            return True
        if self._by_contract.infers(call):
            return True
        if self.evaluating.at(call) or self._by_default.flag(call) is not None:
            return not self._is_wanted_by_others(function, call)
        if self._served.is_asked(call):
            return True
        if self._does_more(function):
            return self._beside_training.infers(function, call)
        if self.elsewhere.infers(call) or self._in_arrays.has(call):
            return True
        return call not in self.flows.leaving and call not in self._taps.escaped

    def _answers_in_arrays(self, function: Function, call: Value) -> bool:
        """Whether a method of a module gives back arrays of what a whole network makes of arrays."""
        return asks_whole_network(call) and call.function is function and self._in_arrays.has(call)

    def _reads_numbers_of_a_whole_network(self, function: Function, call: Value) -> bool:
        """Whether a method of a module asks a network that it was given, or itself, and makes numbers of the answer.

        What its own layers compute may decide how it goes on, and is small: a gate, a router. A network that is run
        for its own sake fills what hooks of it keep.
        """
        if call.function is not function or not call.users:
            return False
        if self._guides.asks(call):
            return call not in self._taps.escaped
        if not asks_whole_network(call):
            return False
        return call not in self.flows.leaving and call not in self.flows.escaped and call not in self._taps.escaped

    def _is_wanted_by_others(self, function: Function, call: Value) -> bool:
        """Whether a method gives the graph to callers that are not seen, and is none of an evaluation by itself.

        It answers a base class that is not seen, or it puts parts of its model into evaluation mode, but not the model.
        """
        owner = function.owner
        if owner is None or not (call in self.flows.escaped or call in self.flows.handed_out):
            return False
        if has_unseen_base(owner) and not is_module_class(owner):
            return self._gives(function)
        switches = [one.callee for one in self.steps.calls_in(function) if one.callee.name in ("eval", "train")]
        parts = [one for one in switches if one.op is Op.ATTRIBUTE and one.inputs[0].op is Op.ATTRIBUTE]
        return is_module_class(owner) and bool(switches) and len(parts) == len(switches)

    def _gives(self, function: Function) -> bool:
        """Whether a function returns what may have a graph."""
        result = function.result
        return result is not None and bool(result.inputs) and not surely_graphless(self.solution.final(result))

    def _evaluates_elsewhere(self, call: Value) -> bool:
        """Whether a function of another file puts its model into evaluation mode for this call."""
        functions = [function for function in self.solution.functions_of(call) if function.is_foreign]
        return any(inner.evaluating for function in functions for inner in self.steps.calls_in(function))

    def _serves_callers(self, function: Function, call: Value) -> bool:
        """The graph goes to callers, and they do not use it, or all of them hand over a network in evaluation mode."""
        if self._result_is_dropped(function, call):
            return True
        if self._does_more(function) or call in self.flows.handed_out or call in self._demonstrations.results:
            return False
        return self._methods.is_of_given(call)

    def _result_is_dropped(self, function: Function, call: Value) -> bool:
        """The graph goes to callers in this file, and none of them uses it."""
        if self._does_more(function) and not self._beside_training.follows(function, call):
            return False
        if call in self.flows.escaped or call in self._taps.escaped:
            return False
        if call in self.flows.shown or call in self.flows.handed_out or call in self.flows.put_away:
            return False
        return call not in self._demonstrations.results

    def _does_more(self, function: Function) -> bool:
        """Whether a function trains as well, or is the whole script: then only single statements infer.

        One that it defines may train while it runs, whoever is handed it.
        """
        if self.steps.trains(function) or trains_on_result(function) or function.parent is None:
            return True
        if any(may_be_optimizer(self.solution, call) for call in self.steps.calls_in(function)):
            return True  # whoever steps it
        inner = (one for one in self.solution.graph.functions if one.parent is function)
        return self._overridden.trains_in(function) or any(map(self.steps.trains, inner))

    def _infers(self, call: Value) -> bool:
        """Whether a CALL records a graph that no backward of this file uses, on data and not on a dummy."""
        callees = self.solution.functions_of(call)
        if not callees and not call.evaluating and not self.steps.calls_module(call):
            is_told = self._methods.infers(call) or self._is_told_of(call) or self._methods.gives_scores(call)
            if not (call in self.flows.detached or is_told):
                return False  # the most
        if not self.flows.modes.records(call) or self._is_used(call) or self.left_out.runs_no_network(call):
            return False
        if is_decided(self.solution, call) or is_asked_for(self.solution, call) or self._is_brief(call):
            return False
        if is_target_of_step(self.flows, call):
            return False
        if is_metric_of_several(call) or self._older_torch.leaves_to_data(call):
            return False
        if self.elsewhere.infers(call):
            return not self.on_a_dummy(call)
        if self._run_forwards.are_surely_not_in(call):
            return False
        if not self.flows.live_parts(call):
            is_unseen = self._methods.infers(call) and not self.on_a_dummy(call)
            is_unseen = is_unseen or self._methods.is_detached(call) or self._methods.gives_scores(call)
            if is_unseen or self._is_told_of(call) or any(map(self._drops_graph_in_expression, callees)):
                return True
            if self._is_detached_answer(call) and not self.on_a_dummy(call):
                return True
            return self._by_contract.infers(call) and self._by_contract.runs_network(call)
        if any(map(self.steps.trains, callees)) or self._overridden.trains(call):
            return False
        if self.left_out.may_differentiate(call):
            return False  # forces, gradient penalties: the forward itself differentiates
        if any(callee.is_replaced for callee in callees):
            return False  # a decorator that is not seen may guard it, or train
        if self.left_out.is_left_to_subclasses(call) or self.on_a_dummy(call):
            return False  # a subclass may differentiate as well, and a dummy is no data
        if call in self.left_out.prepared and not call.evaluating and not self._by_contract.infers(call):
            return False
        if self.steps.calls_module(call) or self._prompts.are_of(call):
            return True
        return self._run_forwards.are_in(call) or self._methods.is_in_evaluation(call)

    def _drops_graph_in_expression(self, function: Function) -> bool:
        """``predict = lambda x: net(x).argmax(1)``: who calls it infers, since there is nothing to decorate."""
        inside = self.steps.calls_in(function) if function.name == "<lambda>" else ()
        return any(call not in self.flows.leaving and self._infers(call) for call in inside)

    def _is_told_of(self, call: Value) -> bool:
        """Whether a framework says that an object runs networks when called: it encodes a prompt, or scores models."""
        return self._prompts.are_of(call) or self._by_contract.scores(call)

    def _is_detached_answer(self, call: Value) -> bool:
        if call not in self._detached:
            self._detached[call] = is_detached_answer(self.flows, call)
        return self._detached[call]

    def _is_used(self, call: Value) -> bool:
        """Whether the call's own result reaches a backward; other calls of the same function do not matter."""
        if call in self.flows.trained or call in self.flows.inspected or self._taps.is_used(call):
            return True
        return self._older_torch.reinforces(call) or call in self._given_while_training

    def _is_used_elsewhere(self, call: Value) -> bool:
        """Whether a backward elsewhere runs over what functions make of a call's result, or over what it leaves."""
        return self._left_terms.has(call) or (call in self.flows.leaving and self._trained_elsewhere.has(call))

    @cached_property
    def _given_while_training(self) -> frozenset[Value]:
        """All that flows into what unseen code is given where a model was put into training mode."""
        return self.flows.ancestry.of_all(given_while_training(self.solution, self.flows.is_unknown_call))

    def on_a_dummy(self, call: Value) -> bool:
        """Whether a single forward runs on made-up numbers, or to learn a shape alone: a probe, an export."""
        if is_probe(self.solution, call):
            return True
        given = [one for one in call.arguments if not may_be_module(self.solution, one)]
        return bool(given) and all(Maker.ELSEWHERE not in makers(self.solution, argument) for argument in given)

    def is_inference(self, value: Value) -> bool:
        """Whether ``value`` is computed in a part of the program that is found here."""
        inference = self.found.get(value.function)
        if inference is None:
            return False
        return not inference.inline or any(
            call.loop is value.loop or call.statement is value.statement for call in inference.forwards
        )


def _outermost(forwards: list[Value]) -> Value:
    """The first of some calls that none of them is given: ``net.infer(net.prepare(x))`` is about ``infer``."""
    inner = {part for one in forwards for given in one.arguments for part in given.computed_from()}
    return next((one for one in forwards if one not in inner), forwards[0])
