"""What keeping a value costs: whether its graph is spent or still holds activations, and how to say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.diagnostic import Level, Memory
from torchlint.facts.autograd.columns import Rows
from torchlint.facts.keeping.left_fields import left_in
from torchlint.facts.values.graph import Backward, Class, Mode, Op, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.writing import Use
from torchlint.rule import LineOf, Step

if TYPE_CHECKING:
    from torchlint.facts import Facts

CALLS_IN = 3
"""So many calls deep a flag is looked for that switches gradients where a value is computed."""


@dataclass(frozen=True)
class Retention:
    """The cost of a live value that is kept from step to step.

    Attributes:
        value: the live value.
        name: its source text, shortened.
        spent: True when a backward runs over its graph, so that only graph nodes stay (host memory).
        backward: that backward.
        passed: the call that hands the value to the function which keeps it, if another one made it.
        inferred: True when the value comes from inference with gradients on, which TLK201 reports.
        in_doubt: True when nobody knows whether gradients are on there: who calls it may switch them off.
    """

    value: Value
    name: str
    spent: bool
    backward: Backward | None
    passed: Value | None
    inferred: bool
    in_doubt: bool = False

    @property
    def level(self) -> Level:
        """WARNING when only graph nodes stay, ERROR when activations do; a NOTE where that is in doubt."""
        if self.in_doubt:
            return Level.NOTE
        return Level.WARNING if self.spent else Level.ERROR

    @property
    def memory(self) -> Memory:
        """Host memory for graph nodes, device memory for activations."""
        return Memory.HOST_GROWS if self.spent else Memory.DEVICE_GROWS

    def cost(self) -> tuple[str | LineOf, ...]:
        """The part of a message that says which memory grows."""
        if not self.spent:
            return (", no backward frees it: GPU memory grows each step by all its activations",)
        if self.backward is None:
            return (", whose backward has run: host memory grows each step, GPU memory does not",)
        line = LineOf(self.backward.statement)
        return (
            ", whose backward has run (line ",
            line,
            "): host memory grows each step, GPU memory does not",
        )

    def evidence(self) -> tuple[Step, ...]:
        """Where the value comes from and where its backward runs."""
        steps = []
        if self.value.statement is not None:
            steps.append(Step(self.value.statement, f"`{self.name}` is computed here with gradients on"))
        if self.passed is not None and self.passed.statement is not None:
            steps.append(Step(self.passed.statement, "it is passed on from here"))
        if self.backward is not None:
            steps.append(Step(self.backward.statement, "backward runs here"))
        return tuple(steps)


def retention_of(facts: Facts, holder: Value, uses: Sequence[Use], *, may_leave: bool = True) -> Retention | None:
    """What keeping the values of ``uses`` in ``holder`` costs.

    Args:
        facts: of the file.
        holder: what the values are kept in (the container or the accumulated value).
        uses: values that bring a graph.
        may_leave: False for a state that stays with its owner: what leaves is read, not trained on.

    Returns:
        the worst of them, or None when the holder reaches a backward, or may do so in code that is not seen.
    """
    if facts.flows.is_trained_on(holder):
        return None
    found = [r for use in uses if (r := _retention(facts, holder, use, may_leave)) is not None]
    worst = min(found, key=lambda retention: retention.level, default=None)
    return None if worst is not None and not worst.spent and _is_trained_on_elsewhere(facts, holder) else worst


def retention_in(
    facts: Facts, statement: cst.CSTNode, holders: Sequence[Value], uses: Sequence[Use]
) -> Retention | None:
    """What keeping by a statement costs; where the program trains on what is kept, what it leaves of records.

    Args:
        facts: of the file.
        statement: what puts them there.
        holders: the values that may be what they are kept in; the first is the container itself where that is seen.
        uses: values that bring a graph.

    Returns:
        the worst of them, or None when each reaches a backward, or may do so in code that is not seen, or the program
        asks what comes out of there again for its gradient or its graph.
    """
    if any(holder in facts.flows.wanted for holder in holders):
        return None
    rows = next((facts.flows.ancestry.rows[one] for one in holders if one in facts.flows.ancestry.rows), None)
    if rows is not None:
        uses = _unread(facts, rows, uses)
    uses = [use for use in uses if use.value not in facts.trained_fields.read_later]
    is_trained_on = any(map(facts.flows.is_trained_on, holders))
    if not is_trained_on:
        return retention_of(facts, holders[0], uses)
    left = map(partial(cost_of, facts), left_in(facts, statement, uses))
    return min(left, key=lambda retention: retention.level, default=None)


def _unread(facts: Facts, rows: Rows, uses: Sequence[Use]) -> list[Use]:
    """The parts of rows that nobody takes out of them with their graph, but for what may be put in as another part.

    What a later backward needs by another way stays alive for that.
    """
    flows = facts.flows
    wanted = (one for one in rows.read if one in flows.trained or one in flows.escaped or one in flows.inspected)
    taken = {part for one in wanted for part in rows.at(rows.read[one])}
    needed = {use.value for use in uses if use.value in flows.trained and not _is_spent_at_once(facts, use.value)}
    return [use for use in uses if use.value not in taken and use.value not in needed]


def _is_spent_at_once(facts: Facts, value: Value) -> bool:
    """Whether the turn that computes a value, be it by a function that it calls, runs its backward as well."""
    backward = _backward_of(facts, value) if facts.flows.is_spent(value) else None
    if backward is None or backward.loop is None:
        return False
    if backward.function is value.function:
        return backward.loop is value.loop
    calls = facts.solution.callers.get(value.function, ()) if value.loop is None else ()
    return any(call.loop is backward.loop for call in calls)


def _is_trained_on_elsewhere(facts: Facts, holder: Value) -> bool:
    """``policy.saved`` in the file that trains: whether the attribute in which a class keeps is read there.

    Or whether others train on what a function computes from the holder and returns.
    """
    if facts.trained_elsewhere.has(holder):
        return True
    kept = {holder, *allocations_of(facts.solution, holder)}
    places = [*facts.solution.read_from(holder)]
    places += [place for place, stored in facts.solution.stored.items() if not kept.isdisjoint(stored)]
    attributes = {place.path for place in places if isinstance(place.owner, Class) and "." not in place.path}
    return any(map(facts.others_train_on, sorted(attributes)))


def _retention(facts: Facts, holder: Value, use: Use, may_leave: bool) -> Retention | None:
    flows, value, cost = facts.flows, use.value, cost_of(facts, use)
    if not cost.spent and (_is_asked_for(facts, value) or _may_be_detached(facts, value)):
        return None
    if not may_leave or cost.inferred or not flows.may_be_trained_on(holder):
        return cost
    is_settled = cost.spent or flows.touches_spent(value)
    return cost if is_settled and not flows.is_spent_by_callers(value) else None


def _may_be_detached(facts: Facts, value: Value) -> bool:
    """Whether the graph is of a model that nobody makes, where the one of the file differentiates by itself.

    That one answers by gradients, without a graph where it does not train; ``model(batch)`` may well be it.
    """
    found = facts.flows.live(value)
    origin = found.origin if found is not None else None
    return origin is not None and origin.op is Op.CALL and facts.inferences.left_out.may_differentiate(origin)


def _is_asked_for(facts: Facts, value: Value, hops: int = CALLS_IN) -> bool:
    """Whether a flag switches gradients where a value is computed, ``set_grad_enabled(flag)``: it is asked for.

    Where a backward follows one has been asked for, and it is spent. What has a graph may be known from another call
    of the same network. ``hops``: so many calls deep the flag is looked for, in what gives the value.
    """
    while value.op in (Op.SUBSCRIPT, Op.ELEMENT):
        value = value.inputs[0]
    if value.mode is Mode.MAYBE or not hops or value.op is not Op.CALL:
        return value.mode is Mode.MAYBE
    receivers = value.callee.inputs if value.callee.op is Op.ATTRIBUTE else ()
    given = [one for one in (*receivers, *value.arguments) if facts.flows.live(one) is not None]  # `moved(out)`
    if not given:
        results = (function.result for function in facts.solution.functions_of(value))
        given = [one for result in results if result is not None for one in result.inputs]
    return bool(given) and all(_is_asked_for(facts, one, hops - 1) for one in given)


def cost_of(facts: Facts, use: Use) -> Retention:
    """What keeping a value costs, wherever it is kept and whoever may train on it there."""
    flows, value = facts.flows, use.value
    inferred = facts.inferences.is_inference(value)
    # A parameter, or an activation whose layer is trained elsewhere, leaves nodes and no bytes.
    spent = flows.is_spent(value) or flows.live(value) is None
    backward = _backward_of(facts, value) if spent else None
    in_doubt = inferred and facts.inferences.found[value.function].is_in_doubt
    return Retention(value, facts.name_of(use), spent, backward, facts.flows.passed_by(value), inferred, in_doubt)


def _backward_of(facts: Facts, value: Value) -> Backward | None:
    """A backward that runs over ``value``'s graph: the nearest, by its root and then by the function it stands in."""
    before = facts.flows.ancestry.of(value)
    over = [
        backward
        for backward in facts.graph.backwards
        if not backward.by_contract and (backward.root in before or value in facts.flows.ancestry.of(backward.root))
    ]
    return min(over, key=lambda b: (b.root is not value, b.function is not value.function, b.root.index), default=None)
