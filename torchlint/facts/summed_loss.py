"""Losses of independent forwards that are summed in a loop and wait for one backward after it.

Gradients add up by themselves, so a backward for each loss gives the same and frees each graph at once. It does not
where the losses share a part of their graph, or where something is done with the sum that is not linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.arithmetic import Arithmetic
from torchlint.facts.domain import Container, Tool, sorted_values
from torchlint.facts.graph import Backward, Function, Loop, Op, Value
from torchlint.facts.homes import places_of
from torchlint.facts.reach import may_be_recorded
from torchlint.facts.writing import Use, operands

if TYPE_CHECKING:
    from torchlint.facts import Facts

SUMS = frozenset(
    ["Add", "AddAssign", "Subtract", "SubtractAssign", "torch.add", "torch.sub", "add", "sub", "add_", "sub_"]
)
"""Operations by which a loss joins a sum."""

LINEAR = frozenset(
    ["torch.stack", "torch.cat", "torch.sum", "torch.mean", "torch.neg", "torch.squeeze", "builtins.sum", "sum", "mean",
     "squeeze", "view", "reshape", "flatten", "float", "to", "neg", "torch.add", "torch.sub", "add", "sub", "add_",
     "sub_"]
)  # fmt: skip
"""Functions and methods of tensors that are linear in all that they are given."""

SCALING = frozenset(["div", "mul", "div_", "mul_", "torch.div", "torch.mul"])
"""Linear in the first operand, as long as the second has no graph."""

HOPS = 3


@dataclass(frozen=True)
class SummedLoss:
    """A loss of each turn of a loop that waits for a backward after the loop.

    Attributes:
        backward: that backward.
        loop: the loop.
        summand: the loss of one turn, as it is written where it joins the sum.
        statement: where that is.
        name: how the program names the sum; "" where it has no name.
    """

    backward: Backward
    loop: Loop
    summand: Use
    statement: cst.CSTNode
    name: str


def summed_losses(facts: Facts) -> list[SummedLoss]:
    """Every sum of independent losses over a loop that is trained on by one backward, each once."""
    found: dict[cst.CSTNode, SummedLoss] = {}
    for backward in facts.graph.backwards:
        if not backward.by_contract and not backward.retains:
            for loss in _Search(facts, backward).found():
                found.setdefault(loss.statement, loss)
    return list(found.values())


class _Search:
    """The losses that one backward waits for."""

    def __init__(self, facts: Facts, backward: Backward) -> None:
        self.facts, self.backward = facts, backward
        self.solution, self.flows = facts.solution, facts.flows
        self.arithmetic = Arithmetic(facts.flows)
        self.around: dict[Function, list[Loop]] = {}
        self._add_position(backward.function, backward.loop)

    def _add_position(self, function: Function, loop: Loop | None) -> None:
        self.around.setdefault(function, []).extend(loop.around() if loop is not None else [])

    def found(self) -> Iterator[SummedLoss]:
        """See :func:`summed_losses`."""
        pending, seen = [(self.backward.root, "")], set()
        while pending:
            value, name = pending.pop()
            if value in seen or (self.flows.live(value) is None and not self._containers(value)):
                continue
            seen.add(value)
            loop = self._own_loop(value)
            if loop is not None:
                yield from self._of_sum(value, loop)
                pending.append((value.inputs[0], name))
                continue
            for container in self._containers(value):
                yield from self._of_container(container)
            pending += [(source, name) for source in self._linear(value)]

    # -- what is summed -------------------------------------------------------------------------------------------

    def _own_loop(self, value: Value) -> Loop | None:
        """The loop in each turn of which a variable gets a new value, if the backward stands after it."""
        if value.op is not Op.PHI or value.loop is None:
            loops = [loop for loop in self.facts.graph.loops if value in loop.phis] if value.op is Op.PHI else []
        else:
            loops = [loop for loop in value.loop.around() if value in loop.phis]
            loops += [loop for loop in self.facts.graph.loops if value in loop.phis and loop not in loops]
        return next((loop for loop in loops if loop not in self.around.get(loop.function, ())), None)

    def _containers(self, value: Value) -> list[Value]:
        return [a.allocation for a in sorted_values(self.solution.final(value)) if isinstance(a, Container)]

    def _linear(self, value: Value) -> list[Value]:
        """What ``value`` is a linear function of."""
        if value.op is Op.PHI:
            return list(value.inputs)
        if value.op is Op.PARAMETER:
            return self._ascend(value)
        if value.op is Op.OPERATION:
            name = value.name.removesuffix("Assign")
            if name in ("Add", "Subtract", "Minus"):
                return list(value.inputs)
            if name in ("Multiply", "Divide"):
                return self._scaled(list(value.inputs), name == "Divide")
        if value.op is Op.CALL:
            results = [f.result for f in self.solution.functions_of(value) if f.result is not None]
            if results:
                return results
            callee = value.callee
            receiver = [callee.inputs[0]] if callee.op is Op.ATTRIBUTE else []
            if any(isinstance(a, Tool) and a.kind == "scaler" for v in receiver for a in self.solution.final(v)):
                return list(value.arguments[:1]) if callee.name == "scale" else []
            if callee.name in LINEAR:
                return [*receiver, *value.arguments]
            if callee.name in SCALING:
                return self._scaled([*receiver, *value.arguments], is_quotient=True)
        return []

    def _scaled(self, operands: list[Value], is_quotient: bool) -> list[Value]:
        """The operand that brings the graph, if it is the only one (and no divisor)."""
        live = [operand for operand in operands if self.flows.brings_graph(operand)]
        return live if len(live) == 1 and (not is_quotient or live[0] is operands[0]) else []

    def _ascend(self, parameter: Value) -> list[Value]:
        found = []
        for call, binding in list(self.solution.callers.get(parameter.function, {}).items())[:HOPS]:
            given = binding.get(parameter)
            if given is not None:
                self._add_position(call.function, call.loop)
                found.append(given)
        return found

    def _of_sum(self, phi: Value, loop: Loop) -> Iterator[SummedLoss]:
        """``total += loss`` in a loop."""
        for back in phi.inputs[1:]:
            updates: dict[Value, bool] = {}
            self.arithmetic.trace(back, phi, updates)
            for update in updates:
                if update.name in SUMS and update.statement is not None:
                    written = {use.value: use for use in operands(update)}
                    for operand in self.arithmetic.operands(update):
                        joins = operand is not phi and not self.arithmetic.comes_from(operand, phi)
                        if joins and self._is_independent(operand, loop):
                            use = written.get(operand, Use(operand, None))
                            yield SummedLoss(self.backward, loop, use, update.statement, phi.name)

    def _of_container(self, container: Value) -> Iterator[SummedLoss]:
        """``losses.append(loss)`` in a loop, ``sum(loss(x) for x in parts)``."""
        stores = {store.value: store for store in self.facts.graph.stores if store.holder is not None}
        for _, item in self.solution.held.get(container, ()):
            around = item.loop.around() if item.loop is not None else []
            outer = container.loop.around() if container.loop is not None else []
            extra = [loop for loop in around if loop not in outer and loop not in self.around.get(loop.function, ())]
            if container.function is not item.function or not extra or not self._is_independent(item, extra[-1]):
                continue
            store = stores.get(item)
            statement = store.statement if store is not None else container.statement
            name = self.facts.code(store.target) if store is not None and store.target is not None else ""
            node = store.syntax if store is not None else item.syntax
            use = Use(item, node if isinstance(node, cst.BaseExpression) else None)
            if statement is not None:
                yield SummedLoss(self.backward, extra[-1], use, statement, name)

    # -- what it shares -------------------------------------------------------------------------------------------

    def _is_independent(self, summand: Value, loop: Loop) -> bool:
        """Whether each turn of ``loop`` runs a forward of its own, and shares no part of its graph with the others."""
        if self.flows.live(summand) is None:
            return False
        runs_forward = False
        pending, seen = [(summand, False)], set()
        while pending:
            value, inside = pending.pop()
            if value in seen or not may_be_recorded(self.solution, value):
                continue
            seen.add(value)
            is_forward = value.op is Op.CALL and self.facts.steps.calls_module(value)
            if value.op is Op.PARAMETER and not inside and self._is_unknown(value):
                return False
            is_place = bool(places_of(self.solution, value))
            is_older = is_place if inside else self._is_older(value, loop)
            if is_older and (is_forward or self.flows.live(value) is not None):
                return False
            runs_forward = runs_forward or is_forward
            if value.op is not Op.PARAMETER or not inside:
                results = [f.result for f in self.solution.functions_of(value)] if value.op is Op.CALL else []
                pending += [(s, (inside and not is_place) or s in results) for s in self.flows.sources(value)]
        return runs_forward

    def _is_unknown(self, parameter: Value) -> bool:
        """Whether a call of the file gives something that cannot be told: ``loss(*parts)``."""
        calls = self.solution.callers.get(parameter.function, {})
        return not parameter.inputs and any(binding.get(parameter) is None for binding in calls.values())

    def _is_older(self, value: Value, loop: Loop) -> bool:
        """Whether a value was there before this turn: made outside the loop, or left by the last turn."""
        if value in loop.phis or places_of(self.solution, value):
            return True
        return value.function is not loop.function or value.loop is None or loop not in value.loop.around()
