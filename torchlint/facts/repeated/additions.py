"""Additions: the places that give a module or an optimizer more layers or parameters, however often they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.repeated.asked_by_data import AskedByData
from torchlint.facts.repeated.builders import built_by
from torchlint.facts.repeated.grouped import GROUPING, behind
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.frameworks import may_be_optimizer
from torchlint.facts.values.graph import Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import targets_of
from torchlint.facts.values.making import ADDING
from torchlint.facts.values.overriding import is_super
from torchlint.facts.values.writing import is_slice, text_of
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

LISTS = frozenset(["torch.nn.ModuleList", "torch.nn.ParameterList", "torch.nn.Sequential"])
DICTS = frozenset(["torch.nn.ModuleDict", "torch.nn.ParameterDict"])
"""Containers of torch whose contents belong to the module that holds them."""

REGISTERING = ADDING | {"register_parameter", "register_buffer"}
"""Methods of a module that give it something under a name, and replace what had that name."""


@dataclass(frozen=True)
class Addition:
    """One place that adds ``added`` to ``holder``; ``at`` is a value that is computed there."""

    holder: Value
    added: Value
    at: Value
    name: str
    statement: cst.CSTNode
    is_optimizer: bool = False
    by: Effect | None = None


class Additions:
    """Finds them in one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution
        self.asked = AskedByData(facts)

    def all(self) -> Iterator[Addition]:
        """Every place that adds something, however often it runs."""
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None and self._is_registered(store):
                name = text_of(store.target, store.holder)
                yield Addition(store.holder, store.value, self._where(store), name, store.statement)
            elif store.holder is not None and isinstance(store.target, cst.Call) and self._is_computed_name(store):
                name = text_of(store.target.args[0].value, store.holder)
                yield Addition(store.holder, store.value, self._where(store), name, store.statement)
        found = [
            *map(self._of_call, self.facts.calls()),
            *map(self._of_effect, self.facts.effects.of(EffectKind.GROWS)),
            *map(self._of_effect, self.facts.effects.of(EffectKind.GROWS_ANEW)),
            *map(self._of_own, self.facts.effects.of(EffectKind.GROWS_OWN)),
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

    def _of_call(self, call: Value) -> Addition | None:
        callee, statement = call.callee, self.facts.statement_of(call)
        if callee.op is Op.ATTRIBUTE:
            holder, first, second = callee.inputs[0], call.argument(0, "name"), call.argument(1)
            if callee.name == GROUPING and call.arguments and may_be_optimizer(self.solution, holder):
                name = text_of(_receiver(call), holder)
                return Addition(holder, call.arguments[0], call, name, statement, is_optimizer=True)
            if callee.name in REGISTERING and first is not None and self.facts.tensors.is_module(holder):
                named = (call.argument(-1, word) for word in ("module", "param", "tensor"))
                added = second or next(filter(None, named), None)
                if added is not None and _varies(first):
                    return Addition(holder, added, call, text_of(_receiver(call), holder), statement)
        elif callee.name == "builtins.setattr" and len(call.arguments) == 3:
            holder, key, added = call.arguments
            if self.facts.tensors.is_module(holder) and _varies(key) and self.facts.tensors.is_module(added):
                written = call.syntax.args[0].value if isinstance(call.syntax, cst.Call) else None
                return Addition(holder, added, call, text_of(written, holder), statement)
        return None

    def _of_effect(self, effect: Effect) -> Addition | None:
        """What a function of another file adds to the optimizer that it is given."""
        holder, added = next(iter(effect.given), None), effect.given[1:]
        made = [value for value in added if value.op is not Op.CONSTANT]
        if effect.done.kind is EffectKind.GROWS_ANEW:
            made = [effect.call]
        if holder is None or not made or not may_be_optimizer(self.solution, holder):
            return None
        statement = self.facts.statement_of(effect.call)
        name = text_of(self._written(effect.call, holder), holder)
        return Addition(holder, made[0], effect.call, name, statement, is_optimizer=True, by=effect)

    def _of_own(self, effect: Effect) -> Addition | None:
        """What a method of another file adds to its own object: ``self.widen()`` of a base class, ``net.widen()``."""
        holder, path = next(iter(effect.given), None), effect.done.name.rpartition(".")[0]
        is_module, around = self.facts.tensors.is_module, effect.call.function
        written = text_of(_receiver(effect.call), holder) if holder is not None else ""
        if holder is not None and is_super(holder) and around.parameters:
            holder = around.parameters[0]
            written = holder.name
        if holder is None or not is_module(holder) or len(effect.given) != len(effect.done.of):
            return None
        given = [part for added in effect.given[1:] for part in behind(added) if part.op is not Op.CONTAINER]
        if not all(part.op is Op.CALL and is_module(part) for part in given):
            return None
        statement = self.facts.statement_of(effect.call)
        name = f"{written}.{path}" if path else written
        added = effect.given[1] if effect.given[1:] else effect.call
        return Addition(holder, added, effect.call, name, statement, by=effect)

    def _written(self, call: Value, given: Value) -> cst.CSTNode | None:
        """How an argument is written in a CALL."""
        nodes = [argument.value for argument in call.syntax.args] if isinstance(call.syntax, cst.Call) else []
        passed = [node for node, value in zip(nodes, call.arguments, strict=False) if value is given]
        return passed[0] if passed else None

    # -- whether it is meant to end -----------------------------------------------------------------------------------

    def is_limited(self, addition: Addition, chain: Sequence[Value]) -> bool:
        """``if len(self.layers) < 4:`` around it, or ``if len(net.layers) == 4: continue`` before it or its call.

        ``chain``: what runs there, and the calls that lead to it, innermost first.
        """
        named = {addition.name}
        for at in chain:
            there = [addition.statement] if at is addition.at else []
            # `if len(self.layers) < 4: self.grow()` on one line is all one statement.
            there += [at.syntax] if at.syntax is not None and at.op is Op.CALL else []
            asked = [test for node in there for test in self.asked.tests_before(node, at.function)]
            if any((dotted(inner) or "").endswith(tuple(named)) for test in asked for inner in walk(test)):
                return True
            named = {f".{addition.name.rpartition('.')[2]}"}  # who calls has another name for what has the layers
        return False

    def places(self, addition: Addition) -> list[Place]:
        """Where what grows is kept."""
        if addition.by is not None and addition.by.done.kind is EffectKind.GROWS_OWN:
            attribute = addition.by.done.name.partition(".")[0]
            return self.solution.places(addition.holder, attribute) if attribute else []
        return self.solution.read_from(addition.holder)

    def is_cut(self, addition: Addition) -> bool:
        """``self.layers = self.layers[-4:]``, wherever that stands."""
        homes = self.places(addition)
        parts = (s for s in self.facts.graph.stores if s.kind is Kind.ASSIGN and is_slice(s.value))
        cut = (part for part in parts if not set(homes).isdisjoint(targets_of(self.solution, part)))
        return any(not set(homes).isdisjoint(self.solution.read_from(part.value.inputs[0])) for part in cut)


def takes_out(node: cst.CSTNode, names: Set[str]) -> bool:
    """``del layers[0]``, ``layers.pop()``, ``delattr(net, name)``"""
    if isinstance(node, cst.Del):
        return any(dotted(inner) in names for inner in walk(node.target))
    called = (dotted(node.func) or "") if isinstance(node, cst.Call) else ""
    return called == "delattr" or (called.rpartition(".")[0] in names and called.endswith((".pop", ".clear")))


def _receiver(call: Value) -> cst.BaseExpression | None:
    func = call.syntax.func if isinstance(call.syntax, cst.Call) else None
    return func.value if isinstance(func, cst.Attribute) else None


def _varies(name: Value) -> bool:
    """Whether a name is not written as one string."""
    return name.syntax is None or not isinstance(constant_of(name.syntax), str)
