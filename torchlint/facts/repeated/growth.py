"""Growth: modules and optimizers to which every step adds layers, parameters or groups that stay."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.repeated.asked_by_data import AskedByData
from torchlint.facts.repeated.builders import builders, built_by
from torchlint.facts.repeated.grouped import behind, kept_for_good, made_for_group
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import GROUPING, Effect
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.domain import Instance, Tool
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import places_of, targets_of
from torchlint.facts.values.making import ADDING
from torchlint.facts.values.writing import text_of
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

LISTS = frozenset(["torch.nn.ModuleList", "torch.nn.ParameterList", "torch.nn.Sequential"])
DICTS = frozenset(["torch.nn.ModuleDict", "torch.nn.ParameterDict"])
"""Containers of torch whose contents belong to the module that holds them."""

HOPS = 4
"""So many callers up it is asked whether one keeps what a helper gives it."""

OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "LBFGS", "Adadelta")
"""A loop that calls one of these may have an optimizer for each turn."""

REGISTERING = ADDING | {"register_parameter", "register_buffer"}
"""Methods of a module that give it something under a name, and replace what had that name."""


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
    for addition in search.additions():
        growth = search.of(addition)
        if growth is not None:
            found.setdefault((growth.statement, growth.name), growth)
    return list(found.values())


def made_for(growth: Growth) -> frozenset[Value]:
    """The calls that make what is added: the layer, or the one whose parameters a group has."""
    return behind(growth.added)


@dataclass(frozen=True)
class _Addition:
    """One place that adds ``added`` to ``holder``; ``at`` is a value that is computed there."""

    holder: Value
    added: Value
    at: Value
    name: str
    statement: cst.CSTNode
    is_optimizer: bool = False
    by: Effect | None = None


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution = facts.solution
        self._asked = AskedByData(facts)

    # -- what adds ----------------------------------------------------------------------------------------------------

    def additions(self) -> Iterator[_Addition]:
        """Every place that adds something, however often it runs."""
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None and self._is_registered(store):
                name = text_of(store.target, store.holder)
                yield _Addition(store.holder, store.value, self._where(store), name, store.statement)
            elif store.holder is not None and isinstance(store.target, cst.Call) and self._is_computed_name(store):
                name = text_of(store.target.args[0].value, store.holder)
                yield _Addition(store.holder, store.value, self._where(store), name, store.statement)
        found = [
            *map(self._of_call, self.facts.calls()),
            *map(self._of_effect, self.facts.effects.of(EffectKind.GROWS)),
            *map(self._of_effect, self.facts.effects.of(EffectKind.GROWS_ANEW)),
        ]
        yield from (addition for addition in found if addition is not None)

    def _is_registered(self, store: Store) -> bool:
        """Whether a store makes a container of modules longer: no item of a list, no constant key."""
        assert store.holder is not None
        kinds = built_by(self.facts, store.holder)
        kinds |= {base for base in self._bases(store.holder) if base in LISTS | DICTS}
        return bool(kinds & DICTS and store.key is None) if store.is_item else bool(kinds & LISTS)

    def _is_computed_name(self, store: Store) -> bool:
        """``setattr(self, f"extra{n}", layer)``, of which the name of the attribute is not known."""
        is_module = self.facts.tensors.is_module
        return (
            store.kind is Kind.ASSIGN
            and store.holder is not None
            and is_module(store.holder)
            and is_module(store.value)
        )

    def _where(self, store: Store) -> Value:
        """The call that puts in, or what else is computed where a store stands."""
        there = [v for v in self.facts.computed_in(store.statement) if v.function is store.function]
        calls = [v for v in there if v.op is Op.CALL and store.holder in v.callee.inputs]
        return next(iter(calls or there), store.value)

    def _bases(self, value: Value) -> Iterator[str]:
        for atom in self.solution.final(value):
            if isinstance(atom, Instance):
                yield from atom.cls.all_bases()

    def _of_call(self, call: Value) -> _Addition | None:
        callee, statement = call.callee, self.facts.statement_of(call)
        if callee.op is Op.ATTRIBUTE:
            holder, first, second = callee.inputs[0], call.argument(0, "name"), call.argument(1)
            if callee.name == GROUPING and call.arguments and self._is_optimizer(holder):
                name = text_of(_receiver(call), holder)
                return _Addition(holder, call.arguments[0], call, name, statement, is_optimizer=True)
            if callee.name in REGISTERING and first is not None and self.facts.tensors.is_module(holder):
                named = (call.argument(-1, word) for word in ("module", "param", "tensor"))
                added = second or next(filter(None, named), None)
                if added is not None and _varies(first):
                    return _Addition(holder, added, call, text_of(_receiver(call), holder), statement)
        elif callee.name == "builtins.setattr" and len(call.arguments) == 3:
            holder, key, added = call.arguments
            if self.facts.tensors.is_module(holder) and _varies(key) and self.facts.tensors.is_module(added):
                written = call.syntax.args[0].value if isinstance(call.syntax, cst.Call) else None
                return _Addition(holder, added, call, text_of(written, holder), statement)
        return None

    def _of_effect(self, effect: Effect) -> _Addition | None:
        """What a function of another file adds to the optimizer that it is given."""
        holder, *added = effect.given
        made = [value for value in added if value.op is not Op.CONSTANT]
        if effect.done.kind is EffectKind.GROWS_ANEW:
            made = [effect.call]
        if not made or not self._is_optimizer(holder):
            return None
        statement = self.facts.statement_of(effect.call)
        name = text_of(self._written(effect.call, holder), holder)
        return _Addition(holder, made[0], effect.call, name, statement, is_optimizer=True, by=effect)

    def _written(self, call: Value, given: Value) -> cst.CSTNode | None:
        """How an argument is written in a CALL."""
        nodes = [argument.value for argument in call.syntax.args] if isinstance(call.syntax, cst.Call) else []
        passed = [node for node, value in zip(nodes, call.arguments, strict=False) if value is given]
        return passed[0] if passed else None

    def _is_optimizer(self, value: Value) -> bool:
        return any(isinstance(atom, Tool) and atom.kind == "optimizer" for atom in self.solution.final(value))

    # -- whether it stays ---------------------------------------------------------------------------------------------

    def of(self, addition: _Addition) -> Growth | None:
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
        is_ended = self._is_limited(addition, repetition) or self._is_taken_back(addition, repetition)
        if is_ended or self._is_cut(addition):
            return None
        if not self._outlives(addition, repetition):
            return None
        return Growth(
            addition.statement, addition.name, addition.added, addition.is_optimizer, repetition.by, addition.by,
            of_one_turn, by_data is not None,
        )  # fmt: skip

    def _repetition(self, addition: _Addition) -> Repetition | None:
        """What repeats an addition; a forward that adds a layer for some batches never ends to grow either."""
        made, function = builders(self.facts, addition.holder), addition.at.function
        found = self.facts.repetitions.of(addition.at, lambda at: _hands_out(at.function, made))
        trials = self.facts.repetitions
        # `if name not in added:` adds no more than there are names.
        if found is None and addition.is_optimizer and (trial := trials.trial_of(addition.at, among_new=False)):
            return Repetition(trial, Turn.HOLDS, (addition.at,))
        if found is None and addition.is_optimizer and (training := self._asked_by_others(addition)):
            return Repetition(training, Turn.HOLDS, (addition.at,))
        if found is not None or not is_forward(function) or not self.facts.tensors.is_module(addition.added):
            return found
        if self.facts.skipping.is_skipped(addition.at, function, by_data=False):
            return None
        return Repetition(function, Turn.INFERS, (addition.at,))

    def _asked_by_others(self, addition: _Addition) -> Function | None:
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

    def _by_data(self, addition: _Addition) -> Repetition | None:
        """The loop of steps in some turns of which a number of the step asks for a layer more, and always may again."""
        if is_forward(addition.at.function) or not self.facts.tensors.is_module(addition.added):
            return None
        asked = self._asked.loop_of(addition.at, addition.statement)
        return Repetition(asked[0], self.facts.repetitions.turn(asked[0]), asked[1]) if asked is not None else None

    def _trains_for_itself(self, repetition: Repetition) -> bool:
        """Whether each turn takes several steps of training."""
        inner = (loop for loop in self.facts.graph.loops if repetition.by in loop.around()[1:])
        is_trained = any(self.facts.repetitions.turn(loop) is Turn.TRAINS for loop in inner)
        return is_trained or repetition.turn is Turn.HOLDS

    def _is_given_up(self, addition: _Addition, repetition: Repetition) -> bool:
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

    def _outlives(self, addition: _Addition, repetition: Repetition) -> bool:
        """Whether what grows was there before the turn, and nothing sets it anew in it."""
        made = builders(self.facts, addition.holder)
        homes: list[Place | Value] = [*places_of(self.solution, addition.holder), *made]
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

    def _is_limited(self, addition: _Addition, repetition: Repetition) -> bool:
        """``if len(self.layers) < 4:`` around it, or ``if len(net.layers) == 4: continue`` before it or its call."""
        named = {addition.name}
        for at in repetition.chain:
            statement = addition.statement if at is addition.at else at.syntax
            asked = self._asked.tests_before(statement, at.function) if statement is not None else ()
            if any((dotted(inner) or "").endswith(tuple(named)) for test in asked for inner in walk(test)):
                return True
            named = {f".{addition.name.rpartition('.')[2]}"}  # who calls has another name for what has the layers
        return False

    def _is_cut(self, addition: _Addition) -> bool:
        """``self.layers = self.layers[-4:]``, wherever that stands."""
        homes = places_of(self.solution, addition.holder)
        parts = (s for s in self.facts.graph.stores if s.kind is Kind.ASSIGN and _is_slice(s.value))
        cut = (part for part in parts if not set(homes).isdisjoint(targets_of(self.solution, part)))
        return any(not set(homes).isdisjoint(places_of(self.solution, part.value.inputs[0])) for part in cut)

    def _is_taken_back(self, addition: _Addition, repetition: Repetition) -> bool:
        """Whether the same turn takes something out again: ``delattr``, ``del optimizer.param_groups[-1]``."""
        names = {addition.name, f"{addition.name}.param_groups", f"{addition.name}._modules"}
        if any(_takes_out(node, names) for node in walk(repetition.by.syntax)):
            return True
        way = [addition.at.function, *self.solution.callers_above([addition.at.function])]
        between = (one for one in way if addition.is_optimizer and one.parent is not None and not one.is_foreign)
        return any(_takes_group(node) for one in between for node in walk(one.syntax))


def _takes_out(node: cst.CSTNode, names: Set[str]) -> bool:
    """``del layers[0]``, ``layers.pop()``, ``delattr(net, name)``"""
    if isinstance(node, cst.Del):
        return any(dotted(inner) in names for inner in walk(node.target))
    called = (dotted(node.func) or "") if isinstance(node, cst.Call) else ""
    return called == "delattr" or (called.rpartition(".")[0] in names and called.endswith((".pop", ".clear")))


def _takes_group(node: cst.CSTNode) -> bool:
    """``del optimizer.param_groups[-1]``, whatever the optimizer is called there, and the like."""
    if isinstance(node, cst.AssignTarget | cst.Del):
        return any((dotted(inner) or "").endswith(".param_groups") for inner in walk(node.target))
    called = (dotted(node.func) or "") if isinstance(node, cst.Call) else ""
    return called.endswith((".param_groups.pop", ".param_groups.clear", ".param_groups.remove"))


def _is_slice(value: Value) -> bool:
    return isinstance(value.syntax, cst.Subscript) and isinstance(value.syntax.slice[0].slice, cst.Slice)


def _around(value: Value) -> list[Loop]:
    return value.loop.around() if value.loop is not None else []


def _hands_out(function: Function, made: list[Value]) -> bool:
    """Whether a function returns what it has made, maybe with more: it builds, however often it tries that out."""
    results = function.result.inputs if function.result is not None else ()
    handed = {value for result in results for value in (result.inputs if result.op is Op.CONTAINER else (result,))}
    return not handed.isdisjoint(made)


def _receiver(call: Value) -> cst.BaseExpression | None:
    func = call.syntax.func if isinstance(call.syntax, cst.Call) else None
    return func.value if isinstance(func, cst.Attribute) else None


def _varies(name: Value) -> bool:
    """Whether a name is not written as one string."""
    return name.syntax is None or not isinstance(constant_of(name.syntax), str)
