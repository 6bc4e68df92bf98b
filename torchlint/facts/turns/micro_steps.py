"""Loops that go over one batch a few times: each is a part of a step, and the loop around them has the step.

``for step in range(1000): x = draw(); for _ in range(3): ...`` is not a loop of epochs, though loops of steps stand in
it: a turn draws one batch, and the optimizer was there before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.facts.values.literals import literal

if TYPE_CHECKING:
    from torchlint.facts import Facts

FEW = 10
"""So many turns, written in the program, go over one batch."""


def are_micro_steps(facts: Facts, inner: Loop, outer: Loop) -> bool:
    """Whether ``inner``, a loop of training, goes over one batch a few times for each turn of ``outer``."""
    turns = _counted(facts, inner)
    if turns is None or turns > FEW:
        return False
    around = _counted(facts, outer)
    if around is not None and around <= turns:
        return False  # a few tasks, each trained for some epochs
    return _optimizer_stays(facts, inner, outer) and _trains_on_batch_of(facts, inner, outer)


def _counted(facts: Facts, loop: Loop) -> int | None:
    """How many turns a loop over a ``range`` takes, where that is written; None for the rest."""
    iterable = loop.iterable
    if iterable is None or iterable.op is not Op.CALL or iterable.callee.name != "builtins.range":
        return None
    written = (literal(facts.solution, argument) for argument in iterable.arguments)
    numbers = [number for number in written if isinstance(number, int)]
    if len(numbers) != len(iterable.arguments) or not 0 < len(numbers) < 3:
        return None  # one by a step of its own is seldom
    return numbers[-1] - (numbers[0] if len(numbers) == 2 else 0)


def _optimizer_stays(facts: Facts, inner: Loop, outer: Loop) -> bool:
    """Whether all that steps in the inner loop was made before the outer one."""
    calls = [c for c in facts.steps.calls_in(inner.function) if _is_in(c, inner)]
    stepping = [call.callee.inputs[0] for call in calls if facts.repetitions.steps_optimizer(call)]
    return bool(stepping) and not any(_is_in(root, outer) for one in stepping for root in facts.identity.roots(one))


def _trains_on_batch_of(facts: Facts, inner: Loop, outer: Loop) -> bool:
    """Whether what is trained on was computed once for all turns of the inner loop: no parameter, and no number."""
    roots = [b.root for b in facts.graph.backwards if b.loop is not None and inner in b.loop.around()]
    before = {v for root in roots for v in root.computed_from() if _is_in(v, outer) and not _is_in(v, inner)}
    parameters = {source for value in before if _is_leaf(facts, value) for source in value.computed_from()}
    return any(facts.tensors.is_tensor(value) for value in before - parameters)


def _is_leaf(facts: Facts, value: Value) -> bool:
    return any(isinstance(a, Tensor) and a.history is History.LEAF for a in facts.solution.final(value))


def _is_in(value: Value, loop: Loop) -> bool:
    return value.loop is not None and loop in value.loop.around()
