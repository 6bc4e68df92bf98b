"""How long hooks stay: which ones are registered again and again and never taken off, and so pile up.

A hook stays on its object until ``remove()`` of its handle is called; dropping the handle removes nothing. What is
registered on an object that is new in each turn goes with that object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import assigned_in, constant_of, paths_read
from torchlint.facts.hooks.handles import Handles
from torchlint.facts.hooks.passed_subjects import is_another_each_time, is_made_for_it, runs_once
from torchlint.facts.hooks.refusing import refuses_again
from torchlint.facts.hooks.registrations import Registration, registrations_elsewhere
from torchlint.facts.hooks.staying import stays
from torchlint.facts.hooks.subjects import Subjects
from torchlint.facts.turns.memory import asked_to_be_there
from torchlint.facts.turns.repetition import HOPS
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.syntax.tree import branches, dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class PiledHook:
    """A hook that is registered again and again, and not removed in between.

    Attributes:
        registration: what registers it.
        subject: on what, as the program writes it.
        by: the loop each turn of which does, or the function each call of which does.
        is_supposed: nobody is seen to call that function more than once.
        kept: the handle is kept somewhere.
        of_object: each object that is made leaves one on a module that it was given.
        is_now_and_then: not each turn does, but every n-th one.
        is_for_some: nor every n-th one, but those for some of the items of a loop.
    """

    registration: Registration
    subject: str
    by: Loop | Function
    is_supposed: bool
    kept: bool
    of_object: bool = False
    is_now_and_then: bool = False
    is_for_some: bool = False

    @property
    def registrar(self) -> str:
        """The class whose method registers it, "this" outside of a class."""
        owner = self.by.owner if isinstance(self.by, Function) else None
        return owner.name if owner is not None else "this"


class HookLifetimes:
    """Finds the hooks of a file that pile up."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution
        self.repetitions = facts.repetitions
        self.handles = Handles(facts)
        self.subjects = Subjects(facts.solution)

    def piled(self) -> list[PiledHook]:
        """Every hook that is registered again and again and stays, at most one for each statement."""
        best: dict[cst.CSTNode, PiledHook] = {}
        for registration in (*self.facts.registrations, *registrations_elsewhere(self.facts)):
            found = self._piled(registration)
            if found is not None:
                best.setdefault(self.facts.statement_of(registration.call), found)
        return list(best.values())

    def _piled(self, registration: Registration) -> PiledHook | None:
        call = registration.call
        gives_handle = registration.by is None or registration.by.done.is_returned
        if self.handles.mentions_tables or (gives_handle and self.handles.escapes(call)):
            return None
        if registration.is_of_keeper and self.handles.are_removed:
            return None
        repetition = self._repetition(call, registration.subject)
        if self.handles.are_taken_elsewhere(call, repetition.by if repetition is not None else None):
            return None
        if repetition is None and registration.by is not None:
            return self._repeated_by_others(registration)
        if repetition is None:
            ways = (self._supposed, self._repeated_by_others, self._left_by_object)
            return next((found for way in ways if (found := way(registration)) is not None), None)
        entered = [link for link in repetition.chain if call in self.facts.identity.roots(link)]
        if any(map(self.handles.is_managed, entered)) or self.handles.is_removed(call, repetition):
            return None
        if not stays(self.facts, registration, repetition):
            return None
        is_for_some = self._repetition(call, registration.subject, for_some=False) is None
        rare = not is_for_some and self._repetition(call, registration.subject, now_and_then=False) is None
        subject, kept = self._subject(registration), not call.is_bare
        if registration.by is not None:
            given_back = kept and registration.by.done.is_returned
            subject, kept = self._given(registration), given_back or registration.is_of_keeper
        of_some = {"is_now_and_then": rare, "is_for_some": is_for_some}
        return PiledHook(registration, subject, repetition.by, False, kept, **of_some)

    def _given(self, registration: Registration) -> str:
        """How the program writes what it gives to a function that registers the hook."""
        subject = registration.subject
        return f"`{self.facts.name_in(registration.call, subject)}`" if subject is not None else "it"

    def _subject(self, registration: Registration) -> str:
        node = registration.call.syntax
        if registration.subject is None or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return "all modules"
        text = self.facts.code(node.func.value)
        return f"`{text}`" if len(text) <= 40 else "it"

    # -- how often ------------------------------------------------------------------------------------------------

    def _repetition(
        self, call: Value, subject: Value | None, *, now_and_then: bool = True, for_some: bool = True
    ) -> Repetition | None:
        """What repeats a registration."""
        at = self.walk_over(call, subject)
        found = self.repetitions.of(at, now_and_then=now_and_then, for_some=for_some)
        if found is not None:
            return Repetition(found.by, found.turn, (call, *found.chain[1:]))
        # With each object that is made, with each epoch that is run: hooks outlive these as well.
        if call.function.name != "__init__":
            if not self.repetitions.holds(call.function):
                return self._by_a_loop_that_runs_it(call, subject) or self._by_a_loop_of_epochs(at, (call,))
            if self._is_chosen(at, call.function.syntax):
                return None
        for caller in sorted(self.solution.callers.get(call.function, ()), key=lambda value: value.index):
            repetition = self.repetitions.of(caller, now_and_then=now_and_then, for_some=for_some)
            if repetition is not None:
                return Repetition(repetition.by, repetition.turn, (call, *repetition.chain))
        return None

    def _by_a_loop_that_runs_it(self, call: Value, subject: Value | None) -> Repetition | None:
        """A loop of unknown purpose in whose turns the very object is hooked and run."""
        chain: tuple[Value, ...] = (call,)
        at = self.walk_over(call, subject)
        while subject is not None and len(chain) <= HOPS:
            way = set(self.subjects.way(subject, chain))
            for loop in at.loop.around() if at.loop is not None else ():
                if self._is_chosen(at, loop.syntax) or _names_in(at.syntax) & assigned_in(loop.syntax):
                    return None
                inside = [c for c in self.facts.steps.calls_in(at.function) if c.loop and loop in c.loop.around()]
                inside += [c for link in chain[:-1] for c in self.facts.steps.calls_in(link.function)]
                if any(other.callee in way for other in inside):
                    return Repetition(loop, Turn.INFERS, chain)
            callers = sorted(self.solution.callers.get(at.function, ()), key=lambda value: value.index)
            if not callers or callers[0] in chain or self._is_chosen(at, at.function.syntax):
                return None
            chain, at = (*chain, callers[0]), callers[0]
        return None

    def _by_a_loop_of_epochs(self, at: Value, chain: tuple[Value, ...]) -> Repetition | None:
        """A loop of epochs each turn of which calls what hooks, be it by way of the function that goes through one.

        Or what a framework calls for each epoch. The ``chain`` leads to ``at``; of several callers one is enough.
        """
        skipping = self.repetitions.skipping
        for loop in at.loop.around() if at.loop is not None else ():
            if (
                self._is_for_the_first_time(at)
                or skipping.is_skipped(at, loop, by_number=False)
                or _names_in(at.syntax) & assigned_in(loop.syntax)
            ):
                return None
            if self.repetitions.turn(loop) is Turn.HOLDS:
                return Repetition(loop, Turn.HOLDS, chain)
        if self._is_for_the_first_time(at) or skipping.is_skipped(at, at.function):
            return None
        callers = sorted(self.solution.callers.get(at.function, ()), key=lambda value: value.index)
        if not callers and self.repetitions.comes_each_epoch(at.function):
            return Repetition(at.function, Turn.HOLDS, chain)
        further = [caller for caller in callers if caller not in chain]
        if len(chain) == HOPS or at.function.name == "__init__":
            return None
        ways = (self._by_a_loop_of_epochs(caller, (*chain, caller)) for caller in further)
        return next((found for found in ways if found is not None), None)

    def _is_chosen(self, at: Value, within: cst.CSTNode) -> bool:
        """Whether a condition stands over a call; which layers are hooked, ``isinstance(layer, nn.ReLU)``, is none."""
        node = at.syntax
        while node is not None and node is not within:
            if isinstance(node, cst.ExceptHandler):
                return True
            if isinstance(node, cst.If | cst.IfExp) and not _asks_for_type(node.test):
                return True
            node = self.facts.parents.get(node)
        return False

    def _is_for_the_first_time(self, at: Value) -> bool:
        """Whether a condition over a call asks for what is not there yet: ``if not self.handles:``."""
        tests = (outer.test for outer, _ in branches(self.facts.parents, at.syntax))
        return any(
            isinstance(part, cst.Not | cst.Is | cst.NotIn)
            for test in tests
            for node in walk(test)
            for part in (getattr(node, "operator", None),)
        )

    def walk_over(self, call: Value, subject: Value | None) -> Value:
        """What a registration on many parts goes over: which parts it chooses is no matter of how often it runs."""
        at = call
        way = self.subjects.way(subject, ()) if subject is not None else ()
        walked = {one.loop for value in way for one in (value, *self.subjects.chosen_by(value)) if _is_item(one)}
        for loop in call.loop.around() if call.loop is not None else ():
            if loop not in walked or loop.iterable is None or self.repetitions.turn(loop) is not Turn.OTHER:
                break
            if loop.iterable.loop is not loop.parent or self._asks_for_earlier(call, loop):
                break  # the list was made before the loops around
            at = loop.iterable
        return at

    def _asks_for_earlier(self, call: Value, loop: Loop) -> bool:
        """Whether a condition on the way to ``call`` asks what an earlier turn left: ``not hasattr(m, "done")``."""
        node = call.syntax
        while node is not None and node is not loop.syntax:
            inside, node = node, self.facts.parents.get(node)
            if not isinstance(node, cst.If | cst.IfExp):
                continue
            there = set(asked_to_be_there(node.test)) if inside is node.body else set[cst.Call]()
            for part in walk(node.test):
                if isinstance(part, cst.Call) and dotted(part.func) in ("hasattr", "getattr"):
                    if part in there and not self._is_set(part):
                        continue
                    return True
                if isinstance(part, cst.ComparisonTarget) and isinstance(part.operator, cst.NotIn | cst.Is):
                    return True
        return False

    def _is_set(self, asking: cst.Call) -> bool:
        """Whether the file sets the attribute for which ``hasattr`` asks; one that it computes it may."""
        name = constant_of(asking.args[1].value) if len(asking.args) > 1 else None
        return not isinstance(name, str) or any(store.attribute == name for store in self.facts.graph.stores)

    def _supposed(self, registration: Registration) -> PiledHook | None:
        """A function that puts a hook on a module which it is handed, runs the module and leaves the hook there.

        Or a method that does so with what its object holds, and runs it once each time that it is called.
        """
        call, chain = registration.call, self._up_to_others(registration)
        function, calls = chain[-1].function, (registration.call, *chain[1:])
        repetition = Repetition(function, Turn.OTHER, calls)
        if registration.subject is None or registration.is_of_tensor or function.name.startswith("__"):
            return None
        if any(self.handles.is_managed(one) or self._is_chosen(one, one.function.syntax) for one in calls):
            return None
        if self._callers(function) or not stays(self.facts, registration, repetition):
            return None
        later = [other for other in self.facts.steps.calls_in(function) if other.index > calls[-1].index]
        handed = {value for value in self.subjects.way(registration.subject, calls) if value.op is Op.PARAMETER}
        handed = {value for value in handed if value.function is function}
        if handed and handed <= set(_own(function)):
            runs = any(other.loop is None and self._runs_own(other, function) for other in later)
        else:
            runs = not handed.isdisjoint(function.parameters) and any(other.callee in handed for other in later)
        if not runs or self.handles.removals(call):
            return None
        return PiledHook(registration, self._subject(registration), function, True, not call.is_bare)

    def _repeated_by_others(self, registration: Registration) -> PiledHook | None:
        """A method that hooks what its object holds, keeps the handle, and is called in a loop of another file.

        Or one that calls such a method of its object. Where that loop also calls a method which takes hooks away,
        nothing is said. That the handle is dropped is said there, if that file sees it.
        """
        call, chain = registration.call, self._up_to_others(registration)
        function = chain[-1].function
        owner = function.owner
        if registration.subject is None or registration.is_of_tensor or owner is None or is_module_class(owner):
            return None
        if function.name.startswith("__") or self._callers(function) or self.handles.is_managed(call):
            return None
        is_far, is_own = len(chain) > 1, registration.by is None
        is_seen_there = is_own and (call.is_bare or (is_far and self.handles.is_left(call)))
        is_let_go = is_far and bool(self.handles.removals(call))
        if (
            is_seen_there
            or is_let_go
            or any(self._is_chosen(at, at.function.syntax) or at.loop is not None for at in chain)
        ):
            return None
        removing = sorted(method.name for method in self.handles.takers(owner))
        is_left = function.name not in removing and stays(
            self.facts, registration, Repetition(function, Turn.OTHER, (call, *chain[1:]))
        )
        making = [owner.name] if is_far or not is_own else []
        if not is_left or not self.facts.repeats(function.name, [*removing, *making, "remove"]):
            return None
        subject = self._subject(registration) if is_own else self._given(registration)
        kept = is_own or registration.is_of_keeper
        return PiledHook(registration, subject, function, is_supposed=True, kept=kept)

    def _up_to_others(self, registration: Registration) -> tuple[Value, ...]:
        """Where a hook is registered, the call of the method in which that is, and so on, as long as it has one."""
        chain: tuple[Value, ...] = (self.walk_over(registration.call, registration.subject),)
        while len(chain) <= HOPS and len(callers := self._callers(chain[-1].function)) == 1:
            chain = (*chain, *callers)
        return chain

    def _callers(self, function: Function) -> list[Value]:
        """The calls of a function, but for those of a method by what overrides it: of an object anybody asks for it."""
        calls = list(self.solution.callers.get(function, ()))
        if function.owner is None or function.name.startswith("__"):
            return calls
        return [call for call in calls if call.function.owner is None or call.function.name != function.name]

    def _runs_own(self, call: Value, function: Function) -> bool:
        """Whether a CALL runs what an attribute of ``self`` holds, be it by another method of the object."""
        if self._is_of(call.callee, function):
            return True
        is_own = call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] in _own(function)
        methods = self.solution.functions_of(call) if is_own else []
        return any(self._is_of(inner.callee, one) for one in methods for inner in self.facts.steps.calls_in(one))

    def _is_of(self, callee: Value, function: Function) -> bool:
        """Whether what is called is an object that an attribute of ``self`` holds: ``self.model(x)``."""
        is_own = callee.op is Op.ATTRIBUTE and callee.inputs[0] in _own(function)
        return is_own and bool(self._stored(callee))

    def _left_by_object(self, registration: Registration) -> PiledHook | None:
        """An object that puts hooks on the module it is made for, and keeps no handle to take them off again.

        A module that does so with a part of itself goes with it; any other object leaves them to its successor.
        """
        call, subject = registration.call, registration.subject
        if subject is None or registration.is_of_tensor or not call.is_bare or self.handles.is_managed(call):
            return None
        made, given = self.given_to_object(registration)
        if made is None or made.owner is None or is_module_class(made.owner) or self._is_ended(call):
            return None
        are_others = all(is_another_each_time(self.facts, parameter) for parameter in given)
        if are_others and runs_once(self.facts, made, given):
            return None
        if any(is_made_for_it(self.facts, parameter) for parameter in given):
            return None
        if not given or any(refuses_again(self.facts, parameter) for parameter in given):
            return None
        return PiledHook(registration, self._subject(registration), made, True, False, of_object=True)

    def given_to_object(self, registration: Registration) -> tuple[Function | None, list[Value]]:
        """The ``__init__`` in which alone a hook is registered, and its parameters that this is registered on."""
        made, subject = self._makers(registration.call.function), registration.subject
        way = self.subjects.way(subject, ()) if subject is not None else ()
        parts = {part for value in way for part in (value, *self._stored(value))}
        return made, [parameter for parameter in made.parameters[1:] if parameter in parts] if made is not None else []

    def _makers(self, function: Function) -> Function | None:
        """The ``__init__`` in which ``function`` runs, and in nothing else."""
        seen = set[Function]()
        while function.name != "__init__":
            callers = {call.function for call in self.solution.callers.get(function, ())}
            if len(callers) != 1 or function in seen:
                return None
            seen.add(function)
            (function,) = callers
        return function

    def _stored(self, value: Value) -> list[Value]:
        """What an attribute holds."""
        return stored_at(self.solution, value) if value.op is Op.ATTRIBUTE else []

    def _is_ended(self, call: Value) -> bool:
        """Whether the hook, or another method of its class, takes hooks away: by tables, by a name, by handles."""
        owner = call.function.owner
        return owner is not None and bool(self.handles.takers(owner))


def _is_item(value: Value) -> bool:
    """Whether a value is what a loop goes over: an element, or a number that it counts."""
    return value.op is Op.ELEMENT or (value.op is Op.CONSTANT and value.syntax is None)


def _asks_for_type(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.Call) and isinstance(test.func, cst.Name) and test.func.value == "isinstance"


def _own(function: Function) -> list[Value]:
    """``self`` of a method of an object that is no module: what a module does with its parts is its ``forward``."""
    owner = function.owner
    return function.parameters[:1] if owner is not None and not is_module_class(owner) else []


def _names_in(node: cst.CSTNode | None) -> set[str]:
    """The variables, attributes and items by which a call names what it is made on."""
    function = node.func if isinstance(node, cst.Call) else node
    return paths_read(function) if function is not None else set()
