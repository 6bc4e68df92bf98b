"""Reference circles through functions: who holds whom, whether a collector can see it, and how often one is made.

Four kinds. A hook on a computed tensor lives in the graph, in C++: when it reaches that tensor, or what is computed
from it, nothing ever frees them. An object that keeps a function, or a part, which holds the object, and a local
function that calls itself, wait for Python's cyclic collector with all that they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.hooks.holding import Held, Holding
from torchlint.facts.hooks.hooked_tensors import HookedTensors
from torchlint.facts.hooks.instances import Instances
from torchlint.facts.hooks.makers import Makers
from torchlint.facts.hooks.partners import Partner, partners
from torchlint.facts.hooks.passed_subjects import is_made_for_it, is_new, keeps_given
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import Effect
from torchlint.facts.turns.unasked import is_unasked
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.writing import shortened

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.registrations import Registration


class Through(Enum):
    """Through what a circle goes."""

    GRAPH = auto()
    """A hook, and the graph of the tensor that has it."""
    OBJECT = auto()
    """A function, and the object that keeps it."""
    FUNCTION = auto()
    """A local function, and the variable in which it finds itself."""
    PARTNER = auto()
    """An object, and a part of it that holds the object."""


@dataclass(frozen=True)
class Circle:
    """A reference circle.

    Attributes:
        node: the statement that closes it, for a local function its definition.
        through: through what it goes.
        holder: how the program writes what keeps the function.
        held: how it writes what the function holds; of a part the name of its class, "" where that is not known.
        by: the loop or function that makes one in each turn; None where nobody is seen to make more than one.
        owner: the class whose instances are in it.
        is_forever: no collector can see it.
        is_seldom: a turn is a whole training: the collector comes by, though at its own time.
    """

    node: cst.CSTNode
    through: Through
    holder: str
    held: str
    by: Loop | Function | None
    owner: Class | None
    is_forever: bool
    is_seldom: bool = False


def circles(facts: Facts) -> list[Circle]:
    """Every circle that is made again and again, or lasts for ever; at most one for each statement."""
    best: dict[cst.CSTNode, Circle] = {}
    for circle in Circles(facts).found():
        best.setdefault(circle.node, circle)
    return list(best.values())


class Circles:
    """Finds them in one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution
        self.identity = facts.identity
        self.holding = Holding(facts.solution, self.identity)
        self.instances = Instances(facts)
        self.repetitions = facts.repetitions
        self.makers = Makers(facts)
        self.hooked = HookedTensors(facts, self.instances)

    def found(self) -> Iterator[Circle]:
        """Every circle; several may be closed by one statement."""
        for registration in self.facts.registrations:
            yield from self._of_registration(registration)
        for store in self.facts.graph.stores:
            yield from self._of_store(store)
        for function in self.facts.graph.functions:
            yield from self._of_function(function)
        for effect in self.facts.effects.of(EffectKind.CIRCLES):
            yield from self._of_effect(effect)
        for effect in self.facts.effects.of(EffectKind.TIES):
            yield from self._of_tied(effect)
        for effect in self.facts.effects.of(EffectKind.ENCLOSES):
            yield from self._of_enclosed(effect)
        for kept in kept_elsewhere(self.facts):
            yield from self._of_kept(kept)
        for partner in partners(self):
            yield from self._of_partner(partner)

    # -- hooks ----------------------------------------------------------------------------------------------------

    def _of_registration(self, registration: Registration) -> Iterator[Circle]:
        call, subject = registration.call, registration.subject
        if registration.hook is None or subject is None or self.facts.hook_lifetimes.handles.lets_go(call):
            return
        if is_unasked(self.facts, call.syntax, call.function):
            return
        held = self.holding.held_by(registration.hook)
        if registration.is_of_tensor:
            is_of_node = subject.op is Op.ATTRIBUTE and subject.name == "grad_fn"
            tensor = subject.inputs[0] if is_of_node else subject
            if not self.hooked.is_leaf(tensor):
                if is_of_node or self.hooked.is_computed(tensor):
                    yield from self._of_graph(registration, tensor, held)
                return
        for one in held:
            owner = self._class_with_subject(subject, one.value)
            if owner is None:
                yield from self._of_given(registration, one)
                continue
            by, is_seldom = self.makers.maker(owner)
            if by is not None and self.instances.is_heavy(owner):
                is_forever = call.callee.name == "register_post_accumulate_grad_hook"
                holder, written = self._receiver(call), self._written(one)
                statement = self.facts.statement_of(call)
                yield Circle(statement, Through.OBJECT, holder, written, by, owner, is_forever, is_seldom)

    def _of_given(self, registration: Registration, held: Held) -> Iterator[Circle]:
        """A hook that holds its object, on a network that was made for the object, which keeps it."""
        made, given = self.facts.hook_lifetimes.given_to_object(registration)
        owner = self.instances.class_of(held.value)
        if made is None or owner is None or made.owner is not owner or len(given) != 1:
            return
        is_network = any(map(self.facts.tensors.is_module, self.solution.arguments_of(given[0])))
        if not is_network or not is_made_for_it(self.facts, given[0]):
            return
        by, is_seldom = self._trial_of(owner)
        if by is not None and keeps_given(self.facts, self.instances, made, given[0]):
            statement, holder = self.facts.statement_of(registration.call), self._receiver(registration.call)
            yield Circle(statement, Through.OBJECT, holder, self._written(held), by, owner, False, is_seldom)

    def _class_with_subject(self, subject: Value, held: Value) -> Class | None:
        """The class whose instance is ``held`` and has ``subject`` for a part of its own.

        A base class may say it of what is handed to it: ``self.watch(nn.ReLU())``.
        """
        owner = self.instances.class_of(held)
        if owner is not None and self.instances.is_own(subject, owner):
            return owner
        if owner is None or held not in held.function.parameters[:1]:
            return None
        for call in self.solution.callers.get(held.function, ()):
            itself = self.solution.passed(call, held.function, 0)
            made_by = self.instances.class_of(itself) if itself is not None else None
            if made_by is not None and self.instances.is_own(subject, made_by, (call,)):
                return made_by
        return None

    def _of_graph(self, registration: Registration, tensor: Value, held: list[Held]) -> Iterator[Circle]:
        statement, holder = self.facts.statement_of(registration.call), self._receiver(registration.call)
        for one in held:
            owner = self.instances.class_of(one.value)
            if owner is not None and owner.name and self.hooked.reaches(owner, tensor):
                is_seen, repetition = self.makers.made_again(owner)
                if repetition is None and (is_seen or is_module_class(owner) or not self.hooked.is_once(owner, tensor)):
                    continue
                by = repetition.by if repetition is not None else None
            elif (
                owner is None
                and self.hooked.descends(one.value, tensor)
                and not self.hooked.is_taken_out(one.value, tensor)
            ):
                is_made, by = self._is_made_by_turn(registration.call, one)
                if not is_made:
                    continue
            else:
                continue
            yield Circle(statement, Through.GRAPH, holder, self._written(one), by, owner, True)

    def _is_made_by_turn(self, call: Value, held: Held) -> tuple[bool, Loop | Function | None]:
        """Whether each turn makes a circle of its own, and what repeats it, if that is seen.

        Turns of a loop in the very function whose variable is captured share that variable.
        """
        repetition = self.repetitions.of(call)
        if repetition is None:
            function = call.function
            return function.parent is not None and not self.solution.callers.get(function), None
        by = repetition.by
        if held.cell is not None and isinstance(by, Loop) and held.cell.owner is by.function:
            return False, None
        return True, by

    # -- objects --------------------------------------------------------------------------------------------------

    def _of_store(self, store: Store) -> Iterator[Circle]:
        function, owner = store.function, store.function.owner
        if owner is None or store.holder is None or store.kind is Kind.UPDATE:
            return
        for held in self.holding.held_by(store.value):
            other = self.instances.class_of(held.value)
            if other is None or other.root() is not owner.root() or not self._is_of_object(held.value, function):
                continue
            place = self.instances.attribute_of(store, owner)
            by, is_seldom = self.makers.maker(owner)
            if is_unasked(self.facts, store.target or store.statement, function):
                continue
            is_made = by is not None or self.makers.gives_more(owner)
            if place is not None and is_made and not self.instances.is_dropped(place):
                if self.instances.is_heavy(owner):
                    holder, written = f"{function.parameters[0].name}.{place.path}", self._written(held)
                    yield Circle(store.statement, Through.OBJECT, holder, written, by, owner, False, is_seldom)
            return

    def _of_partner(self, partner: Partner) -> Iterator[Circle]:
        """An object that keeps a part which holds it, where either has tensors."""
        by, is_seldom = self.makers.maker(partner.owner)
        classes = [cls for cls in (partner.owner, partner.part) if cls is not None]
        if by is not None and any(map(self.instances.is_heavy, classes)):
            store, name = partner.store, partner.part.name if partner.part is not None else ""
            yield Circle(store.statement, Through.PARTNER, partner.holder, name, by, partner.owner, False, is_seldom)

    def _of_effect(self, effect: Effect) -> Iterator[Circle]:
        """An instance that keeps, by its ``__init__`` in another file, a function that holds it."""
        owner = effect.function.owner
        if owner is not None and effect.done.of:
            yield from self._of_graph_elsewhere(effect, owner)
            return
        by, is_seldom = self.makers.maker(owner, effect.call) if owner is not None else (None, False)
        if owner is not None and by is not None:
            statement, holder = self.facts.statement_of(effect.call), f"{owner.name}.{effect.done.name}"
            yield Circle(statement, Through.OBJECT, holder, "self", by, owner, False, is_seldom)

    def _of_tied(self, effect: Effect) -> Iterator[Circle]:
        """A method of another file that leaves a hook, which holds its object, on a part of that object."""
        itself = self.solution.passed(effect.call, effect.function, 0)
        owner = self.instances.class_of(itself) if itself is not None else None
        if owner is None or not effect.given or not self.instances.is_own(effect.given[0], owner):
            return
        by, is_seldom = self.makers.maker(owner)
        if by is not None and self.instances.is_heavy(owner):
            statement, holder = self.facts.statement_of(effect.call), self._written(Held(effect.given[0], None))
            yield Circle(statement, Through.OBJECT, holder, "self", by, owner, False, is_seldom)

    def _of_enclosed(self, effect: Effect) -> Iterator[Circle]:
        """An object of another file's class that hooks the network which was just made for it, and keeps that."""
        owner, given = effect.function.owner, next(iter(effect.given), None)
        if owner is None or given is None or not self.facts.tensors.is_module(given):
            return
        if is_new(self.facts, effect.call, given):
            by, is_seldom = self._trial_of(owner, effect.call)
            if by is not None:
                statement, holder = self.facts.statement_of(effect.call), self.facts.name_in(effect.call, given)
                yield Circle(statement, Through.OBJECT, holder, owner.name, by, owner, False, is_seldom)

    def _trial_of(self, owner: Class, at: Value | None = None) -> tuple[Loop | Function | None, bool]:
        """What makes instances, be it a loop of whatever purpose, and whether that is more than a step."""
        by, is_seldom = self.makers.maker(owner, at)
        return (by, is_seldom) if by is not None else (self.makers.any_turn(owner, at), True)

    def _of_graph_elsewhere(self, effect: Effect, owner: Class) -> Iterator[Circle]:
        """An instance that keeps a tensor on which its ``__init__`` in another file leaves a hook that holds it."""
        is_seen, repetition = self.makers.made_again(owner)
        if repetition is None and (is_seen or is_module_class(owner)):
            return
        by, statement = repetition.by if repetition is not None else None, self.facts.statement_of(effect.call)
        for tensor in effect.given:
            if not self.hooked.is_leaf(tensor) and self.hooked.is_computed(tensor):
                holder = self._written(Held(tensor, None))
                yield Circle(statement, Through.GRAPH, holder, owner.name, by, owner, True)

    def _of_kept(self, kept: KeptElsewhere) -> Iterator[Circle]:
        """``net.tell(lambda loss: note(net, loss))`` where a class of another file keeps what ``tell`` is given."""
        owner = self.instances.class_of(kept.holder) if kept.holder is not None and kept.keep.into == 0 else None
        if owner is None or kept.holder is None or not kept.keep.is_shared or kept.is_let_go(self.solution):
            return
        for held in self.holding.held_by(kept.given.value):
            if self._roots(held.value).isdisjoint(self._roots(kept.holder)):
                continue
            by, is_seldom = self.makers.maker(owner)
            if by is not None and self.instances.is_heavy(owner):
                statement, holder = self.facts.statement_of(kept.call), f"{kept.name}.{kept.keep.attribute}"
                yield Circle(statement, Through.OBJECT, holder, self._written(held), by, owner, False, is_seldom)
            return

    def _is_of_object(self, held: Value, method: Function) -> bool:
        """Whether what is held is the object of a method, not another one of its class that a caller has."""
        owner = held.function.owner
        if method.owner is not None and owner is not None and owner.root() is method.owner.root():
            return True
        calls = self.solution.callers.get(method, ())
        objects = (call.callee.inputs[0] for call in calls if call.callee.op is Op.ATTRIBUTE)
        return any(not self._roots(held).isdisjoint(self._roots(one)) for one in objects)

    def _roots(self, value: Value) -> frozenset[Value]:
        return self.identity.roots(value)

    # -- functions that call themselves ---------------------------------------------------------------------------

    def _of_function(self, function: Function) -> Iterator[Circle]:
        around = function.parent
        if not isinstance(function.syntax, cst.FunctionDef) or around is None or around.parent is None:
            return
        made = self._definitions.get(function)
        if made is None or Place(around, function.name) not in self.holding.captured(function):
            return
        repetition = self.repetitions.of(made)
        if repetition is None or (isinstance(repetition.by, Loop) and repetition.by.function is around):
            return
        if not self.makers.is_short(repetition):
            return
        held = self.holding.held_by(made)
        if any(one.value is made for one in held):
            heavy = next((one for one in held if self.instances.burdens.is_fresh(one.value, None)), None)
            if heavy is not None:
                name, written = function.name, self._written(heavy)
                yield Circle(function.syntax, Through.FUNCTION, name, written, repetition.by, None, False)

    @cached_property
    def _definitions(self) -> dict[object, Value]:
        """The value of each function's definition."""
        return {value.reference: value for value in self.facts.graph.of(Op.FUNCTION)}

    # -- words ----------------------------------------------------------------------------------------------------

    def _written(self, held: Held) -> str:
        if held.cell is not None:
            return held.cell.path
        if held.value.op in (Op.PARAMETER, Op.READ, Op.PHI):
            return held.value.name
        text = self.facts.code(held.value.syntax) if held.value.syntax is not None else "it"
        return shortened(text)

    def _receiver(self, call: Value) -> str:
        node = call.syntax
        text = (
            self.facts.code(node.func.value)
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
            else "it"
        )
        return shortened(text)
