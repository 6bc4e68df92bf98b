"""What keeping a value costs: whether its graph is spent or still holds activations, and how to say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.diagnostic import Level, Memory
from torchlint.facts.domain import Container
from torchlint.facts.graph import Backward, Value
from torchlint.rule import LineOf, Step

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Retention:
    """The cost of a live value that is kept from step to step.

    Attributes:
        value: the live value.
        name: its source text, shortened.
        spent: True when a backward runs over its graph, so that only graph nodes stay (host memory).
        backward: that backward.
        inferred: True when the value comes from inference with gradients on, which TLK201 reports.
    """

    value: Value
    name: str
    spent: bool
    backward: Backward | None
    inferred: bool

    @property
    def level(self) -> Level:
        """WARNING when only graph nodes stay, ERROR when activations do."""
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
        return (", whose backward has run (line ", line, "): host memory grows each step, GPU memory does not")

    def evidence(self) -> tuple[Step, ...]:
        """Where the value comes from and where its backward runs."""
        steps = []
        if self.value.statement is not None:
            steps.append(Step(self.value.statement, f"`{self.name}` is computed here with gradients on"))
        if self.backward is not None:
            steps.append(Step(self.backward.statement, "backward runs here"))
        return tuple(steps)


def retention_of(
    facts: Facts, holder: Value | None, parts: Sequence[Value], *, may_leave: bool = True
) -> Retention | None:
    """What keeping ``parts`` in ``holder`` costs.

    Args:
        facts: of the file.
        holder: what the values are kept in (the container or the accumulated value).
        parts: live values.
        may_leave: False for a state that stays with its owner: what leaves is read, not trained on.

    Returns:
        the worst of them, or None when the holder reaches a backward, or may do so in code that is not seen.
    """
    flows = facts.flows
    if holder is not None and flows.is_trained_on(holder):
        return None
    worst: Retention | None = None
    for part in parts:
        spent = flows.is_spent(part)
        inferred = facts.inferences.is_inference(part)
        if not spent and flows.live(part) is None:
            spent = True  # a parameter, or an activation whose layer is trained elsewhere: nodes stay, no bytes
        if may_leave and not spent and not inferred and holder is not None and flows.may_be_trained_on(holder):
            if not flows.touches_spent(part):
                continue
        backward = _backward_of(facts, part) if spent else None
        found = Retention(part, name_of(facts, part), spent, backward, inferred)
        if worst is None or found.level < worst.level:
            worst = found
    return worst


def _backward_of(facts: Facts, value: Value) -> Backward | None:
    """A backward that runs over ``value``'s graph, one that starts from it first, in the same function before others."""
    graph = facts.graph
    ranked = sorted(
        (backward for backward in graph.backwards if not backward.by_contract),
        key=lambda b: (b.root is not value, b.function is not value.function, b.root.index),
    )
    return ranked[0] if ranked else None


def name_of(facts: Facts, value: Value) -> str:
    """How the program writes a value, at most 40 characters."""
    node = value.syntax
    if isinstance(node, cst.Param):
        return node.name.value
    if isinstance(node, cst.AugAssign):
        node = node.target
    text = facts.code(node) if node is not None else value.name or "it"
    return text if len(text) <= 40 else text[:37] + "..."


def holder_value(facts: Facts, value: Value) -> Value:
    """The container behind ``value`` when exactly one is known, else ``value`` itself."""
    made = [atom.allocation for atom in facts.solution.final(value) if isinstance(atom, Container)]
    return made[0] if len(made) == 1 else value
