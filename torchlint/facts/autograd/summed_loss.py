"""Losses of independent forwards that are summed in a loop and wait for one backward after it.

Gradients add up by themselves, so a backward for each loss gives the same and frees each graph at once. It does not
where the losses share a part of their graph, or where something is done with the sum that is not linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.reach import may_be_recorded
from torchlint.facts.turns.data_passes import cuts_pieces
from torchlint.facts.values.arithmetic import Arithmetic
from torchlint.facts.values.domain import Argument, Container, Module, Tensor, Tool, Unknown
from torchlint.facts.values.externals import COLLECTIONS
from torchlint.facts.values.graph import Backward, Function, Kind, Loop, Op, Place, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import Use, operands

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

JOINS = frozenset(["torch.cat", "torch.stack", "torch.concat", "torch.vstack", "torch.hstack"])
"""Functions that put tensors together, and keep nothing of them for their backward."""

SHAPES = frozenset(["view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "t"])
"""Methods that show the same numbers in another shape."""

PAIR = 2
"""So many networks are no ensemble."""

CALLERS = 3
"""Of so many calls the arguments are looked at."""


@dataclass(frozen=True)
class SummedLoss:
    """A loss of each turn of a loop that waits for a backward after the loop.

    Attributes:
        backward: that backward; one by contract where another file runs it over what the function returns.
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
        is_brief = backward.call is not None and facts.unit_tests.is_brief(backward.call)
        if not backward.by_contract and not backward.retains and not is_brief:
            for loss in _Search(facts, backward).found():
                found.setdefault(loss.statement, loss)
    for function in facts.graph.functions:
        for loss in _returned_sums(facts, function):
            found.setdefault(loss.statement, loss)
    return list(found.values())


def _returned_sums(facts: Facts, function: Function) -> list[SummedLoss]:
    """The losses that a function which nobody here calls sums in a loop for another file, which runs the backward."""
    at_top = function.parent is facts.graph.module and function.owner is None and not function.is_generator
    if not at_top or function.result is None or facts.solution.callers.get(function):
        return []
    if not facts.graph.loops_in(function):
        return []
    backward = Backward(function.result, False, function, None, function.syntax, by_contract=True)
    summed = list(_Search(facts, backward).found())
    return summed if summed and facts.others_train_on_result(function.name) else []


class _Search:
    """The losses that one backward waits for."""

    def __init__(self, facts: Facts, backward: Backward) -> None:
        self.facts, self.backward = facts, backward
        self.solution, self.flows = facts.solution, facts.flows
        self.arithmetic = Arithmetic(facts.flows)

    def found(self) -> Iterator[SummedLoss]:
        """See :func:`summed_losses`."""
        found: list[SummedLoss] = []
        ends: list[Value] = []
        pending, seen = [self.backward.root], set()
        while pending:
            value = pending.pop()
            containers = allocations_of(self.solution, value)
            if value in seen or (self.flows.live(value) is None and not containers):
                continue
            seen.add(value)
            loop = self._own_loop(value)
            if loop is not None:
                found += self._of_sum(value, loop)
                pending.append(value.inputs[0])
                continue
            for container in containers:
                found += self._of_container(container)
            sources = self._linear(value)
            pending += sources
            if not sources and not containers:
                ends.append(value)
        # What is not linear must not hold them: `losses.mean() + losses.std()`.
        behind = self.flows.ancestry.of_all(ends)
        summands = {loss.summand.value for loss in found}
        yield from (
            loss
            for loss in found
            if (loss.summand.value not in behind or loss.summand.value in ends)
            and not self._is_held(loss, summands)
            and not self._ends_each_turn(loss.loop)
        )

    def _ends_each_turn(self, loop: Loop) -> bool:
        """Whether the backward runs in every turn: then it waits for no other one, or the next one would fail."""
        call, around = self.backward.call, self.backward.loop.around() if self.backward.loop is not None else []
        return call is not None and loop in around and not self.facts.skipping.is_skipped(call, loop)

    def _is_held(self, loss: SummedLoss, summands: Set[Value]) -> bool:
        """Whether a turn collects more of the same forward, and no loss by itself: ``log_probs.append(log_prob)``.

        A backward for each loss would free nothing then, and what is collected would be left without a graph.
        """
        of_turn = self._forwards_in(loss.loop, loss.summand.value)
        stores = (
            store for store in self.facts.graph.stores if store.kind is Kind.INSERT and store.value not in summands
        )
        collected = (store.value for store in stores if store.loop is not None and loss.loop in store.loop.around())
        live = (value for value in collected if self.flows.live(value) is not None)
        return any(not of_turn.isdisjoint(self._forwards_in(loss.loop, value)) for value in live)

    def _forwards_in(self, loop: Loop, value: Value) -> Set[Value]:
        """The forwards of a turn behind a value."""
        behind = self.flows.ancestry.of_all([value])
        return {one for one in behind if one.loop is loop and one.op is Op.CALL and self.facts.steps.calls_module(one)}

    # -- what is summed -------------------------------------------------------------------------------------------

    def _own_loop(self, value: Value) -> Loop | None:
        """The loop in which a variable is summed up, each turn from the last; also one that the backward stands in.

        There the backward runs now and then, and the sum begins anew after it.
        """
        if value.op is not Op.PHI:
            return None
        return next((loop for loop in self.facts.graph.loops_in(value.function) if value in loop.phis), None)

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
            if callee.op is Op.EXTERNAL and callee.name in COLLECTIONS:
                return list(value.arguments)  # `list(losses.values())`: the same losses
            receiver = [callee.inputs[0]] if callee.op is Op.ATTRIBUTE else []
            if any(isinstance(a, Tool) and a.kind == "scaler" for v in receiver for a in self.solution.final(v)):
                return list(value.arguments[:1]) if callee.name == "scale" else []
            if callee.name in LINEAR:
                return [*receiver, *value.arguments]
            if callee.name in SCALING:
                return self._scaled([*receiver, *value.arguments], is_quotient=True)
        return []

    def _scaled(self, operands: list[Value], is_quotient: bool) -> list[Value]:
        """The operand that brings the graph, if the others are numbers (and it is no divisor).

        A tensor of weights may be known only when all losses are, as returns are at the end of an episode.
        """
        live = [operand for operand in operands if self.flows.brings_graph(operand)]
        others = [operand for operand in operands if operand not in live]
        if len(live) != 1 or (is_quotient and live[0] is not operands[0]):
            return []
        return live if not any(self.solution.may_be(other, Tensor) for other in others) else []

    def _ascend(self, parameter: Value) -> list[Value]:
        calls = list(self.solution.callers.get(parameter.function, {}).values())
        return [given for binding in calls[:CALLERS] if (given := binding.get(parameter)) is not None]

    def _of_sum(self, phi: Value, loop: Loop) -> list[SummedLoss]:
        """``total += loss`` in a loop."""
        found = []
        for back in phi.inputs[1:]:
            updates: dict[Value, bool] = {}
            self.arithmetic.trace(back, phi, updates)
            for update in updates:
                if update.statement is None or update.name not in SUMS:
                    continue
                written = {use.value: use for use in operands(update)}
                for operand in self.arithmetic.operands(update):
                    if operand is not phi and not self.arithmetic.comes_from(operand, phi):
                        independent = self._is_independent(operand, loop)
                        if independent is False:
                            return []
                        use = written.get(operand, Use(operand, None))
                        if independent:
                            found.append(SummedLoss(self.backward, loop, use, update.statement, phi.name))
        return found

    def _of_container(self, container: Value) -> list[SummedLoss]:
        """``losses.append(loss)`` in a loop, ``sum(loss(x) for x in parts)``."""
        outer = container.loop.around() if container.loop is not None else []
        found = []
        for item in self._yielded_by(container):
            loop = item.loop.around()[-1] if item.loop is not None else None
            if loop is None or container.statement is None or not self._is_independent(item, loop):
                return []
            use = Use(item, item.syntax if isinstance(item.syntax, cst.BaseExpression) else None)
            found.append(SummedLoss(self.backward, loop, use, container.statement, ""))
        for _, item in self.solution.held.get(container, ()):
            extra = [loop for loop in (item.loop.around() if item.loop is not None else []) if loop not in outer]
            if container.function is not item.function or not extra:
                continue
            independent = self._is_independent(item, extra[-1])
            if independent is False:
                return []
            stored = [store for store in self.facts.graph.stores_of(item) if store.holder is not None]
            store = stored[-1] if stored else None
            statement = store.statement if store is not None else container.statement
            name = self.facts.code(store.target) if store is not None and store.target is not None else ""
            node = store.syntax if store is not None else _written(item, extra[-1])
            use = Use(item, node if isinstance(node, cst.BaseExpression) else None)
            if statement is not None and independent:
                found.append(SummedLoss(self.backward, extra[-1], use, statement, name))
        return found

    # -- what it shares -------------------------------------------------------------------------------------------

    def _is_independent(self, summand: Value, loop: Loop) -> bool | None:
        """Whether each turn of ``loop`` runs a forward of its own; False where turns share a part of their graph.

        So does a loss of each piece into which the loop cuts a batch. None where no forward is run: a number, a term on
        the parameters. What only puts leaves together, of which no activation is kept, may be shared.
        """
        if self.flows.live(summand) is None:
            return None
        if self._is_of_layers(summand, loop):
            return False
        if self._is_over_pair(loop):
            return None
        if yielded := self._yielded_for(summand):
            verdicts = [self._is_independent(one, one.loop.around()[-1]) for one in yielded if one.loop is not None]
            return False if False in verdicts or len(verdicts) < len(yielded) else all(verdicts) or None
        runs_forward = False
        pending, later, seen = [(summand, False, False)], list[tuple[Value, bool, bool]](), set[Value]()
        while pending or later:  # an item of a tuple that a call returns is made inside it: first comes its result
            value, inside, is_before = pending.pop() if pending else later.pop()
            if value in seen or not may_be_recorded(self.solution, value):
                continue
            seen.add(value)
            if value.op is Op.ELEMENT and value.loop is loop and self._is_yielded_of_one(value):
                return False
            is_forward = value.op is Op.CALL and (
                self.facts.steps.calls_module(value) or value.callee.name.endswith(".functional_call")
            )
            if value.op is Op.PARAMETER and not inside and self._is_unknown(value):
                return False
            is_place = not all(map(_is_of_call, self.solution.read_from(value)))
            is_older = is_before or (is_place if inside else self._is_older(value, loop))
            if is_older and (
                is_forward
                or (self.flows.live(value) is not None and not self._only_arranges(value, loop))
                or (value in loop.phis and self.flows.carries(value))
            ):
                return False
            runs_forward = runs_forward or is_forward
            if value.op is not Op.PARAMETER or not inside:
                results = [f.result for f in self.solution.functions_of(value)] if value.op is Op.CALL else []
                for source in self.flows.ancestry.sources(value):
                    is_near = source in results or source.function is value.function
                    within = (inside and not is_place) or source in results
                    # What a call has made of one batch, before the loop, is older as a whole.
                    before = within and (is_before or (is_older and source in results))
                    (pending if is_near else later).append((source, within, before))
        return runs_forward or (cuts_pieces(loop) and self._is_loss_of_leaves(seen)) or None

    def _only_arranges(self, value: Value, loop: Loop) -> bool:
        """Whether an operation keeps nothing for its backward but sizes: a join, a slice, another shape.

        Nor is a parameter more than what callers in the file give for it.
        """
        if value.op is Op.PARAMETER:
            return bool(self.solution.callers.get(value.function))
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.CONTAINER):
            return value not in loop.phis
        callee = value.callee if value.op is Op.CALL else value
        return callee.name in (JOINS if callee.op is Op.EXTERNAL else SHAPES if callee.op is Op.ATTRIBUTE else ())

    def _is_loss_of_leaves(self, behind: Set[Value]) -> bool:
        """Whether a loss of torch is among the values behind a summand, and what it judges begins at leaves alone."""
        losses = (v for v in behind if v.op is Op.CALL and self.facts.extents.is_loss(v) and v.arguments)
        for loss in losses:
            judged = list(reached([loss.arguments[0]], self._recorded_sources))
            begins = [source for value in judged for source in self.flows.ancestry.sources(value)]
            is_open = any(value.op is Op.PARAMETER and self._is_given_by_others(value) for value in judged)
            if not is_open and any(map(self.flows.is_leaf, begins)):
                return True
        return False

    def _recorded_sources(self, value: Value) -> list[Value]:
        return [s for s in self.flows.ancestry.sources(value) if may_be_recorded(self.solution, s)]

    def _is_given_by_others(self, parameter: Value) -> bool:
        """Whether callers that are not seen may give a parameter something with a graph."""
        is_seen = bool(self.solution.callers.get(parameter.function))
        return not is_seen and any(isinstance(a, Argument | Unknown) for a in self.solution.final(parameter))

    def _yielded_for(self, item: Value) -> list[Value]:
        """What the generator of the file yields of which a loop takes ``item`` as it is."""
        return self._yielded_by(item.inputs[0]) if item.op is Op.ELEMENT else []

    def _yielded_by(self, call: Value) -> list[Value]:
        """What a CALL of a generator of the file yields."""
        functions = self.solution.functions_of(call) if call.op is Op.CALL else []
        if not functions or not all(f.is_generator and not f.is_foreign for f in functions):
            return []
        return [value for f in functions if f.result is not None for value in f.result.inputs]

    def _is_yielded_of_one(self, item: Value) -> bool:
        """``for out in net.exits(x)``: whether a generator computes each item from what all of them share."""
        calls = [part for part in item.computed_from() if part.op is Op.CALL]
        generators = {f for call in calls for f in self.solution.functions_of(call) if f.is_generator}
        live = (v for v in self.facts.graph.values if v.function in generators and self.flows.live(v) is not None)
        return any(value.loop is None or value in value.loop.phis for value in live)

    def _is_of_layers(self, summand: Value, loop: Loop) -> bool:
        """``for feature, head in zip(features, self.heads)``: each layer has its part of what one forward gave."""
        if not self.facts.steps.walks_modules(loop):
            return False
        items = [part for part in summand.computed_from() if part.op is Op.ELEMENT and part.loop is loop]
        atoms = [self.solution.final(item) for item in items if item.inputs[0].op is not Op.CALL]
        return any(all(isinstance(atom, Argument | Unknown) for atom in of) for of in atoms)

    def _is_over_pair(self, loop: Loop) -> bool:
        """``for critic in self.critics`` over the two that are written there: a pair is trained as one network."""
        if loop.iterable is None or not self.facts.steps.walks_modules(loop):
            return False
        atoms = self.solution.final(loop.iterable)
        made = [atom.allocation for atom in atoms if isinstance(atom, Container | Module)]
        given = (one.arguments[0] for one in made if one is not None and one.op is Op.CALL and one.arguments)
        rows = [*made, *(row for one in given for row in allocations_of(self.solution, one))]
        written = [row for row in rows if row is not None and isinstance(row.syntax, cst.List | cst.Tuple)]
        return bool(written) and all(len(row.inputs) <= PAIR for row in written)

    def _is_unknown(self, parameter: Value) -> bool:
        """Whether a call of the file gives something that cannot be told: ``loss(*parts)``.

        A data class makes what its fields are not given itself.
        """
        if not parameter.function.is_written:
            return False
        calls = self.solution.callers.get(parameter.function, {})
        return not parameter.inputs and any(binding.get(parameter) is None for binding in calls.values())

    def _is_older(self, value: Value, loop: Loop) -> bool:
        """Whether a value was there before this turn: made outside the loop, or left by the last turn."""
        owners = [place.owner for place in self.solution.read_from(value)]
        # `model(**batch).loss`: what an object of this turn has is no older than that.
        if value in loop.phis or not all(isinstance(o, Value) and _is_made_in(o, loop) for o in owners):
            return True
        return not _is_made_in(value, loop)


def _is_of_call(place: Place) -> bool:
    """``net(x).logits``: whether an object has it that is there since a call gave it."""
    return isinstance(place.owner, Value) and place.owner.op is Op.CALL


def _is_made_in(value: Value, loop: Loop) -> bool:
    return value.function is loop.function and value.loop is not None and loop in value.loop.around()


def _written(item: Value, loop: Loop) -> cst.CSTNode | None:
    """What makes an item, as it is written: the function, where that is given to ``map``."""
    if item.syntax is None and isinstance(loop.syntax, cst.Call):
        return loop.syntax.args[0].value
    return item.syntax
