"""Gradients that are filled with zeros where they could be freed: ``zero_grad(set_to_none=False)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import (
    ClassReference,
    Container,
    Instance,
    Module,
    Partial,
    Plain,
    Tensor,
    is_optimizer,
)
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class, is_optimizer_class
from torchlint.facts.values.graph import Backward, Class, Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.literals import literal
from torchlint.facts.values.method_callers import method_callers
from torchlint.facts.values.origins import agreed, origins, spread_options
from torchlint.facts.values.overriding import is_super
from torchlint.fix.edits import replace
from torchlint.frameworks import Holds, method_names
from torchlint.rule import Edit

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

BACKWARDS = frozenset(["backward", "grad"]) | method_names(Holds.BACKWARD)
"""Names of what runs a backward."""

DEPTH = 4
"""How many calls deep the events of a turn are looked for."""


@dataclass(frozen=True)
class Zeroing:
    """A call that fills gradients with zeros in every step.

    Attributes:
        call: the call.
        argument: the position of the argument that asks for it among the call's arguments.
        repeated_by: the loop each turn of which runs it, or the function that stands for a turn.
        is_passed_in: True when callers decide on it, or a dictionary of options.
        by: what the call does by a function of another file; None where it zeroes itself.
        is_handed: True where it makes what is called for that: ``methodcaller("zero_grad", set_to_none=False)``.
    """

    call: Value
    argument: int
    repeated_by: Loop | Function
    is_passed_in: bool = False
    by: Effect | None = None
    is_handed: bool = False

    @property
    def inherits(self) -> str:
        """The class whose method calls that of the class above, ``super().zero_grad()``; "" for other calls."""
        owner = self.call.function.owner
        return owner.name if owner is not None and is_asked_of_base(self.call) else ""


def zeroings(facts: Facts) -> list[Zeroing]:
    """Every call that zeroes gradients in each step although nothing looks at them before the next backward.

    None where the program puts tensors of its own there, as views of one buffer: they have to stay.
    """
    if any(_gives_gradient(facts, store) for store in facts.graph.stores):
        return []
    found = [one for call in facts.calls() if (one := zeroing_at(facts, call)) is not None]
    untold = (one for one in facts.effects.of(EffectKind.ZEROES_UNTOLD) if not _is_told_otherwise(facts, one))
    effects = (*facts.effects.of(EffectKind.ZEROES), *untold)
    by_others = [one for effect in effects if (one := _by_other(facts, effect)) is not None]
    return [*found, *by_others, *_by_method_callers(facts), *_by_partials(facts)]


def _by_method_callers(facts: Facts) -> Iterator[Zeroing]:
    """``clear(optimizer)`` in every step, for ``clear = methodcaller("zero_grad", set_to_none=False)``."""
    found: dict[Value, Zeroing] = {}
    for call in facts.calls():
        for handed in method_callers(facts.solution, call, "zero_grad"):
            made, subject = handed.allocation, call.arguments[0]
            told = zip(made.keys[1:], made.arguments, strict=True)
            zeros = [key for key, value in told if key and agreed(facts.solution, value) is False]
            if zeros not in (["set_to_none"], [1]) or not _is_of_torch_or(facts, subject, known=zeros == [1]):
                continue
            repetition = facts.repetitions.of(call, handed=handed)
            if repetition is None or facts.unit_tests.may_have(call.function):
                continue
            if not _is_read_before_backward(facts, call, subject, repetition.by):
                found.setdefault(made, Zeroing(made, 1, repetition.by, is_handed=True))
    yield from found.values()


def _by_partials(facts: Facts) -> Iterator[Zeroing]:
    """``clear()`` in every step, for ``clear = partial(optimizer.zero_grad, set_to_none=False)``."""
    for made in facts.calls():
        method = made.argument(0) if meaning_of(made.callee.name) is Meaning.BINDS else None
        if method is None or method.op is not Op.ATTRIBUTE or method.name != "zero_grad":
            continue
        subject, keys = method.inputs[0], made.keys[1:]
        position = keys.index("set_to_none") if "set_to_none" in keys else -1
        is_zeroing = position > 0 and agreed(facts.solution, made.arguments[position]) is False
        if not is_zeroing or not _is_of_torch_or(facts, subject, known=False):
            continue
        calls = (call for call in facts.calls() if Partial(made) in facts.solution.final(call.callee))
        steps = ((call, _in_step(facts, call, subject)) for call in calls)
        by = next((by for _, by in steps if by is not None), None)
        if by is not None:
            yield Zeroing(made, position, by, is_handed=True)


def _gives_gradient(facts: Facts, store: Store) -> bool:
    """``p.grad = ...`` with anything but None; a variable of that name is none."""
    is_dotted = store.place is not None and store.place.path.endswith(".grad")
    is_gradient = store.attribute == "grad" or is_dotted
    return store.kind is Kind.ASSIGN and is_gradient and literal(facts.solution, store.value) is not None


def zeroing_at(facts: Facts, call: Value) -> Zeroing | None:
    """What a CALL zeroes in every step, None where it does not or where zeros are wanted."""
    argument = zeros_for(facts, call)
    by = _in_step(facts, call, subject_of(call)) if argument is not None else None
    if argument is None or by is None:
        return None
    asking = call.arguments[argument]
    is_spread = call.keys[1:][argument] is None  # `**options`: what else is in it stays
    is_elsewhere = is_spread or any(origin.op is Op.GIVEN for origin in origins(facts.solution, asking))
    is_passed_in = is_elsewhere or asking.op is Op.PARAMETER or literal(facts.solution, asking) is not False
    return Zeroing(call, argument, by, is_passed_in)


def _by_other(facts: Facts, effect: Effect) -> Zeroing | None:
    """What a call zeroes by a function of another file."""
    by = _in_step(facts, effect.call, effect.given[0]) if effect.given else None
    return None if by is None else Zeroing(effect.call, -1, by, is_passed_in=True, by=effect)


def _is_told_otherwise(facts: Facts, effect: Effect) -> bool:
    """Whether a call of such a function may say that gradients are to be freed."""
    told = facts.solution.passed(effect.call, effect.function, effect.done.of[-1])
    if told is None:
        return None in effect.call.keys[1:]  # what is spread may
    return agreed(facts.solution, told) is not False


def _in_step(facts: Facts, call: Value, subject: Value) -> Loop | Function | None:
    """What zeroes the gradients of ``subject`` by a CALL in every step, where nothing reads them after it."""
    by = None if facts.unit_tests.may_have(call.function) else _repeated_by(facts, call, subject)
    return by if by is not None and not _is_read_before_backward(facts, call, subject, by) else None


def zeros_for(facts: Facts, call: Value) -> int | None:
    """Which argument of a CALL tells torch to keep zeros, if it is a ``zero_grad`` of torch and one does."""
    if call.callee.op is not Op.ATTRIBUTE or call.callee.name != "zero_grad" or facts.solution.functions_of(call):
        return None
    for position, (value, key) in enumerate(zip(call.arguments, call.keys[1:], strict=True)):
        if agreed(facts.solution, value) is not False:
            continue
        # The keyword is torch's own; a bare False says something only to what is known to be torch's.
        if key == "set_to_none" and _may_be_torch(facts, call, known=False):
            return position
        if key == 0 and _may_be_torch(facts, call, known=True):
            return position
    spread = agreed(facts.solution, (spread_options(facts.solution, call) or {}).get("set_to_none"))
    if spread is False and _may_be_torch(facts, call, known=False):
        return call.keys.index(None, 1) - 1
    return None


def subject_of(call: Value) -> Value:
    """Whose gradients a CALL of ``zero_grad`` is about: ``optimizer``; of ``super().zero_grad()`` the object itself."""
    receiver, function = call.callee.inputs[0], call.function
    return function.parameters[0] if is_asked_of_base(call) and function.parameters else receiver


def is_asked_of_base(call: Value) -> bool:
    """Whether a method is called as that of the class above: ``super().zero_grad()``."""
    receiver = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else call.callee
    return is_super(receiver) and call.function.owner is not None


def _may_be_torch(facts: Facts, call: Value, *, known: bool) -> bool:
    """Whether a CALL asks an optimizer or a module; without ``known``: whether nothing says that it does not."""
    owner = call.function.owner
    if owner is not None and is_asked_of_base(call) and _is_of_torch(owner):
        return True
    return _is_of_torch_or(facts, call.callee.inputs[0], known=known)


def _is_of_torch_or(facts: Facts, receiver: Value, *, known: bool) -> bool:
    """Whether something is an optimizer or a module; without ``known``: whether nothing says that it is not."""
    atoms = facts.solution.final(receiver)
    if any(isinstance(atom, Instance) and atom.cls.method("zero_grad") is not None for atom in atoms):
        return False
    if any(
        isinstance(atom, Module) or is_optimizer(atom) or (isinstance(atom, Instance) and _is_of_torch(atom.cls))
        for atom in atoms
    ):
        return True
    # An instance of a class of the file may still inherit the method from a class of torch.
    strange = (Plain, Tensor, Container, ClassReference)
    foreign = any(
        isinstance(atom, strange) or (isinstance(atom, Instance) and not atom.cls.all_bases()) for atom in atoms
    )
    return not known and not foreign


def _is_of_torch(cls: Class) -> bool:
    """Whether ``zero_grad`` is torch's where a class of the file has none."""
    return is_module_class(cls) or is_optimizer_class(cls)


def _repeated_by(facts: Facts, call: Value, subject: Value, hops: int = DEPTH) -> Loop | Function | None:
    """What runs ``call`` in every step; a function without callers that trains is a step of a loop elsewhere."""
    repetition = facts.repetitions.of(call)
    if repetition is not None:
        return repetition.by
    function = call.function
    if call.loop is not None or function.parent is None:
        return None
    if facts.repetitions.holds(function) or facts.skipping.is_skipped(call, function):
        return None
    callers = facts.solution.callers.get(function, {})
    if callers:
        is_own = subject not in function.parameters  # of the object, say, whoever asks for a step
        if not hops or (len(callers) > 1 and not is_own):
            return None
        caller, passed = min(callers.items(), key=lambda item: item[0].index)
        given = subject if is_own else passed.get(subject)
        return None if given is None else _repeated_by(facts, caller, given, hops - 1)
    # What builds its own optimizer is a whole training, of one step.
    is_given = subject.op in (Op.PARAMETER, Op.READ, Op.ATTRIBUTE)
    return function if is_given and facts.steps.trains(function) else _stepped_by(facts, call, subject)


def _stepped_by(facts: Facts, call: Value, subject: Value) -> Function | None:
    """The method of the same object that runs a backward and steps with it the ``subject`` that ``call`` zeroes.

    Each call of it is a step, and who did not zero in between would add to gradients that were stepped already.
    """
    owner = call.function.owner
    places = set(facts.solution.read_from(subject))
    methods = [method for cls in owner.lineage() for method in cls.methods.values()] if owner is not None else []
    others = [method for method in methods if method is not call.function]
    for method in others:
        if not facts.solution.callers.get(method) and _is_whole_step(facts, method, places):
            looking = (_Turn(facts, call).of(other) for other in others if other is not method)
            return method if not any(_is_read(event) for events in looking for event in events) else None
    return None


def _is_whole_step(facts: Facts, method: Function, optimizer: set[Place]) -> bool:
    """Whether each call of a method runs a backward and steps an optimizer."""
    calls = [call for call in facts.steps.calls_in(method) if call.loop is None]
    backwards = {backward.call for backward in facts.graph.backwards if not backward.by_contract}
    stepping = [call for call in calls if facts.repetitions.steps_optimizer(call)]
    subjects = [subject for call in stepping for subject in (call.callee.inputs[0], *call.arguments[:1])]
    if optimizer.isdisjoint(place for subject in subjects for place in facts.solution.read_from(subject)):
        return False
    run = [call for call in calls if call in backwards]
    return bool(run) and not any(facts.skipping.is_skipped(call, method) for call in (*run, *stepping))


def _is_read_before_backward(facts: Facts, call: Value, subject: Value, by: Loop | Function) -> bool:
    """Whether a turn reads a ``.grad`` after ``call`` and before the next backward; any read, if none is seen."""
    events = list(_Turn(facts, call).of(by))
    if call not in events:
        is_before = _stepped_by(facts, call, subject) is by
        first = next((i for i, event in enumerate(events) if isinstance(event, Backward)), len(events))
        return any(_is_read(event) for event in (events[:first] if is_before else events))
    start = events.index(call)
    for event in (*events[start + 1 :], *events[:start]):
        if isinstance(event, Backward):
            return False
        if _is_read(event):
            return True
    return False


def _is_read(event: Value | Backward | Effect) -> bool:
    return not isinstance(event, Backward) and (not isinstance(event, Value) or event.op is Op.ATTRIBUTE)


class _Turn:
    """What a turn does with gradients, in order."""

    def __init__(self, facts: Facts, call: Value) -> None:
        self.facts = facts
        self.call = call
        self.backwards = {b.statement: b for b in facts.graph.backwards if not b.by_contract}

    def of(self, by: Loop | Function) -> Iterator[Value | Backward | Effect]:
        """Reads of ``.grad``, backwards, and the call that zeroes, through the functions of the file."""
        if isinstance(by, Function):
            yield from self._in(by, None, DEPTH)
        else:
            yield from self._in(by.function, by, DEPTH)

    def _in(self, function: Function, loop: Loop | None, depth: int) -> Iterator[Value | Backward | Effect]:
        for value in self._values.get(function, ()):
            if loop is not None and (value.loop is None or loop not in value.loop.around()):
                continue
            if value.op is Op.ATTRIBUTE:
                yield value
                continue
            if value is self.call:
                yield value
            if value in self._reading_elsewhere:
                yield self._reading_elsewhere[value]
            if depth:
                for callee in self.facts.solution.functions_of(value):
                    yield from self._in(callee, None, depth - 1)
            backward = self.backwards.get(value.statement) if value.statement is not None else None
            if backward is not None and value.callee.name in BACKWARDS:
                yield backward

    @cached_property
    def _reading_elsewhere(self) -> dict[Value, Effect]:
        """The calls of functions of other files that read gradients."""
        return {effect.call: effect for effect in self.facts.effects.of(EffectKind.READS_GRADIENTS)}

    @cached_property
    def _values(self) -> dict[Function, list[Value]]:
        table: dict[Function, list[Value]] = {}
        for value in self.facts.graph.values:
            if value.op is Op.CALL or (value.op is Op.ATTRIBUTE and value.name == "grad"):
                table.setdefault(value.function, []).append(value)
        return table


def free_instead(zeroing: Zeroing) -> Edit | None:
    """The call without the argument; None where a comment stands between its arguments, or it decides elsewhere."""
    node = zeroing.call.syntax
    if not isinstance(node, cst.Call) or any(isinstance(part, cst.Comment) for part in _whole(node)):
        return None
    if zeroing.is_passed_in:
        return None

    def build(call: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(call, cst.Call)
        kept = [argument for position, argument in enumerate(call.args) if position != zeroing.argument]
        if kept:
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return call.with_changes(args=kept)
        return call.with_changes(args=[], whitespace_before_args=cst.SimpleWhitespace(""))

    return replace(node, build)


def _whole(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, comments too, which ``tree.walk`` leaves out."""
    yield node
    for child in node.children:
        yield from _whole(child)
