"""Which network's forward a call runs: its own, by a method, in a function that is handed it, by an object with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.autograd.detached_ends import ends_detached
from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.domain import Container
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Function, Mode, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


HELPERS = 3
"""Through so many functions a network is followed that is handed on."""


@dataclass(frozen=True)
class Handed:
    """A network is handed to a function that runs it.

    Attributes:
        network: what the call hands over.
        within: the forward of it and the calls between, in the functions that it is handed to.
        call: the call.
    """

    network: Value
    within: tuple[Value, ...]
    call: Value


@dataclass(frozen=True)
class RunByObject:
    """An object or a function of another file runs a network that this file has given to it: a teacher in a loss.

    Attributes:
        network: the object's attribute, as the value that is called there, or what the function is given.
        given: what the call gives on to the network.
        call: the call of the object or the function.
        is_whole: True where all that the network is run on there is given by the call, each time.
    """

    network: Value
    given: tuple[Value, ...]
    call: Value
    is_whole: bool = False


class Forwarded:
    """Answers it for the calls of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.extents = facts.extents

    def module(self, call: Value) -> Value | None:
        """The network whose forward a CALL runs."""
        if self.steps.calls_module(call):
            return called_object(call)
        is_elsewhere = self._is_method_elsewhere(call)
        is_method = is_elsewhere or self.extents.is_method_of_module(call)
        is_known = is_elsewhere or (is_method and call.callee.name in self._trained_methods)
        is_run = call in self.flows.trained or (is_known and ends_detached(self.flows, call))
        return call.callee.inputs[0] if is_method and is_run else None

    @cached_property
    def _trained_methods(self) -> frozenset[str]:
        """Names of methods that are not seen, of networks: a backward goes through them, so that they record a graph.

        What a network is trained by is what its target, or its teacher, answers by: ``target.critic(state, action)``.
        """
        methods = (call for call in self.flows.trained if self.extents.is_method_of_module(call))
        return frozenset(call.callee.name for call in methods)

    def by_method(self, call: Value) -> Value | None:
        """The network of which a CALL runs a method of this file that gives what its forward, or a part, gives."""
        functions = self.solution.functions_of(call) if call.callee.op is Op.ATTRIBUTE else []
        return call.callee.inputs[0] if functions and all(map(self._gives_own_output, functions)) else None

    def by_helper(self, call: Value) -> Handed | None:
        """The network that a CALL hands to a function which computes its result on the forward of that network."""
        if self.steps.calls_module(call) or call.op is not Op.CALL:
            return None
        return self._handed(call, HELPERS)

    def by_object(self, call: Value) -> list[RunByObject]:
        """The networks that the object, of another file, of which a CALL runs a method has or is given there."""
        functions = self.solution.functions_of(call)
        if len(functions) != 1 or not functions[0].is_foreign or _stands_alone(functions[0]):
            return []
        return list(self._run_by(functions[0], self.solution.callers[functions[0]][call], call, HELPERS))

    def by_function(self, call: Value) -> list[RunByObject]:
        """The networks that a CALL hands to a function of another file which runs them on what it is given."""
        found: dict[Value, RunByObject] = {}
        for network, runs in self._runs_of_given(call).items():
            given = [self._passed(call, inner) for inner in runs]
            known = next((one for one in given if one is not None), None)
            if known is not None:
                found[network] = RunByObject(network, known, call, None not in given)
        return list(found.values())

    def run_elsewhere(self, call: Value) -> list[Value]:
        """The networks that a function of another file which a CALL runs is handed, or its object has, and runs."""
        methods = [one for one in self.solution.functions_of(call) if one.is_foreign and not _stands_alone(one)]
        own = [
            inner.callee
            for method in methods
            for inner in self.steps.calls_in(method)
            if self._is_own_network(inner, method)
        ]
        return [*self._runs_of_given(call), *own]

    def _runs_of_given(self, call: Value) -> dict[Value, list[Value]]:
        """For each network that a CALL hands to a function of another file the calls of it there."""
        functions = self.solution.functions_of(call)
        if len(functions) != 1 or not functions[0].is_foreign or not _stands_alone(functions[0]):
            return {}
        passed, found = self.solution.callers[functions[0]][call], dict[Value, list[Value]]()
        for inner in self.steps.calls_in(functions[0]):
            network = passed.get(inner.callee) if inner.callee in functions[0].parameters else None
            if network is not None:
                found.setdefault(network, []).append(inner)
        return found

    def _passed(self, call: Value, inner: Value) -> tuple[Value, ...] | None:
        """What a CALL passes to a call in the function that it runs; None where that is given more, or has a mode."""
        passed = self.solution.callers[inner.function][call]
        given = tuple(one for argument in inner.arguments if (one := passed.get(argument)) is not None)
        is_whole = len(given) == len(inner.arguments) > 0 and inner not in self.solution.graph.foreign.given_more
        is_kept = inner in self.solution.graph.foreign.leaving and inner.mode is Mode.INHERITED
        return given if is_whole and is_kept else None

    def _run_by(
        self, method: Function, passed: Mapping[Value, Value | None], call: Value, depth: int
    ) -> Iterator[RunByObject]:
        """The networks whose graph leaves a method, which runs them or calls another one of its object that does.

        ``passed`` is what each parameter is given.
        """
        for inner in self.steps.calls_in(method):
            given = [passed.get(argument) for argument in inner.arguments]
            known = tuple(one for one in given if one is not None)
            if not known or len(known) < len(given) or inner not in self.solution.graph.foreign.leaving:
                continue
            if self._is_own_network(inner, method):
                yield RunByObject(inner.callee, known, call, self._is_wholly_given(inner, method, passed))
                continue
            if (network := self._handed_to(inner, method, passed)) is not None:
                yield RunByObject(network, known, call)
                continue
            for other in self.solution.functions_of(inner) if depth and inner.mode is Mode.INHERITED else ():
                if other.is_foreign and other.owner is method.owner and other is not method:
                    bound = self.solution.callers[other][inner]
                    handed = {name: passed.get(one) for name, one in bound.items() if one is not None}
                    yield from self._run_by(other, handed, call, depth - 1)

    def _is_wholly_given(self, run: Value, method: Function, passed: Mapping[Value, Value | None]) -> bool:
        """Whether a method runs the network of a call on nothing but what it is ``passed``."""
        runs = [one for one in self.steps.calls_in(method) if one.callee.name == run.callee.name]
        is_given = (self._is_own_network(one, method) and all(map(passed.get, one.arguments)) for one in runs)
        return all(is_given)

    def _handed_to(self, call: Value, method: Function, passed: Mapping[Value, Value | None]) -> Value | None:
        """The network that a method is given, and that a CALL in it runs under its caller's mode."""
        is_whole = call.mode is Mode.INHERITED and call not in self.solution.graph.foreign.given_more
        return passed.get(call.callee) if is_whole and call.callee in method.parameters else None

    def _is_own_network(self, call: Value, method: Function) -> bool:
        """Whether a CALL in a method of another file's object runs, under its caller's mode, an attribute of that."""
        if call.mode is not Mode.INHERITED or call in self.solution.graph.foreign.given_more:
            return False
        is_attribute = call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] is method.parameters[0]
        return is_attribute and self.steps.calls_module(call)

    def _handed(self, call: Value, depth: int) -> Handed | None:
        """The network that a CALL hands over, be it to a function which hands it on to another one."""
        functions = self.solution.functions_of(call)
        if len(functions) != 1 or functions[0].result is None or not depth:
            return None
        (function,) = functions
        run = self._run_elsewhere(function) if function.is_foreign else self._run_in(function, depth)
        if run is None:
            return None
        network, within = run
        if network in function.parameters:
            given = self.solution.callers[function][call].get(network)
            return Handed(given, within, call) if given is not None else None
        return None if function.is_foreign and self._runs_another(function, network) else Handed(network, within, call)

    def _run_in(self, function: Function, depth: int) -> tuple[Value, tuple[Value, ...]] | None:
        """The one network on whose forwards a function computes its result, and these with the calls between.

        Or on those of its parts: ``net["head"](net["body"](x))``.
        """
        computed = function.result.computed_from() if function.result is not None else ()
        runs = [run for value in computed if (run := self._run(value, depth)) is not None]
        whole = [run for run in runs if run.network in function.parameters or self._is_held(run.call, function)]
        if len({run.network for run in whole}) == 1:
            return whole[0].network, tuple(one for run in whole for one in (*run.within, run.call))
        parts = {_whole_of(run.network) for run in runs}
        network = parts.pop() if len(parts) == 1 and not whole else None
        if network not in function.parameters[function.owner is not None and not function.is_static :]:
            return None
        if self.solution.may_be(network, Container):
            return None  # of several networks each is one by itself
        return network, tuple(one for run in runs for one in (*run.within, run.call))

    def _run_elsewhere(self, function: Function) -> tuple[Value, tuple[Value, ...]] | None:
        """The one network of which a function of another file gives on what its forward gives."""
        leaving = self.solution.graph.foreign.leaving
        inner = [one for one in self.steps.calls_in(function) if one.mode is not Mode.OFF and one in leaving]
        networks = {one.callee for one in inner if one.callee in function.parameters or self._is_held(one, function)}
        return (networks.pop(), ()) if len(networks) == 1 else None

    def _is_held(self, run: Value, method: Function) -> bool:
        """``self.net(noise)`` in a method of an object that is no network: ``sampler.draw(n)``.

        Or ``net(noise)`` in a function inside of the one whose variable that is: ``draw(n)``.
        """
        owner, network = method.owner, called_object(run)
        if owner is None and network.op is Op.READ and network.place is not None:
            around = network.place.owner
            return isinstance(around, Function) and around is not method and around.parent is not None
        if owner is None or is_module_class(owner) or method.is_static or network.op is not Op.ATTRIBUTE:
            return False
        return network.inputs[0] is method.parameters[0] and self.steps.calls_module(run)

    def _runs_another(self, method: Function, network: Value) -> bool:
        """Whether a method runs another network beside one, itself or by what it calls."""
        calls = self.steps.calls_in(method)
        further = [call for one in calls for f in self.solution.functions_of(one) for call in self.steps.calls_in(f)]
        return any(self.steps.calls_module(call) and call.callee is not network for call in (*calls, *further))

    def _run(self, value: Value, depth: int) -> Handed | None:
        """The network that a value of a function runs, by itself or by a function that it is handed to."""
        if value.op is not Op.CALL:
            return None
        if self.steps.calls_module(value):
            return Handed(called_object(value), (), value)
        return self._handed(value, depth - 1)

    def _gives_own_output(self, method: Function) -> bool:
        if method.owner is None or not is_module_class(method.owner) or not method.parameters or method.result is None:
            return False
        if is_forward(method) or method.is_static or self.steps.trains(method):
            return False
        own = (v for v in method.result.computed_from() if v.op is Op.CALL and self.steps.calls_module(v))
        return any(method.parameters[0] in called_object(v).computed_from() for v in own)

    def _is_method_elsewhere(self, call: Value) -> bool:
        """Whether a CALL runs a method of a module that another file defines: what runs in it is told nowhere else."""
        functions = self.solution.functions_of(call) if call.callee.op is Op.ATTRIBUTE else []
        return bool(functions) and all(
            function.is_foreign and function.owner is not None and is_module_class(function.owner)
            for function in functions
        )


def _whole_of(network: Value) -> Value:
    """``net`` of ``net["head"]`` or ``net.head``, which are parts of it."""
    while network.op in (Op.ATTRIBUTE, Op.SUBSCRIPT):
        network = network.inputs[0]
    return network


def _stands_alone(function: Function) -> bool:
    """Whether a function runs without an object: one of a file, or a static method."""
    return function.owner is None or function.is_static
