"""What a function has handed a model to before it gives it up: a registry that lists it, and is never asked for it.

``POOL.register(net)`` puts it into a container of an object of the module, ``keep(net)`` into one of the module, be it
where the model is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.fates import LOOKING
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.unloaded import Holder
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.choices import choices, held_in
from torchlint.facts.values.dictionaries import surely_lists_keys
from torchlint.facts.values.graph import Drop, Function, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, readers_of
from torchlint.facts.values.writing import is_slice
from torchlint.syntax.filling_names import INSERTING

if TYPE_CHECKING:
    from torchlint.facts import Facts

_CONDITIONS = (cst.If, cst.IfExp, cst.While, cst.For, cst.Try, cst.TryStar, cst.Match)

DEPTH = 2
"""So many functions down it is looked for what puts the model away."""


class HandedOver:
    """Answers for the variables of one file that are given up."""

    def __init__(self, facts: Facts, holders: Holders) -> None:
        """Ask ``holders`` who holds what."""
        self.facts, self.solution, self.holders = facts, facts.solution, holders

    def to(self, drop: Drop, held: frozenset[Value], keeps_on: Callable[[str, Value], bool]) -> Iterator[Holder]:
        """The containers into which functions put what a variable gives up, each time that they are called.

        Args:
            drop: the variable is given up.
            held: the values that made what it held.
            keeps_on: says of a value, and how it holds, that it is not let go.
        """
        calls = [call for call in self.facts.steps.calls_in(drop.function) if call.index < drop.index]
        for call in calls:
            if call.loop is not drop.loop or call.syntax is None:
                continue
            if self._is_under_condition(call.syntax, (drop.loop or drop.function).syntax):
                continue
            for function in self.solution.functions_of(call):
                if call in held:
                    yield from self._kept_elsewhere(call, function)
                given = self._given(call, function, held)
                made = frozenset(self._made_in(function)) if call in held else frozenset()
                for name, place, container in self._kept_by(call, function, given | made, DEPTH):
                    if keeps_on("container", container) and not self._is_asked_for(place):
                        yield Holder(name, "container", container)

    def keeping_result(self, function: Function) -> Iterator[str]:
        """The containers of the module that have what a function returns, whenever it does, and give it to nobody."""
        made = frozenset(self._made_in(function)) if len(choices(function.result)) == 1 else frozenset()
        for name, place, container in self._kept_by(None, function, made, DEPTH):
            if not self.is_emptied(container) and not self._is_asked_for(place):
                yield name

    def is_emptied(self, container: Value) -> bool:
        """Whether anything is taken out of a container."""
        homes = set(homes_of(self.solution, container))
        return any(homes & set(homes_of(self.solution, reset.holder)) for reset in self.facts.graph.resets)

    def _kept_elsewhere(self, call: Value, function: Function) -> Iterator[Holder]:
        """The containers of another file that have what a function there returns, if no other file knows of them."""
        foreign = self.facts.graph.foreign
        for done in foreign.effects.get(function, ()):
            variable = done.name.partition(".")[0]
            if done.kind is EffectKind.GIVES_KEPT and not foreign.found[function].imports.mention(variable):
                yield Holder(done.name, "container", call, foreign.files[function])

    def _given(self, call: Value, function: Function, held: frozenset[Value]) -> frozenset[Value]:
        """The parameters for which a CALL passes one of ``held``."""
        binding = self.solution.callers[function][call]
        return frozenset(p for p, one in binding.items() if one is not None and self._is_one(one, held))

    def _is_one(self, value: Value, held: frozenset[Value]) -> bool:
        return value in held or not self.holders.objects(value).isdisjoint(held)

    def _made_in(self, function: Function) -> Iterator[Value]:
        """What a function makes and gives: what it returns, or what it gives to a function which returns that."""
        for choice in choices(function.result) if not function.is_generator else ():
            yield from self.holders.objects(choice)
            for inner in self.solution.functions_of(choice) if choice.op is Op.CALL else ():
                back = choices(inner.result)
                binding = self.solution.callers[inner][choice]
                yield from (one for p, one in binding.items() if one is not None and p in back)

    def _kept_by(
        self, call: Value | None, function: Function, inside: frozenset[Value], depth: int
    ) -> Iterator[tuple[str, Place, Value]]:
        """The containers into which a function that a CALL runs puts one of ``inside``, each with its name and home."""
        if not inside or function.is_foreign:
            return
        for store in self._filling.get(function, ()):
            if store.loop is None and any(self._is_one(one, inside) for one in held_in(store.value)):
                home = self._lasting(store, call)
                if home is not None and not self._is_under_condition(store.syntax or store.statement, function.syntax):
                    yield home
        for further in self.facts.steps.calls_in(function) if depth else ():
            if further.syntax is not None and not self._is_under_condition(further.syntax, function.syntax):
                for callee in self.solution.functions_of(further):
                    given = self._given(further, callee, inside)
                    yield from self._kept_by(further, callee, given, depth - 1)

    def _is_under_condition(self, node: cst.CSTNode, around: cst.CSTNode) -> bool:
        """Whether something may be left out, or runs again and again, in each turn or call of what is around it."""
        while node is not around and (parent := self.facts.parents.get(node)) is not None:
            if isinstance(parent, _CONDITIONS):
                return True
            node = parent
        return False

    @cached_property
    def _filling(self) -> dict[Function, list[Store]]:
        """What each function puts into containers."""
        found: dict[Function, list[Store]] = defaultdict(list)
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None:
                found[store.function].append(store)
        return found

    def _lasting(self, store: Store, call: Value | None) -> tuple[str, Place, Value] | None:
        """The container that a store fills, if the module has it, or an object that a variable of the module has.

        How it is written, where it lies, and what made it.
        """
        homes = homes_of(self.solution, store.holder)[1:] if store.holder is not None else []
        places, made = [p for p in homes if isinstance(p, Place)], [v for v in homes if isinstance(v, Value)]
        if len(places) != 1 or len(made) != 1:
            return None
        if any(map(is_slice, self.solution.stored.get(places[0], ()))):
            return None  # what is older goes
        if places[0].owner is self.facts.graph.module:
            return places[0].path, places[0], made[0]
        is_method = call is not None and call.callee.op is Op.ATTRIBUTE and bool(call.callee.inputs)
        receiver = call.callee.inputs[0] if call is not None and is_method else None
        variable = receiver.place if receiver is not None and receiver.op is Op.READ else None
        if variable is None or variable.owner is not self.facts.graph.module or isinstance(places[0].owner, Function):
            return None
        return f"{variable.path}.{places[0].path}", places[0], made[0]

    def _is_asked_for(self, place: Place) -> bool:
        """Whether anything may be done with the models that a container has: it is there to give them."""
        return any(any(map(self._gives_model, one.users)) for one in readers_of(self.facts.solution, [place]))

    def _gives_model(self, user: Value) -> bool:
        """Whether what is done with a container, or with a part of it, may give a model to somebody."""
        if user.op is Op.ATTRIBUTE:
            if user.name in ("values", "items"):
                return any(self._gives_model(one) for call in user.calls for one in call.users)
            return user.name not in INSERTING | {"keys"}
        if user.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return bool(user.users) if self.holders.is_model(user) else any(map(self._gives_model, user.users))
        if user.op is Op.CALL:
            return user.callee.name not in LOOKING and not surely_lists_keys(self.solution, user)
        if user.op is Op.CONTAINER:
            return any(self.holders.is_model(one) for one in user.inputs)
        return user.op not in (Op.COMPARISON, Op.OPERATION)
