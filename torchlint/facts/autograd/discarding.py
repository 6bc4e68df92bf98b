"""Gradients that are thrown away: a backward computes them, and they are zeroed before an optimizer steps on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.values.domain import FunctionReference, Instance, Module, Tool
from torchlint.facts.values.graph import Backward, Function, Op, Place, Value
from torchlint.facts.values.parameter_lists import modules_listed
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Discarding:
    """Answers whose gradients of one file are thrown away."""

    def __init__(self, facts: Facts, optimized: Optimized) -> None:
        """Work on ``facts``; ``optimized`` says who is trained."""
        self.facts = facts
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self.optimized = optimized

    def is_discarded(self, module: Value, backward: Backward, networks_of: Callable[[Value], list[Value]]) -> bool:
        """Whether gradients of ``backward`` are zeroed before the module's optimizer steps, as far as is seen.

        Args:
            module: the module.
            backward: what computes the gradients.
            networks_of: which networks a CALL runs.
        """
        if backward.by_contract or backward.retains or backward.function in self._run_by_steps:
            return False
        events = self._events(module)
        if self._is_used_by_callee(backward, events) or self._serves_unseen_forward(backward, networks_of):
            return False
        if not events or not any(zeroes for _, zeroes in events.get(backward.function, [])):
            steps = [found for function, found in events.items() if any(not zeroes for _, zeroes in found)]
            return bool(steps) and all(found[0][1] for found in steps) and backward.function not in events
        mine = events[backward.function]
        at = self._index_of_backward(backward)
        later = [zeroes for index, zeroes in mine if index > at] or [zeroes for _, zeroes in mine]
        return later[0] and any(not zeroes for found in events.values() for _, zeroes in found)

    @cached_property
    def _run_by_steps(self) -> set[Function]:
        """The functions that an optimizer runs in its step, ``optimizer.step(closure)``, and what these call."""
        steps = (call for call in self.facts.calls() if call.callee.name == "step" and call.arguments)
        atoms = (atom for call in steps for atom in self.solution.final(call.arguments[0]))
        closures = (atom.function for atom in atoms if isinstance(atom, FunctionReference))
        return set(reached(closures, self._called_in))

    def _is_used_by_callee(self, backward: Backward, events: dict[Function, list[tuple[int, bool]]]) -> bool:
        """``loss.backward()``, then ``self.update()``: what happens first after it is a step in a function called."""
        at = self._index_of_backward(backward)
        mine = list(events.get(backward.function, ()))
        for call in self.steps.calls_in(backward.function):
            mine += [(call.index, events[f][0][1]) for f in self.solution.functions_of(call) if f in events]
        later = sorted(one for one in mine if one[0] > at)
        return bool(later) and not later[0][1]

    def _serves_unseen_forward(self, backward: Backward, networks_of: Callable[[Value], list[Value]]) -> bool:
        """Whether an optimizer steps on gradients of a module of which no forward is seen in the graph of a backward.

        They reach its parameters by a way that is not seen, and so maybe through the module that is asked about.
        """
        at, before = self._index_of_backward(backward), self.flows.ancestry.of(backward.root)
        calls = [call for call in self.facts.calls() if call in before]
        seen = [module for call in calls for module in networks_of(call)]
        later = (c for c in self.steps.calls_in(backward.function) if c.callee.name == "step" and c.index > at)
        end = min(
            (index for one in self._beside(backward) if (index := self._index_of_backward(one)) > at), default=None
        )
        return any(
            not any(self.optimized.overlap(module, other) for other in seen)
            for call in later
            if call.callee.op is Op.ATTRIBUTE and not self._is_of_rate(call) and (end is None or call.index < end)
            for module in self._trained_by(call.callee.inputs[0])
        )

    def _events(self, module: Value) -> dict[Function, list[tuple[int, bool]]]:
        """For each function, in order, where the module's gradients are zeroed (True) and used by a step (False)."""
        # As in ``Optimized.overlap``, of all modules at once.
        calls = {call for root in self.optimized.extent(module) for call in self._updates[0].get(root, ())}
        calls.update(call for root in self.optimized.roots(module) for call in self._updates[1].get(root, ()))
        table: dict[Function, list[tuple[int, bool]]] = {}
        for call in sorted(calls, key=lambda one: one.index):
            table.setdefault(call.function, []).append((call.index, call.callee.name == "zero_grad"))
        for call in self._calls_of_zeroing(calls):
            table.setdefault(call.function, []).append((call.index, True))
        return {function: sorted(events) for function, events in table.items()}

    def _calls_of_zeroing(self, calls: set[Value]) -> list[Value]:
        """The calls of functions that do nothing else with gradients than zero them: ``reset_gradients()``.

        None of one that is told whose: what it does for another one who calls it, it does not here. None of one that
        has the step done by a further function either: it may come first.
        """
        stepping = {call.function for call in calls if call.callee.name == "step"}
        functions = {call.function for call in calls if not _is_told(call)} - stepping
        alone = [function for function in functions if stepping.isdisjoint(self._called_in(function))]
        callers = (call for function in alone for call in self.solution.callers.get(function, ()))
        return [call for call in callers if call.op is Op.CALL and not call.function.is_foreign]

    def _called_in(self, function: Function) -> set[Function]:
        return {called for call in self.steps.calls_in(function) for called in self.solution.functions_of(call)}

    @cached_property
    def _updates(self) -> tuple[dict[Value | Place, list[Value]], dict[Value | Place, list[Value]]]:
        """The calls that use gradients or zero them, by the roots and by the extents of the modules concerned."""
        by_root: dict[Value | Place, list[Value]] = {}
        by_extent: dict[Value | Place, list[Value]] = {}
        differentiating = {backward.function for backward in self.facts.graph.backwards}
        training = differentiating | self.solution.callers_above(differentiating)
        for call in self.facts.calls():
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in ("step", "zero_grad"):
                if not training.isdisjoint(self.solution.functions_of(call)) or self._is_of_rate(call):
                    continue  # a trainer's step or a scheduler's, and not an optimizer's
                given = call.arguments[:1] if call.callee.name == "step" else ()  # scaler.step(optimizer)
                subjects = [call.callee.inputs[0], *given]
                for one in (module for subject in subjects for module in self._trained_by(subject)):
                    for root in self.optimized.roots(one):
                        by_root.setdefault(root, []).append(call)
                    for root in self.optimized.extent(one):
                        by_extent.setdefault(root, []).append(call)
        return by_root, by_extent

    def _is_of_rate(self, call: Value) -> bool:
        """Whether a CALL of ``step`` is a scheduler's: it is given the optimizer, and changes nothing but its rate."""
        atoms = self.solution.final(call.callee.inputs[0])
        return bool(atoms) and all(isinstance(atom, Tool) and atom.kind == "scheduler" for atom in atoms)

    def _trained_by(self, subject: Value) -> list[Value]:
        """The modules that an optimizer trains; a module is one itself."""
        if self.solution.may_be(subject, Module | Instance):
            return [subject]
        made = [root for root in self.optimized.roots(subject) if isinstance(root, Value) and root.op is Op.CALL]
        return modules_listed(part for root in made for part in root.computed_from())

    def _index_of_backward(self, backward: Backward) -> int:
        return backward.call.index if backward.call is not None else self._index_of(backward.statement)

    def _beside(self, backward: Backward) -> list[Backward]:
        return [b for b in self.facts.graph.backwards if b.function is backward.function]

    def _index_of(self, statement: cst.CSTNode) -> int:
        return max((v.index for v in self.facts.computed_in(statement)), default=-1)


def _is_told(call: Value) -> bool:
    """Whether the function of a CALL is given what it calls a method of, by a parameter that is not its object."""
    function = call.function
    told = function.parameters[function.owner is not None :]
    return not set(told).isdisjoint(call.callee.inputs[0].computed_from())
