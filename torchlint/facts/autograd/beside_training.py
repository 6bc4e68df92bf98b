"""Inference in functions that train as well, and in scripts: which forwards there are run for their answer alone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.outliving import outlives_its_statement
from torchlint.facts.turns.steps import DEPTH, Steps
from torchlint.facts.values.graph import Function, Loop, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.hooks.taps import Taps


class BesideTraining:
    """Answers whether a forward in such a function infers, though no model was put into evaluation mode."""

    def __init__(self, flows: Flows, steps: Steps, taps: Taps) -> None:
        """Read where graphs go from ``flows``, and what hooks make of them from ``taps``."""
        self.solution = flows.solution
        self.flows = flows
        self.steps = steps
        self._taps = taps

    def infers(self, function: Function, call: Value) -> bool:
        """Whether the graph of a CALL is thrown away in a script of inference, or in a loop that trains nothing."""
        if self._is_script_of_inference(function) and self._is_thrown_away(call):
            return True
        return self._is_in_pass_of_its_own(call) and not self._leaves(function, call)

    def follows(self, function: Function, call: Value) -> bool:
        """Whether a function trains in loops alone, and runs a CALL after them: it looks at what it has trained."""
        if call.loop is not None or function.parent is None or call in self._stepped_by:
            return False
        if call in self.flows.detached and not outlives_its_statement(self.solution, call):
            return False
        stores = self.solution.graph.stores_in(function)
        kept = [store.value for store in stores if store.attribute or store.place is not None]
        if call in self.flows.ancestry.of_all(kept):
            return False
        own = [backward for backward in self.solution.graph.backwards if backward.function is function]
        in_loops = [one.call.index for one in own if one.loop is not None and one.call is not None]
        return bool(own) and len(in_loops) == len(own) and max(in_loops) < call.index and not self._adapts(call)

    def _is_script_of_inference(self, function: Function) -> bool:
        """Whether a function is a file's body, and nothing in the file trains or asks for a gradient."""
        graph = self.solution.graph
        if function.parent is not None or self.steps.trains(function):
            return False
        return not any(True for _ in graph.all_backwards()) and not any(map(self.steps.trains, graph.functions))

    def _is_thrown_away(self, call: Value) -> bool:
        """Whether the graph of a forward in a script goes nowhere, and the program says that there is one."""
        return call in self.flows.detached and call not in self.flows.escaped

    def _is_in_pass_of_its_own(self, call: Value) -> bool:
        """Whether a network runs in a loop of a function that trains, but not there, and is not detached at once."""
        if call.loop is None or not self.steps.trains(call.function) or self.steps.trains_in(call.loop):
            return False
        if call in self.flows.detached and not outlives_its_statement(self.solution, call):
            return False
        if call in self._stepped_by or _ends_at_once(call.loop) or self._adapts(call):
            return False
        return not self.steps.walks_modules(call.loop)

    def _adapts(self, call: Value, depth: int = DEPTH) -> bool:
        """Whether a CALL is of a function that differentiates by an object: ``learner.adapt(loss(learner(x), y))``."""
        return any(
            inner in self.flows.inspected or inner in self._stepped_by or (depth > 0 and self._adapts(inner, depth - 1))
            for function in self.solution.functions_of(call)
            for inner in self.steps.calls_in(function)
        )

    @cached_property
    def _stepped_by(self) -> frozenset[Value]:
        """All that flows into what a step is told: ``optimizer.step(loss)`` of one that differentiates by itself."""
        calls = (call for call in self.solution.graph.of(Op.CALL) if call.callee.op is Op.ATTRIBUTE)
        return self.flows.ancestry.of_all(
            given for call in calls if call.callee.name == "step" for given in call.arguments
        )

    def _leaves(self, function: Function, call: Value) -> bool:
        """Whether a graph leaves a function; the variables of a script are seen by all of it, and so leave nothing."""
        if call in self.flows.escaped or call in self.flows.put_away or call in self._taps.escaped:
            return True
        return function.parent is not None and call in self.flows.leaving


def _ends_at_once(loop: Loop) -> bool:
    """Whether a loop is left after its first turn: it takes one batch, to let layers see their sizes."""
    body = loop.syntax.body if isinstance(loop.syntax, cst.For | cst.While) else None
    last = body.body[-1] if isinstance(body, cst.IndentedBlock) and body.body else None
    return isinstance(last, cst.SimpleStatementLine) and any(isinstance(one, cst.Break) for one in last.body)
