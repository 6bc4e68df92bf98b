"""Functions whose results are cached for ever, or for so many calls: ``functools.lru_cache`` and its like.

Such a cache belongs to the function, not to an object: it holds the arguments of each call, ``self`` among them, and
what came out. Tensors and modules are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.cache_decorators import caches_of, filled_at, is_cache, size_of
from torchlint.facts.keeping.requested import RequestedTexts
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.summaries.passing import gives_tensor, may_be_followed
from torchlint.facts.values.domain import ClassReference, FunctionReference, Instance, sorted_values
from torchlint.facts.values.graph import Class, Function, Loop, Op, Value
from torchlint.facts.values.listing import goes_over_files
from torchlint.facts.values.literals import literal
from torchlint.facts.values.novelty import Novelty
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.tensors import Tensors, is_declared_plain

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

HOPS = 3
"""How many callers up a length is followed."""


@dataclass(frozen=True)
class Cached:
    """A function with a cache.

    Attributes:
        function: what computes the results.
        node: where it is given its cache: the function, or the statement that wraps it.
        name: how the program calls the cache: ``lru_cache``.
        size: how many results it keeps; None without a bound.
        made: the function's value, or the call that wraps it: where the cache is made.
        calls: the calls that go through the cache, each with what its parameters get (None: not known).
        filled_at: where a decorator of the file puts the results into a dictionary of its own; None for any other one.
    """

    function: Function
    node: cst.CSTNode
    name: str
    size: int | None
    made: Value
    calls: tuple[tuple[Value, dict[Value, Value | None]], ...]
    filled_at: cst.CSTNode | None = None

    @property
    def itself(self) -> Value | None:
        """The parameter that is the instance, for a method."""
        function = self.function
        if function.owner is None or function.is_static or "classmethod" in function.decorators:
            return None
        return function.parameters[0] if function.parameters and isinstance(self.node, cst.FunctionDef) else None

    @property
    def given(self) -> list[Value]:
        """The parameters that are part of the key, without the instance."""
        skip = 1 if self.function.owner is not None and not self.function.is_static else 0
        return self.function.parameters[skip:]


@dataclass(frozen=True)
class CacheGrowth:
    """Why a cache keeps memory.

    Attributes:
        cached: the function with the cache.
        by: the loop or function that brings a new entry each time; None where only the instance is kept.
        key: the parameter that is new each time; the instance for a method whose objects are.
        identity: True when the key is a tensor, a module or an object, which no later call can match.
        at: the call that brings it, if one is seen.
        single: True when the class is seen to be made once only.
        is_length: True when the key is a length of the data: it may come again, and there are as many as there are.
        unseen: True when outputs of a network are kept and nobody is seen to ask for them: how many is up to others.
    """

    cached: Cached
    by: Loop | Function | None
    key: Value | None
    identity: bool
    at: Value | None = None
    single: bool = False
    is_length: bool = False
    unseen: bool = False

    @property
    def function(self) -> Function | None:
        """The function each call of which brings a new entry, None when a loop does."""
        return self.by if isinstance(self.by, Function) else None


class Caching:
    """Finds the caches of a file that keep tensors."""

    def __init__(self, facts: Facts, tensors: Tensors, novelty: Novelty) -> None:
        """Ask ``novelty`` for what is new in each turn."""
        self.facts = facts
        self.solution = facts.solution
        self.tensors = tensors
        self.novelty = novelty
        self.texts = RequestedTexts(facts)

    def found(self) -> list[CacheGrowth]:
        """Each cache that keeps tensors which nobody asks for again."""
        caches = [*self._decorated(), *self._wrapped()]
        found = [g for c in caches if not self._is_emptied(c) and (g := self._growth(c)) is not None]
        found = [g for g in found if g.by is None or not self.novelty.is_made_by(g.cached.made, g.by)]
        dictionaries = {memo.statement for memo in self.facts.growing_memos}
        return [*(g for g in found if g.cached.filled_at not in dictionaries), *self._of_other_files()]

    def _of_other_files(self) -> list[CacheGrowth]:
        """Caches without a bound of functions in other files, which each call of a step asks for something new."""
        found: dict[cst.CSTNode, CacheGrowth] = {}
        if any(call.callee.op is Op.ATTRIBUTE and call.callee.name == "cache_clear" for call in self.facts.calls()):
            return []
        remembered = self.facts.effects.of(EffectKind.REMEMBERS)
        for effect in (*remembered, *filter(self._remembers_tensor, self.facts.effects.of(EffectKind.REMEMBERS_GIVEN))):
            call, function = effect.call, effect.function
            name = effect.done.name.partition(" ")[0].rpartition(".")[2]
            cached = Cached(function, self.facts.statement_of(call), name, None, call, ())
            for position, given in zip(effect.done.of, effect.given, strict=False):
                key, by = function.parameters[position], self.novelty.of(given)
                identity = self.tensors.is_tensor(given) or self.tensors.is_module(given)
                if by is not None:
                    found.setdefault(cached.node, CacheGrowth(cached, by, key, identity, call))
                elif self._is_length(given, HOPS) and (by := self.novelty.repeats(call)) is not None:
                    found.setdefault(cached.node, CacheGrowth(cached, by, key, False, call, is_length=True))
        return list(found.values())

    def _remembers_tensor(self, effect: Effect) -> bool:
        """Whether what a function of another file remembers, which a third one gives it, is a tensor."""
        found = self.facts.graph.foreign.found.get(effect.function)
        return found is not None and gives_tensor(found, effect.done.name.partition(" ")[2])

    # -- caches ---------------------------------------------------------------------------------------------------

    def _decorated(self) -> Iterator[Cached]:
        for value in self.facts.graph.of(Op.FUNCTION):
            function = value.reference
            if not isinstance(function, Function):
                continue
            for name, size in caches_of(self.facts, function):
                calls = tuple(self.solution.callers.get(function, {}).items())
                filled = filled_at(self.facts, function)
                if filled is not None:
                    calls = tuple((call, self._asked_with(call, function, binding)) for call, binding in calls)
                yield Cached(function, function.syntax, name.rpartition(".")[2], size, value, calls, filled)

    def _wrapped(self) -> Iterator[Cached]:
        """``encode = lru_cache(maxsize=None)(model.encode)``, ``encode = cache(encode)``."""
        for call in self.facts.calls():
            maker = call.callee
            written = maker.syntax if maker.op is Op.CALL else call.syntax
            name = maker.callee.name if maker.op is Op.CALL else maker.name
            first = call.argument(0, "user_function") if is_cache(name) else None
            if first is None or not isinstance(written, cst.Call):
                continue
            for atom in sorted_values(self.solution.final(first)):
                if isinstance(atom, FunctionReference):
                    offset = 1 if atom.bound else 0
                    calls = tuple((use, self._bind(use, atom.function, offset)) for use in self._calls_of(call))
                    size = size_of(name, written if maker.op is Op.CALL else maker.syntax or written)
                    statement = self.facts.statement_of(call)
                    yield Cached(atom.function, statement, name.rpartition(".")[2], size, call, calls)

    def _calls_of(self, made: Value) -> list[Value]:
        """The calls of what the CALL ``made`` gives, by whatever variable or attribute it is reached."""
        reached = {p for p, stored in self.solution.stored.items() if made in stored}
        return [
            call
            for call in self.facts.calls()
            if call.callee is made or any(place in reached for place in self.solution.read_from(call.callee))
        ]

    def _bind(self, call: Value, function: Function, offset: int) -> dict[Value, Value | None]:
        parameters = function.parameters[offset:]
        return {p: call.argument(position, p.name) for position, p in enumerate(parameters)}

    def _asked_with(
        self, call: Value, function: Function, binding: dict[Value, Value | None]
    ) -> dict[Value, Value | None]:
        """What a cache of the project is asked with, which may hand on the key that it makes of that."""
        written = self._bind(call, function, 0 if function.owner is None or function.is_static else 1)
        return {**binding, **{one: given for one, given in written.items() if binding.get(one) is None}}

    def _is_emptied(self, cached: Cached) -> bool:
        """Whether the program empties the cache somewhere."""
        for call in self.facts.calls():
            if call.callee.op is Op.ATTRIBUTE and call.callee.name == "cache_clear":
                behind = call.callee.inputs[0]
                functions = [a.function for a in self.solution.final(behind) if isinstance(a, FunctionReference)]
                if cached.function in functions or not (functions or _is_of_another_property(behind, cached.function)):
                    return True
        return False

    # -- what grows -----------------------------------------------------------------------------------------------

    def _growth(self, cached: Cached) -> CacheGrowth | None:
        if cached.size is not None and cached.size <= 1:
            return self._last_instance(cached)  # of all else the next call gives up what the last one left
        returns = cached.function.result is not None and self.tensors.holds_tensors(cached.function.result)
        itself = cached.itself
        if itself is not None and self._is_compared_by_identity(cached):
            for call, _ in cached.calls:
                by = self._new_instance(call)
                if by is not None and (returns or self._instance_holds(cached)):
                    return CacheGrowth(cached, by, itself, True, call)
        for call, binding in cached.calls:
            for parameter in cached.given:
                argument = binding.get(parameter)
                if argument is None:
                    continue
                identity = self.tensors.is_tensor(argument) or self.tensors.is_module(argument)
                if identity and is_declared_plain(parameter):
                    continue  # a number, for all that is seen of it: a length, which may come again
                if (identity or returns) and (by := self._new(cached, argument)) is not None:
                    return CacheGrowth(cached, by, parameter, identity, call)
        if cached.size is None and (by_row := self._by_row(cached)) is not None:
            return by_row
        if returns and cached.size is None and (by_length := self._by_length(cached)) is not None:
            return by_length
        if (taken := self._tensor_parameter(cached)) is not None and self._is_asked_by_others(cached, taken):
            return CacheGrowth(cached, None, taken, True)
        if not cached.calls and cached.size is None and cached.given and self._keeps_outputs(cached.function):
            return CacheGrowth(cached, None, cached.given[0], False, unseen=True)
        if cached.size is None and (unseen := self._by_others(cached)) is not None:
            return unseen
        if itself is not None and (returns or self._instance_holds(cached)):
            return CacheGrowth(cached, None, itself, True, single=self._is_single(cached.function.owner))
        return None

    def _last_instance(self, cached: Cached) -> CacheGrowth | None:
        """What a cache of one call holds of a module when nobody needs it any more: until another one is asked."""
        owner, itself = cached.function.owner, cached.itself
        if cached.size != 1 or itself is None or not self.tensors.is_module(itself):
            return None
        holds = self._is_compared_by_identity(cached) and self._instance_holds(cached)
        return CacheGrowth(cached, None, itself, True) if holds and not self._is_single(owner) else None

    def _new(self, cached: Cached, argument: Value) -> Loop | Function | None:
        """What brings another argument each time; a line that is typed may name a model, and then it comes again."""
        by = self.novelty.of(argument)
        if by is not None or not self._keeps_outputs(cached.function):
            return by
        asked = (self.texts.asked_by(argument) or self.texts.taken_in(argument)) if cached.size is None else None
        return asked or self.texts.typed_in(argument)

    def _by_row(self, cached: Cached) -> CacheGrowth | None:
        """A cache without a bound that keeps what a network computes for each file of a folder, or row of a file."""
        if not self._keeps_outputs(cached.function):
            return None
        for call, binding in cached.calls:
            for parameter in cached.given:
                argument = binding.get(parameter)
                loop = self.texts.read_in(argument) if argument is not None else None
                if loop is not None:
                    comes_once = goes_over_files(loop) and loop.parent is None
                    return CacheGrowth(cached, loop, parameter, False, call, unseen=not comes_once)
        return None

    def _by_others(self, cached: Cached) -> CacheGrowth | None:
        """A cache without a bound of outputs of a network, for what a function is asked that nobody calls here."""
        if not self._keeps_outputs(cached.function):
            return None
        for call, binding in cached.calls:
            for parameter in cached.given:
                argument = binding.get(parameter)
                if argument is not None and self.texts.asked_by_others(argument) is not None:
                    return CacheGrowth(cached, None, parameter, False, call, unseen=True)
        return None

    def _by_length(self, cached: Cached) -> CacheGrowth | None:
        """A cache without a bound that keeps a tensor for each length that comes in the data."""
        for call, binding in cached.calls:
            for parameter in cached.given:
                argument = binding.get(parameter)
                if argument is not None and self._is_length(argument, HOPS):
                    by = self.novelty.repeats(call) or self._repeated_by_others(call)
                    if by is not None:
                        return CacheGrowth(cached, by, parameter, False, call, is_length=True)
        return None

    def _repeated_by_others(self, call: Value) -> Function | None:
        """The function around a call that only other files call, and in a loop: a ``forward`` that stands in one."""
        function = call.function
        is_of_others = function.owner is None and not self.solution.callers.get(function)
        return function if is_of_others and self.facts.repeats(function.name) else None

    def _is_length(self, value: Value, hops: int) -> bool:
        """``x.shape[1]`` or ``x.size(1)`` of what is computed or passed in: neither the batch nor the features."""
        if value.op is Op.PARAMETER:
            return hops > 0 and any(self._is_length(given, hops - 1) for given in self.tensors.given(value))
        number: object
        if value.op is Op.SUBSCRIPT and value.inputs[0].op is Op.ATTRIBUTE and value.inputs[0].name == "shape":
            measured, number = value.inputs[0].inputs[0], value.keys[0]
        elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "size":
            measured, number = value.callee.inputs[0], literal(self.solution, value.argument(0, "dim"))
        elif value.op is Op.ELEMENT and _are_rows_of_a_sequence(value.inputs[0]):
            measured, number = _measured_by(value.inputs[0]), value.keys[0] if value.keys[0] == 1 else None
        else:
            return False
        is_axis = isinstance(number, int) and (number > 0 or number < -1)
        return is_axis and measured.op is not Op.ATTRIBUTE and not self.facts.flows.is_leaf(measured)

    def _keeps_outputs(self, function: Function) -> bool:
        """Whether a function gives what a network computes, and no numbers of it."""
        results = function.result.inputs if function.result is not None else ()
        return any(self.facts.extents.is_output(value) and self.tensors.holds_tensors(value) for value in results)

    def _tensor_parameter(self, cached: Cached) -> Value | None:
        return next((p for p in cached.given if self.tensors.is_tensor(p) and not _is_asked_what_it_is(p)), None)

    def _is_asked_by_others(self, cached: Cached, taken: Value) -> bool:
        """Whether nobody here calls a function, but for functions that nobody here calls, with what they are given."""
        asked = [(call.function, binding.get(taken)) for call, binding in cached.calls]
        return all(one in of.parameters and not self.solution.callers.get(of) for of, one in asked)

    def _new_instance(self, call: Value) -> Loop | Function | None:
        method = call.callee if call.op is Op.CALL else call
        if method.op is not Op.ATTRIBUTE:
            return None
        receiver = method.inputs[0]
        if receiver.op is Op.PARAMETER and self._is_instance_parameter(receiver):
            found = (self.novelty.of(made) for made in self._constructions(receiver.function.owner))
            return next((by for by in found if by is not None), None)
        return self.novelty.of(receiver)

    def _is_instance_parameter(self, value: Value) -> bool:
        function = value.function
        return function.owner is not None and bool(function.parameters) and function.parameters[0] is value

    def _is_compared_by_identity(self, cached: Cached) -> bool:
        owner = cached.function.owner
        return owner is not None and owner.method("__hash__") is None and owner.method("__eq__") is None

    def _instance_holds(self, cached: Cached) -> bool:
        owner = cached.function.owner
        return owner is not None and (self.tensors.keeps_tensors(owner) or _goes_to_a_device(owner))

    def _constructions(self, cls: Class | None) -> list[Value]:
        """The calls that make an instance of ``cls``, or of a class derived from it."""
        return [
            call
            for call in self.facts.calls()
            if any(isinstance(a, ClassReference) and cls in a.cls.lineage() for a in self.solution.final(call.callee))
            and self.solution.may_be(call, Instance)
        ]

    def _is_single(self, cls: Class | None, hops: int = 3) -> bool:
        """Whether instances are seen to be made, and none of them again and again."""
        made = self._constructions(cls)
        return bool(made) and all(
            self.novelty.repeats(call) is None
            and (call.function.name != "__init__" or (hops > 0 and self._is_single(call.function.owner, hops - 1)))
            for call in made
        )


def _goes_to_a_device(cls: Class) -> bool:
    """Whether a class writes itself how its instances go to a device, with the tensors that they hold."""
    method = cls.method("to")
    return method is not None and len(method.parameters) > 1 and method.parameters[1].name == "device"


def _are_rows_of_a_sequence(shape: Value) -> bool:
    """``batch, length, features = x.shape``"""
    is_shape = shape.op is Op.ATTRIBUTE and shape.name == "shape"
    is_size = shape.op is Op.CALL and shape.callee.op is Op.ATTRIBUTE and shape.callee.name == "size"
    parts = {user.keys[0] for user in shape.users if user.op is Op.ELEMENT}
    return (is_shape or (is_size and not shape.arguments)) and parts == {0, 1, 2}


def _measured_by(shape: Value) -> Value:
    return shape.inputs[0] if shape.op is Op.ATTRIBUTE else shape.callee.inputs[0]


def _is_of_another_property(getter: Value, function: Function) -> bool:
    """Whether the cache of a property with another name is emptied: ``type(self).device.fget.cache_clear()``."""
    behind = getter.inputs[0] if getter.op is Op.ATTRIBUTE and getter.name == "fget" else None
    return behind is not None and behind.op is Op.ATTRIBUTE and behind.name != function.name


def _is_asked_what_it_is(parameter: Value) -> bool:
    """``isinstance(step, int)``: whether a function takes for a parameter what is no tensor as well."""
    asking = (user for user in parameter.users if user.op is Op.CALL)
    return any(call.callee.name == "builtins.isinstance" and parameter in call.arguments[:1] for call in asking)


def remembered_in(facts: Facts, function: Function) -> Iterator[EffectSummary]:
    """That a function keeps, without a bound, the tensor that it returns for each value of one of its parameters."""
    if function.owner is not None or function.result is None:
        return
    for name, size in caches_of(facts, function):
        kinds = [(EffectKind.REMEMBERS, name)] if facts.tensors.holds_tensors(function.result) else []
        kinds = kinds or [
            (EffectKind.REMEMBERS_GIVEN, f"{name} {given}") for given in _given_by_others(function.result)
        ]
        for kind, named in kinds if size is None else ():
            for position in range(len(function.parameters)):
                yield EffectSummary(kind, named, (position,))


def _given_by_others(result: Value) -> list[str]:
    """The imported functions that make what a function returns, what is in that, or what it is a part of."""
    through = (Op.PHI, Op.CONTAINER, Op.SUBSCRIPT)
    ways = reached([result], lambda value: value.inputs if value.op in through else ())
    names = (value.callee.name for value in ways if value.op is Op.CALL and value.callee.op is Op.EXTERNAL)
    return list(dict.fromkeys(filter(may_be_followed, names)))
