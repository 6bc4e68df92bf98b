"""Untaken tensors: forward hooks put them away for hooks of the backward to take, and no backward need come.

What a forward without gradients puts there stays for good. Whoever takes what is left before the next forward, be it by
the name of the list alone, or asks whether there are gradients before anything is put away, is spared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.hooks.handles import removes
from torchlint.facts.hooks.piles import Pile, running_in
from torchlint.facts.turns.forwards import is_within_forward
from torchlint.facts.values.graph import Function, Op, Place, Value
from torchlint.syntax.tree import walk, walk_statements

if TYPE_CHECKING:
    from torchlint.facts import Facts

ASKING_TENSORS = frozenset(["requires_grad", "grad_fn"])
"""What says of a tensor whether gradients are on."""


@dataclass(frozen=True)
class Untaken:
    """What a forward hook leaves for a hook of the backward, which takes nothing where gradients are off.

    Attributes:
        pile: what is put away.
        taker: the hook of the backward, or what it calls, that takes it.
        guard: the statement that leaves the hook where its module does not train; None without one.
        forward: a forward without gradients that runs the hook; None where none is seen.
    """

    pile: Pile
    taker: Function
    guard: cst.CSTNode | None
    forward: Value | None


def untaken(facts: Facts) -> list[Untaken]:
    """Every list that forward hooks fill and that only hooks of the backward empty, though gradients may be off."""
    backwards = running_in(facts, facts.hooks.of_backwards) if facts.hook_piles else frozenset[Function]()
    return [found for pile in facts.hook_piles if backwards and (found := _untaken(facts, pile, backwards)) is not None]


def _untaken(facts: Facts, pile: Pile, backwards: frozenset[Function]) -> Untaken | None:
    takers = list(dict.fromkeys(_takers(facts, pile)))
    if not takers or not backwards.issuperset(takers) or _asks_for_gradients(facts, pile):
        return None
    if pile.holder.op is Op.ATTRIBUTE and facts.others_empty(pile.holder.name):
        return None
    guard = _guard(pile.store.function)
    called = facts.hooks.forwards(pile.hook)
    # What runs in a layer's own forward runs with gradients or without, as whoever calls the layer likes.
    forwards = [one for one in called if not is_within_forward(facts.solution, one.function)]
    without = [one for one in forwards if not facts.modes.records(one) and not (guard and one.evaluating)]
    homes = list(pile.homes)
    lasting = [one for one in without if facts.lifetimes.outlives(homes, one.function, one.loop)]
    if forwards and not lasting:
        return None
    return Untaken(pile, takers[0], guard, lasting[0] if lasting else None)


def _takers(facts: Facts, pile: Pile) -> Iterator[Function]:
    """The functions that empty a list or take something out of it; who removes hooks as well is done with it."""
    begins = {facts.graph.module, pile.hook.registration.function}
    begins |= {home.owner for home in pile.homes if isinstance(home, Place) and isinstance(home.owner, Function)}
    for one in facts.list_clearings:
        function = one.function
        if one.may_empty(pile) and function.name != "__init__" and function not in begins and not removes(function):
            yield function


def _asks_for_gradients(facts: Facts, pile: Pile) -> bool:
    """Whether the hook asks if gradients are on: torch, or a tensor; of a parameter that says nothing."""
    hook = pile.hook.function
    module = pile.hook.subject
    running = running_in(facts, [hook])
    for value in facts.graph.of(Op.EXTERNAL, Op.ATTRIBUTE):
        if value.function not in running:
            continue
        if "grad_enabled" in value.name:
            return True
        if value.op is Op.ATTRIBUTE and value.name in ASKING_TENSORS:
            of = set(value.inputs[0].computed_from())
            if module not in of or not of.isdisjoint(pile.hook.tensors):
                return True
    return False


def _guard(function: Function) -> cst.CSTNode | None:
    """``if not module.training: return``, or what stands around all that is done in training."""
    conditions = (node for node in walk_statements(function.syntax) if isinstance(node, cst.If))
    asking = (node for node in conditions if any(map(_is_training, walk(node.test))))
    return next(asking, None)


def _is_training(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "training"
