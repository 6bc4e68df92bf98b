"""What a function object holds: the variables of its closure, its defaults, what it is bound to, what ``partial`` adds.

A closure holds a variable, not a value: who binds the variable anew, in the same call of the function around, lets go
of what it had. Each call of that function makes new variables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import FunctionReference
from torchlint.facts.values.graph import Function, Op, Place, Value
from torchlint.facts.values.identity import Identity
from torchlint.facts.values.solve import Solution
from torchlint.syntax.tree import walk

DEEPEST = 4
"""How many functions that hold functions are looked through."""

PARTIAL = frozenset(["functools.partial", "functools.partialmethod"])

KEEPING = {
    "torch.optim.lr_scheduler.LambdaLR": (1, "lr_lambda"),
    "torch.optim.lr_scheduler.MultiplicativeLR": (1, "lr_lambda"),
    "torch.utils.data.DataLoader": (6, "collate_fn"),
    "torchvision.transforms.Lambda": (0, "lambd"),
}
"""Classes whose objects keep a function that they are made with, and where they are given it."""


@dataclass(frozen=True)
class Held:
    """Something that a function object holds.

    Attributes:
        value: what.
        cell: the captured variable that has it; None when the value itself is held.
    """

    value: Value
    cell: Place | None


class Holding:
    """Answers for one file."""

    def __init__(self, solution: Solution, identity: Identity) -> None:
        """Read variables and calls from ``solution``."""
        self.solution = solution
        self.identity = identity

    def held_by(self, value: Value) -> list[Held]:
        """What ``value`` holds if it is a function, a bound method, a partial, or a literal with such things in it."""
        return [held for held in self._held(value, DEEPEST) if not self._is_weak(held.value)]

    def _is_weak(self, value: Value) -> bool:
        """Whether ``value`` is a reference that keeps nothing alive."""
        return any(
            root.op is Op.CALL and root.callee.name.startswith("weakref.") for root in self.identity.roots(value)
        )

    def captured(self, function: Function) -> list[Place]:
        """The variables of functions around that ``function``, or one inside it, reads or sets."""
        inside = [other for other in self.solution.graph.functions if other.is_inside(function)]
        places = dict.fromkeys(place for one in inside for place in self._read_in.get(one, ()))
        return [place for place in places if isinstance(place.owner, Function) and place.owner not in inside]

    def _held(self, value: Value, depth: int) -> Iterator[Held]:
        if depth == 0:
            return
        given = self._given(value)
        for root in sorted(self.identity.roots(value), key=lambda root: root.index):
            if root.op is Op.FUNCTION and isinstance(root.reference, Function):
                yield from self._held_by_closure(root.reference, given, depth)
            elif root.op is Op.ATTRIBUTE:
                references = [a for a in self.solution.final(root) if isinstance(a, FunctionReference)]
                if any(reference.bound for reference in references):
                    yield Held(root.inputs[0], None)
            elif root.op is Op.CALL:
                kept = root.argument(*KEEPING[root.callee.name]) if root.callee.name in KEEPING else None
                if kept is not None:
                    yield from self._held(kept, depth - 1)
                for argument in root.arguments if root.callee.name in PARTIAL else self._bound_elsewhere(root):
                    yield Held(argument, None)
                    yield from self._held(argument, depth - 1)
            elif root.op is Op.CONTAINER:
                for item in root.inputs:
                    yield from self._held(item, depth - 1)

    def _held_by_closure(self, function: Function, given: dict[Value, Value], depth: int) -> Iterator[Held]:
        for parameter in function.parameters:
            for default in parameter.inputs:
                yield Held(default, None)
        for place in self.captured(function):
            last = self._last(place)
            if last is None:
                continue
            argument = given.get(last)
            yield Held(last if argument is None else argument, place if argument is None else None)
            if last.op is not Op.FUNCTION or last.reference is not function:
                yield from self._held(last, depth - 1)

    def _bound_elsewhere(self, call: Value) -> Iterator[Value]:
        """What the function holds that a function of another file makes and returns."""
        effects = self.solution.graph.foreign.effects
        for function in self.solution.functions_of(call):
            for done in effects.get(function, ()):
                passed = [self.solution.passed(call, function, i) for i in done.of if done.kind is EffectKind.BINDS]
                yield from (value for value in passed if value is not None)

    def _given(self, value: Value) -> dict[Value, Value]:
        """What the parameters of a factory are, where ``value`` is a call of one."""
        if value.op is not Op.CALL:
            return {}
        bindings = [self.solution.callers[function].get(value, {}) for function in self.solution.functions_of(value)]
        return {p: argument for binding in bindings for p, argument in binding.items() if argument is not None}

    def _last(self, place: Place) -> Value | None:
        """What a captured variable is in the end; None where it is deleted."""
        assert isinstance(place.owner, Function)
        for node in walk(place.owner.syntax):
            if isinstance(node, cst.Del) and any(
                isinstance(part, cst.Name) and part.value == place.path for part in walk(node.target)
            ):
                return None
        stored = self.solution.stored.get(place)
        return max(stored, key=lambda value: value.index) if stored else None

    @cached_property
    def _read_in(self) -> dict[Function, list[Place]]:
        table: dict[Function, list[Place]] = defaultdict(list)
        for value in self.solution.graph.values:
            if value.place is not None and isinstance(value.place.owner, Function):
                if value.place.owner.parent is not None and value.place.owner is not value.function:
                    table[value.function].append(value.place)
        return table
