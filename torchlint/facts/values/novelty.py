"""What is another value in each turn: a new tensor, a counter, the content of a batch, and not a shape or a constant.

A cache grows when its keys are new each time. A tensor is compared by identity, so every tensor that is made in a turn
is a new key; a number or a string is new when it counts the turns or tells what is in the batch. What can only take a
few values (a length, a shape, a remainder, a label) is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import ClassReference, Container
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.tensors import Tensors

if TYPE_CHECKING:
    from torchlint.facts import Facts

FEW = 10
"""A loop over so many numbers or less, or over what is written out, is no endless one."""

HOPS = 5
"""How many callers up a value is followed."""

_SIZES = frozenset(
    ["shape", "dtype", "device", "ndim", "size", "dim", "numel", "nelement", "stride", "type", "is_cuda", "layout",
     "requires_grad", "training", "element_size", "ndimension", "__name__", "__class__"]
)  # fmt: skip
"""What tells the kind of a tensor and not its content."""

_FEW_VALUED = frozenset(["Modulo", "ModuloAssign", "BitAnd", "BitAndAssign", "Not"])
"""Operators whose result is one of a few."""

_CONTENTS = frozenset(["tolist", "tobytes", "numpy", "hexdigest", "digest", "encode", "data_ptr", "cpu", "detach"])
"""Methods by which the content (or the address) of a tensor becomes a key."""

_MEASURES = frozenset(["sum", "mean", "norm", "std", "var", "abs", "double", "float", "detach", "cpu"])
"""Methods of a tensor whose one number is another one for each batch."""

_WITHOUT_CONTENT = frozenset(
    ["builtins.len", "builtins.isinstance", "builtins.type", "builtins.bool", "builtins.range", "builtins.hasattr",
     "builtins.getattr", "builtins.callable", "torch.device", "builtins.int", "torch.is_tensor", "builtins.any",
     "builtins.all"]
)  # fmt: skip

_COUNTERS = frozenset(["builtins.enumerate", "builtins.range", "itertools.count", "tqdm.trange", "tqdm.auto.trange"])
"""What a loop runs over when it counts its turns; the keys of a dictionary are no counter."""

_COLLECTIONS = frozenset(
    ["builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted", "builtins.dict", "collections.deque"]
)
"""What makes a collection of all items at once."""

_MAKERS = (Op.CONTAINER, Op.CALL)

CLOCKS = ("time.", "uuid.", "secrets.", "datetime.")
"""Modules whose functions never give the same value twice."""

_CHANGING = (*CLOCKS, "random.")


class Novelty:
    """Answers what brings a new value each time."""

    def __init__(self, facts: Facts, tensors: Tensors) -> None:
        """Ask ``tensors`` what is compared by identity."""
        self.facts = facts
        self.solution = facts.solution
        self.tensors = tensors
        self.repetitions = facts.repetitions

    def of(self, value: Value) -> Loop | Function | None:
        """What brings another value of ``value`` with each turn (or call), or None when nothing is known to."""
        return self._of(value, set(), HOPS)

    def repeats(self, value: Value) -> Loop | Function | None:
        """What runs the place where ``value`` is computed again and again, as often as there are steps."""
        return self._repeats(value.function, value.loop, HOPS, set())

    def repeats_at(self, function: Function, loop: Loop | None) -> Loop | Function | None:
        """What runs a place in ``function`` (in ``loop``) again and again."""
        return self._repeats(function, loop, HOPS, set())

    def _repeats(self, function: Function, loop: Loop | None, hops: int, seen: set[Function]) -> Loop | Function | None:
        for around in loop.around() if loop is not None else ():
            if not is_short(around):
                return around
        if hops == 0 or function in seen:
            return None
        callers = sorted(self.solution.callers.get(function, ()), key=lambda call: call.index)
        for call in callers:
            found = self._repeats(call.function, call.loop, hops - 1, seen | {function})
            if found is not None:
                return found
        return function if not callers and self.is_turn(function) else None

    def is_turn(self, function: Function) -> bool:
        """Whether a framework, a server or a module calls ``function`` once for each step or request."""
        return self.repetitions.stands_for_a_turn(function)

    def is_made_by(self, value: Value, by: Loop | Function) -> bool:
        """Whether ``value`` is made anew in each turn of ``by``, so that nothing is left of the last one."""
        return self._is_made_at(value.function, value.loop, by, HOPS, set())

    def _is_made_at(
        self, function: Function, loop: Loop | None, by: Loop | Function, hops: int, seen: set[Function]
    ) -> bool:
        if by is function or (loop is not None and by in loop.around()):
            return True
        if hops == 0 or function in seen:
            return False
        calls = self.solution.callers.get(function, ())
        return any(self._is_made_at(call.function, call.loop, by, hops - 1, seen | {function}) for call in calls)

    # -- what is new ----------------------------------------------------------------------------------------------

    def _of(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        if value in seen:
            return None
        seen.add(value)
        if value.op in (Op.CONTAINER, Op.OPERATION, Op.CONSTANT) and (together := self._counted_together(value)):
            return together
        if value.op is Op.COMPARISON or value.op is Op.EXTERNAL:
            return None
        if value.op is Op.CONSTANT:
            counts = value.syntax is None and value.loop is not None
            return self._counted(value.loop) if counts and value.loop else self._any(value.inputs, seen, hops)
        if value.op is Op.OPERATION:
            return self._of_operation(value, seen, hops)
        if value.op is Op.CONTAINER:
            return self._any(value.inputs, seen, hops)
        if value.op is Op.PHI:
            return self._of_choice(value, seen, hops)
        if value.op is Op.ELEMENT:
            return self._of_element(value, seen, hops)
        if value.op is Op.SUBSCRIPT:
            return self._of_part(value, seen, hops) if self.tensors.is_tensor(value) else None
        if value.op is Op.PARAMETER:
            return self._of_parameter(value, seen, hops)
        if value.op is Op.READ or value.op is Op.ATTRIBUTE:
            return self._of_place(value, seen, hops)
        return self._of_call(value, seen, hops) if value.op is Op.CALL else None

    def _any(self, values: Iterable[Value], seen: set[Value], hops: int) -> Loop | Function | None:
        found = (self._of(value, seen, hops) for value in values)
        return next((by for by in found if by is not None), None)

    def _of_operation(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        if value.name in _FEW_VALUED and not isinstance(value.inputs[0].syntax, cst.SimpleString):
            return None
        if self.tensors.is_tensor(value):
            return self.repeats(value)
        return self._any(value.inputs, seen, hops)

    def _of_choice(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        loop = next((loop for loop in self._loops_of.get(value, ())), None)
        if loop is None:
            return self._any(value.inputs, seen, hops)
        first, *later = value.inputs
        if any(counts(back, value) for back in later):
            outer = loop.parent
            if outer is not None and first not in outer.phis and first.loop is not None:
                return None  # it begins again in each turn of the outer loop
            return loop if not is_short(loop) else None
        return self._any(later, seen, hops)

    @cached_property
    def _loops_of(self) -> dict[Value, list[Loop]]:
        return {phi: [loop] for loop in self.facts.graph.loops for phi in loop.phis}

    def _of_element(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        part = unpacked(value)
        if part is not value:
            return self._of(part, seen, hops)
        if not self.tensors.is_tensor(value):
            return None  # a name, a path, a label: they may come again
        return self._of_part(value, seen, hops)

    def _of_part(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        """What brings the batch of which a tensor is a part: ``x`` of ``for x, y in loader``, ``batch["x"]``."""
        value = unpacked(value)
        if value.op is Op.ELEMENT and value.loop is not None and is_iterated(value.inputs[0], value.loop):
            return self._of_batch(value, seen, hops)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return self._of_part(value.inputs[0], seen, hops)
        if value.op is Op.ATTRIBUTE and not any(self.solution.stored.get(p) for p in self.solution.read_from(value)):
            return self._of_part(value.inputs[0], seen, hops)
        if value.op is Op.CALL and value.callee.name == "builtins.next":
            return self.repeats(value)
        return self._of(value, seen, hops) if value.op in (Op.CALL, Op.PARAMETER, Op.PHI) else None

    def _of_batch(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        """What a loop over batches yields; tensors that were collected before, and parameters, come again."""
        source = value.inputs[0]
        if value.loop is None or is_short(value.loop) or value.name == "values" or self._is_collected(source):
            return None
        if self.facts.flows.is_leaf(value) or any(u.op is Op.ATTRIBUTE and u.name == "grad" for u in value.users):
            return None
        if source.op in (Op.READ, Op.ATTRIBUTE) and not self._is_loader(source):
            return None
        if source.op is Op.SUBSCRIPT and self._of_part(source, seen, hops) is None:
            return None
        return value.loop

    def _is_collected(self, source: Value) -> bool:
        """Whether a loop runs over a list (or the like) whose items are there before it begins."""
        made = [a.allocation for a in self.solution.final(source) if isinstance(a, Container)]
        return any(one.op is Op.CONTAINER or one.callee.name in _COLLECTIONS for one in made if one.op in _MAKERS)

    def _is_loader(self, value: Value) -> bool:
        return self.repetitions.steps.is_loader(value) or any(
            stored.op in (Op.PARAMETER, Op.CALL) for stored in stored_at(self.solution, value)
        )

    def _of_parameter(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        if hops == 0:
            return None
        function = value.function
        given = self.tensors.given(value)
        if given or self.solution.callers.get(function):
            return self._any(given, seen, hops - 1)
        is_self = function.owner is not None and function.parameters[0] is value and not function.is_static
        return function if not is_self and self.is_turn(function) and self.tensors.is_tensor(value) else None

    def _of_place(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        if value.op is Op.ATTRIBUTE and value.name in _SIZES:
            return None
        places = self.solution.read_from(value)
        counter = next((found for place in places if (found := self._counter(place)) is not None), None)
        if counter is not None:
            return counter
        if value.op is Op.ATTRIBUTE and not stored_at(self.solution, value):
            return self._of_part(value, seen, hops) if self.tensors.is_tensor(value) else None
        return None

    def _counter(self, place: Place) -> Loop | Function | None:
        """What counts up an attribute or a global that is set once and then only counted up."""
        updates, others = [], 0
        for store in self.facts.graph.stores:
            targets = (
                [store.place]
                if store.place is not None
                else (
                    self.solution.places(store.holder, store.attribute)
                    if store.holder is not None and store.attribute
                    else []
                )
            )
            if place in targets:
                if store.kind is Kind.UPDATE and store.value.name == "AddAssign":
                    updates.append(store)
                elif store.function.name != "__init__" and store.function.parent is not None:
                    others += 1
        if not updates or others or any(self.tensors.is_tensor(store.value) for store in updates):
            return None
        return updates[0].loop or updates[0].function

    def _of_call(self, value: Value, seen: set[Value], hops: int) -> Loop | Function | None:
        callee = value.callee
        if callee.op is Op.EXTERNAL:
            return self._of_external(value, callee.name, seen, hops)
        if callee.op is Op.ATTRIBUTE:
            receiver, name = callee.inputs[0], callee.name
            if name in _SIZES:
                return None
            if name in SAME_OBJECT or name in _CONTENTS:
                return self._of(receiver, seen, hops)
            if name == "item":
                return self._of(receiver, seen, hops) if _is_measure(receiver) else None
            if name in ("format", "join"):
                return self._any(value.arguments, seen, hops)
        if self.solution.may_be(callee, ClassReference):
            return self.repeats(value)
        if self._is_handed_through(value):
            return self._any(value.arguments, seen, hops)
        if self.tensors.holds_tensors(value):
            return self.repeats(value)
        return None

    def _is_handed_through(self, call: Value) -> bool:
        """Whether a function of the file gives back what it was given or what it has, and makes nothing."""
        results = [f.result for f in self.solution.functions_of(call) if f.result is not None]
        made = (Op.CALL, Op.OPERATION, Op.CONTAINER, Op.PHI)
        return bool(results) and all(choice.op not in made for result in results for choice in result.inputs)

    def _of_external(self, value: Value, name: str, seen: set[Value], hops: int) -> Loop | Function | None:
        if name in _WITHOUT_CONTENT:
            return None
        if name.startswith(_CHANGING):
            return self.repeats(value)
        if self.tensors.holds_tensors(value):
            return self.repeats(value)
        return self._any(value.arguments, seen, hops)

    def _counted_together(self, value: Value) -> Loop | None:
        """The innermost of several loops whose counters make ``value``: ``(epoch, step)``, ``epoch * count + step``."""
        parts = reached([unpacked(value)], self._said_of)
        numbers = (part for part in parts if part.op is Op.CONSTANT and part.syntax is None)
        counters = {number.loop for number in numbers if number.loop is not None}
        nested = (loop for loop in counters if loop.parent is not None and not is_short(loop))
        return next((loop for loop in nested if counters.issuperset(loop.around())), None)

    def _said_of(self, part: Value) -> Iterator[Value]:
        """What a name is made of that says which turn of which loop it is."""
        if part.op is Op.PARAMETER:
            yield from map(unpacked, self.tensors.given(part))
        elif part.op in (Op.CONTAINER, Op.CONSTANT, Op.OPERATION) and part.name not in _FEW_VALUED:
            yield from map(unpacked, part.inputs)

    def _counted(self, loop: Loop) -> Loop | None:
        """The loop whose turns a counter of ``loop`` counts, unless it begins again in an outer one."""
        makers = loop.iterable.computed_from() if loop.iterable is not None else ()
        is_counter = any(maker.name in _COUNTERS for maker in makers if maker.op is Op.EXTERNAL)
        if not is_counter or loop.parent is not None or is_short(loop) or self.facts.steps.walks_modules(loop):
            return None
        return loop if self.repeats_at(loop.function, None) is None else None


def unpacked(value: Value) -> Value:
    """The part of a pair that is unpacked: the number and the batch of ``for i, batch in enumerate(loader)``."""
    while value.op is Op.ELEMENT and value.inputs[0].op in (Op.CONTAINER, Op.ELEMENT) and value.keys[0] is not None:
        whole = unpacked(value.inputs[0])
        if whole.op is not Op.CONTAINER or value.keys[0] not in whole.keys:
            return value
        value = whole.inputs[whole.keys.index(value.keys[0])]
    return value


def is_iterated(value: Value, loop: Loop) -> bool:
    """Whether ``value`` is what a loop runs over, seen through ``enumerate`` and the like."""
    return loop.iterable is not None and value in loop.iterable.computed_from()


def is_short(loop: Loop) -> bool:
    """Whether a loop runs over what is written out, or counts to a small number that is written there."""
    iterable = loop.iterable
    if iterable is None:
        return False
    if iterable.op is Op.CONTAINER:
        return isinstance(iterable.syntax, cst.List | cst.Tuple | cst.Set | cst.Dict)
    if iterable.op is not Op.CALL:
        return False
    if iterable.callee.name == "builtins.range":
        numbers = [argument.syntax for argument in iterable.arguments]
        return all(isinstance(n, cst.Integer) and n.evaluated_value <= FEW for n in numbers)
    return iterable.callee.op is Op.ATTRIBUTE and iterable.callee.name in (
        "parameters", "named_parameters", "modules", "named_modules", "children", "named_children", "buffers",
    )  # fmt: skip


def counts(back: Value, phi: Value) -> bool:
    """Whether ``back`` is ``phi`` counted up: ``step + 1``."""
    ways = reached([back], lambda value: value.inputs if value.op is Op.PHI and value is not phi else ())
    sums = (value for value in ways if value.op is Op.OPERATION and value.name in ("Add", "AddAssign"))
    return any(phi in value.computed_from() for value in sums)


def _is_measure(receiver: Value) -> bool:
    """Whether a number is read from a reduction of a whole batch, and is no label or index."""
    while receiver.op is Op.CALL and receiver.callee.op is Op.ATTRIBUTE:
        if receiver.callee.name in ("sum", "mean", "norm", "std", "var"):
            return True
        if receiver.callee.name not in _MEASURES:
            return False
        receiver = receiver.callee.inputs[0]
    return False


def behind_content(value: Value) -> Iterator[Value]:
    """What a value is computed from, but for that of which it only tells a shape, a type, or a length."""
    return reached([value], with_content)


def with_content(value: Value) -> Sequence[Value]:
    """What a value is computed from, one step back; nothing where it only tells a shape, a type, or a length."""
    if value.op is Op.ELEMENT and value.inputs[0].op is Op.CONTAINER and value.keys[0] in value.inputs[0].keys:
        pair = value.inputs[0]  # of `for name, row in rows.items()` the name tells nothing of the row
        return [item for key, item in zip(pair.keys, pair.inputs, strict=True) if key == value.keys[0]]
    tells_kind = value.op is Op.ATTRIBUTE and value.name in _SIZES
    if value.op is Op.CALL:
        is_method = value.callee.op is Op.ATTRIBUTE and value.callee.name in _SIZES
        tells_kind = is_method or value.callee.name in _WITHOUT_CONTENT
    is_one_of_few = value.op is Op.COMPARISON or (value.op is Op.OPERATION and value.name in _FEW_VALUED)
    return () if tells_kind or is_one_of_few else value.inputs
