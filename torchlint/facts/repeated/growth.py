"""Growth: modules and optimizers to which every step adds layers, parameters or groups that stay."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.repeated.additions import Addition, Additions, takes_out
from torchlint.facts.repeated.builders import builders
from torchlint.facts.repeated.grouped import behind, kept_for_good, made_for_group
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Loop, Op, Place, Value
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

HOPS = 4
"""So many callers up it is asked whether one keeps what a helper gives it."""

OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "LBFGS", "Adadelta")
"""A loop that calls one of these may have an optimizer for each turn."""


@dataclass(frozen=True)
class Growth:
    """Something that a step adds to a module or an optimizer for good.

    Attributes:
        statement: where.
        name: how the program writes what grows.
        added: what is added.
        is_optimizer: True for a group of parameters.
        repeated_by: the loop each turn of which adds, or the method that does with each call.
        by: what adds it in another file; None where that is seen.
        of_one_turn: True for parameters that each turn, a whole training, makes for itself and nothing else keeps.
        is_by_data: True where a number of the step decides whether something is added in it.
    """

    statement: cst.CSTNode
    name: str
    added: Value
    is_optimizer: bool
    repeated_by: Loop | Function
    by: Effect | None = None
    of_one_turn: bool = False
    is_by_data: bool = False


def growths(facts: Facts) -> list[Growth]:
    """Every addition that is repeated and never taken back, one for each statement and what grows there."""
    search = _Search(facts)
    found: dict[tuple[cst.CSTNode, str], Growth] = {}
    for addition in search.additions.all():
        growth = search.of(addition)
        if growth is not None:
            found.setdefault((growth.statement, growth.name), growth)
    return list(found.values())


def made_for(growth: Growth) -> frozenset[Value]:
    """The calls that make what is added: the layer, or the one whose parameters a group has."""
    return behind(growth.added)


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution = facts.solution
        self.additions = Additions(facts)

    def of(self, addition: Addition) -> Growth | None:
        """The growth behind an addition, None where it runs once, or what is added goes away again."""
        if addition.added.op in (Op.READ, Op.ATTRIBUTE):
            return None  # what is there already
        by_data = None
        repetition = self._repetition(addition)
        if repetition is None:
            repetition = by_data = self._by_data(addition)
        if repetition is None:
            return None
        of_one_turn = self._trains_for_itself(repetition) and self._is_given_up(addition, repetition)
        if repetition.turn is Turn.HOLDS and not of_one_turn:
            return None  # a stage that adds a layer
        is_ended = self.additions.is_limited(addition, repetition.chain) or self._is_taken_back(addition, repetition)
        if is_ended or self.additions.is_cut(addition):
            return None
        if not self._outlives(addition, repetition):
            return None
        return Growth(
            addition.statement, addition.name, addition.added, addition.is_optimizer, repetition.by, addition.by,
            of_one_turn, by_data is not None,
        )  # fmt: skip

    def _repetition(self, addition: Addition) -> Repetition | None:
        """What repeats an addition; a forward that adds a layer for some batches never ends to grow either."""
        made, function = builders(self.facts, addition.holder), addition.at.function
        found = self.facts.repetitions.of(addition.at, lambda at: _hands_out(at.function, made))
        trials = self.facts.repetitions
        # `if name not in added:` adds no more than there are names.
        if found is None and addition.is_optimizer and (trial := trials.trial_of(addition.at, among_new=False)):
            return Repetition(trial, Turn.HOLDS, (addition.at,))
        if found is None and addition.is_optimizer and (training := self._asked_by_others(addition)):
            return Repetition(training, Turn.HOLDS, (addition.at,))
        if found is not None or not is_forward(function) or not self._adds_module(addition):
            return found
        if self.facts.skipping.is_skipped(addition.at, function, by_data=False):
            return None
        return Repetition(function, Turn.INFERS, (addition.at,))

    def _adds_module(self, addition: Addition) -> bool:
        is_own = addition.by is not None and addition.by.done.kind is EffectKind.GROWS_OWN
        return is_own or self.facts.tensors.is_module(addition.added)

    def _asked_by_others(self, addition: Addition) -> Function | None:
        """The whole training, a function that other files call in a loop for one and the same optimizer."""
        at, holder = addition.at, addition.holder
        for _ in range(HOPS):
            if at.loop is not None or holder.op is not Op.PARAMETER or self.facts.skipping.is_skipped(at, at.function):
                return None
            callers = self.solution.callers.get(at.function, {})
            if not callers:
                break
            caller, given = min(callers.items(), key=lambda item: item[0].index)
            passed = given.get(holder) if len(callers) == 1 else None
            if passed is None:
                return None
            at, holder = caller, passed
        training, facts = at.function, self.facts
        if training.owner is not None or holder not in training.parameters or not facts.repetitions.holds(training):
            return None
        parameter = (training.parameters.index(holder), holder.name)
        if facts.others_call_once(training.name, (parameter,)) or not facts.repeats(training.name, OPTIMIZERS):
            return None
        return training

    def _by_data(self, addition: Addition) -> Repetition | None:
        """The loop of steps in some turns of which a number of the step asks for a layer more, and always may again."""
        if is_forward(addition.at.function) or not self._adds_module(addition):
            return None
        asked = self.additions.asked.loop_of(addition.at, addition.statement)
        return Repetition(asked[0], self.facts.repetitions.turn(asked[0]), asked[1]) if asked is not None else None

    def _trains_for_itself(self, repetition: Repetition) -> bool:
        """Whether each turn takes several steps of training."""
        inner = (loop for loop in self.facts.graph.loops if repetition.by in loop.around()[1:])
        is_trained = any(self.facts.repetitions.turn(loop) is Turn.TRAINS for loop in inner)
        return is_trained or repetition.turn is Turn.HOLDS

    def _is_given_up(self, addition: Addition, repetition: Repetition) -> bool:
        """Whether each turn makes the parameters that it adds, and keeps them nowhere else: a code for each scan."""
        loop, there = repetition.by, addition.at.function
        is_new = addition.by is not None and addition.by.done.kind is EffectKind.GROWS_ANEW
        new = frozenset([addition.at]) if is_new else made_for_group(self.facts, addition.added)
        if not new or not addition.is_optimizer:
            return False
        is_helper = not isinstance(loop, Loop) or there is not loop.function  # each call makes its own
        if not all(p.function is there and (is_helper or loop in _around(p)) for p in new):
            return False
        turns = loop.function if isinstance(loop, Loop) else None
        return self._is_lost(new, there, turns, kept_for_good(self.facts), HOPS)

    def _is_lost(self, made: Set[Value], there: Function, turns: Function | None, kept: Set[Value], hops: int) -> bool:
        """Whether what a function makes is kept by nobody, be it that its callers get it, up to who has the turns."""
        if not kept.isdisjoint(made):
            return False
        if there is turns or there.result is None or behind(there.result).isdisjoint(made):
            return True
        if self.facts.repetitions.holds(there):
            return False  # what a training gives is meant to stay
        callers = self.solution.callers.get(there, ())
        return (
            bool(callers)
            and hops > 0
            and all(self._is_lost(frozenset([call]), call.function, turns, kept, hops - 1) for call in callers)
        )

    def _outlives(self, addition: Addition, repetition: Repetition) -> bool:
        """Whether what grows was there before the turn, and nothing sets it anew in it."""
        made = builders(self.facts, addition.holder)
        homes: list[Place | Value] = [*self.additions.places(addition), *made]
        if self.facts.lifetimes.outlives(homes, addition.at.function, addition.at.loop):
            return True
        if isinstance(repetition.by, Function) and repetition.turn is Turn.HOLDS:
            return True  # who calls the training has it
        loop = repetition.by if isinstance(repetition.by, Loop) else None
        within = {call.function for call in repetition.chain[: -1 if loop is not None else None]}
        if loop is not None and addition.at.function is not loop.function:
            within.add(addition.at.function)
        born = any(
            value.function in within or (loop is not None and value.loop is not None and loop in value.loop.around())
            for value in made
        )
        return not born and not self.facts.lifetimes.is_reset(homes)

    def _is_taken_back(self, addition: Addition, repetition: Repetition) -> bool:
        """Whether the same turn takes something out again: ``delattr``, ``del optimizer.param_groups[-1]``."""
        names = {addition.name, f"{addition.name}.param_groups", f"{addition.name}._modules"}
        if any(takes_out(node, names) for node in walk(repetition.by.syntax)):
            return True
        way = [addition.at.function, *self.solution.callers_above([addition.at.function])]
        between = (one for one in way if addition.is_optimizer and one.parent is not None and not one.is_foreign)
        return any(_takes_group(node) for one in between for node in walk(one.syntax))


def _takes_group(node: cst.CSTNode) -> bool:
    """``del optimizer.param_groups[-1]``, whatever the optimizer is called there, and the like."""
    if isinstance(node, cst.AssignTarget | cst.Del):
        return any((dotted(inner) or "").endswith(".param_groups") for inner in walk(node.target))
    called = (dotted(node.func) or "") if isinstance(node, cst.Call) else ""
    return called.endswith((".param_groups.pop", ".param_groups.clear", ".param_groups.remove"))


def _around(value: Value) -> list[Loop]:
    return value.loop.around() if value.loop is not None else []


def _hands_out(function: Function, made: list[Value]) -> bool:
    """Whether a function returns what it has made, maybe with more: it builds, however often it tries that out."""
    results = function.result.inputs if function.result is not None else ()
    handed = {value for result in results for value in (result.inputs if result.op is Op.CONTAINER else (result,))}
    return not handed.isdisjoint(made)
