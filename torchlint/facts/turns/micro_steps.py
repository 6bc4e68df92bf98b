"""Loops that go over one batch a few times: each is a part of a step, and the loop around them has the step.

``for step in range(1000): x = draw(); for _ in range(3): ...`` is not a loop of epochs, though loops of steps stand in
it: a turn draws one batch, and the optimizer was there before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.graph import Function, Loop, Op, Store, Value
from torchlint.facts.values.homes import targets_of
from torchlint.facts.values.literals import literal
from torchlint.facts.values.parameters import is_own_object

if TYPE_CHECKING:
    from torchlint.facts import Facts

INITIALIZER = "__init__"

HOPS = 3
"""So many callers up it is asked whether a network is older."""

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


def are_micro_steps_of(facts: Facts, inner: Loop) -> bool:
    """Whether ``inner``, a loop of training, goes a few times over one batch that its function draws with each call.

    What it trains is older than the call: ``for task in tasks: adapt(net, task)`` is a loop of steps.
    """
    function = inner.function
    if inner.parent is not None or function.parent is None or not facts.loop_lengths.is_short(inner):
        return False
    calls = [c for c in facts.steps.calls_in(function) if _is_in(c, inner)]
    stepping = [call.callee.inputs[0] for call in calls if facts.repetitions.steps_optimizer(call)]
    backwards = [b for b in facts.graph.backwards if b.loop is not None and inner in b.loop.around()]
    trained = [*stepping, *(one for b in backwards for one in _networks(facts, b.root, inner))]
    if not trained or not all(_is_older(facts, one, function, HOPS) for one in trained):
        return False
    before = {v for b in backwards for v in b.root.computed_from() if v.function is function and not _is_in(v, inner)}
    drawn = {v for v in before if any(part.op is Op.CALL and part not in trained for part in v.computed_from())}
    parameters = {source for v in before if _is_leaf(facts, v) for source in v.computed_from()}
    return any(facts.tensors.is_tensor(value) for value in drawn - parameters)


def _is_older(facts: Facts, value: Value, function: Function, hops: int) -> bool:
    """Whether something is older than the call of a function, and than each turn of the loops around that."""
    owner = value
    while owner.op is Op.ATTRIBUTE:
        owner = owner.inputs[0]
    if owner.op is Op.READ:
        return owner.place is not None and owner.place.owner is facts.graph.module
    if owner.op is not Op.PARAMETER or owner.function is not function or not hops:
        return False
    if owner is not value and any(store.function.name != INITIALIZER for store in _stores_of(facts, value)):
        return False
    calls = facts.solution.callers.get(function, {})
    if not calls and hops < HOPS:
        return is_own_object(owner)  # whoever calls the method has made its object before
    position = function.parameters.index(owner)
    given = [(call, facts.solution.passed(call, function, position)) for call in calls]
    return bool(given) and all(one is not None and _is_made_before(facts, one, call, hops) for call, one in given)


def _is_made_before(facts: Facts, value: Value, call: Value, hops: int) -> bool:
    """Whether what a CALL is given was made before the loops around the CALL, of which none has a few turns only."""
    if call.loop is not None and any(map(facts.loop_lengths.is_short, call.loop.around())):
        return False  # a few tasks, each trained for some epochs
    if value.op is Op.CALL:
        return call.loop is None or value.loop not in call.loop.around()
    return _is_older(facts, value, call.function, hops - 1)


def _stores_of(facts: Facts, read: Value) -> list[Store]:
    places = set(facts.solution.read_from(read))
    stores = (store for store in facts.graph.stores if store.attribute == read.name)
    return [store for store in stores if not places.isdisjoint(targets_of(facts.solution, store))]


def _networks(facts: Facts, root: Value, inner: Loop) -> list[Value]:
    """The networks whose forwards in a loop lead to a loss."""
    runs = (v for v in root.computed_from() if v.op is Op.CALL and _is_in(v, inner) and facts.steps.calls_module(v))
    return [called_object(run) for run in runs]


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
