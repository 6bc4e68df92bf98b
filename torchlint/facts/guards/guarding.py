"""Guards that guard nothing: where a program says how to record gradients, and torch does not hear it.

``torch.no_grad`` and its relatives are classes. They work on entering an instance of one (``with``) and on
every call of a function that they decorate, in the thread where that happens, until the block or call ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.guards import SETTERS, SWITCHES
from torchlint.facts.guards.guard_names import Guard, Guards
from torchlint.facts.turns.handoffs import KEEPS_GENERATOR, is_network, lazy_work, runs_forward, thread_work
from torchlint.facts.values.graph import Class, Function, Mode, Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.syntax.tree import walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

SUSPENDING = ("contextmanager", "fixture")
"""A generator decorated with one of these yields inside its guard on purpose, for its caller's sake."""

HOPS = 3
"""How many callers up the guard around a hand-over to another thread is looked for."""


class Idle(Enum):
    """Why a guard has no effect, or one on somebody else."""

    STATEMENT = "made and dropped: a statement of its own enters nothing"
    UNCALLED = "the class itself cannot be entered"
    OVERRIDDEN = "the method that runs is another one, which is not decorated"
    COROUTINE = "only the call that makes the coroutine is guarded, not what runs when it is awaited"
    LAZY = "what is made inside runs when it is consumed, outside"
    THREAD = "the work is done by another thread, which has a grad mode of its own"
    SWITCH = "switched in a thread that runs no forward"
    YIELD = "while the generator waits at its yield, its consumer has the mode"
    AWAIT = "while the coroutine waits, all others of the thread have the mode"


@dataclass(frozen=True)
class IdleGuard:
    """A guard without the effect that the program wants.

    Attributes:
        kind: why.
        node: the statement that it stands on; for a decorator the function that it decorates.
        expression, written: the guard as the program writes it.
        mode: what it switches gradients to.
        function: in which function it stands, or which one it decorates.
        at: the place at which it fails: the ``yield``, the override, the hand-over to a thread.
        victims: functions of this file whose forwards it should have guarded.
        work: the call or iterator that runs elsewhere.
        followed: whether something follows the statement in its block.
    """

    kind: Idle
    node: cst.CSTNode
    expression: cst.BaseExpression
    written: str
    mode: Mode
    function: Function
    at: cst.CSTNode
    victims: tuple[Function, ...] = ()
    work: Value | None = None
    followed: bool = False

    @property
    def calls(self) -> bool:
        """Whether the work is written as a call, not as a generator expression."""
        return self.work is not None and isinstance(self.work.syntax, cst.Call)


def idle_guards(facts: Facts) -> list[IdleGuard]:
    """Every guard of a file that does not do what it is written for, in no particular order."""
    mentioned = any(v.name in SWITCHES or v.name in SETTERS for v in facts.graph.of(Op.EXTERNAL))
    found = _Search(facts).found() if mentioned else _Search(facts).overrides()
    return [replace(guard, followed=bool(statements_after(facts, guard.node))) for guard in found]


def guarded_in_vain(facts: Facts) -> frozenset[Function]:
    """The functions whose inference with gradients on is the consequence of an idle guard.

    These are the functions that the guard stands in or decorates, those that it should have reached, and
    those that run only when one of these calls them. TLK202 reports the guard: that is finding enough.
    """
    found = {f for guard in facts.idle_guards if guard.mode is not Mode.ON for f in _left_alone(facts, guard)}
    while True:
        unguarded = {function for function in found if not facts.steps.trains(function)}
        more = {f for f in facts.graph.functions if f not in found and _is_called_only_by(facts, f, unguarded)}
        if not more:
            return frozenset(found)
        found |= more


def _is_called_only_by(facts: Facts, function: Function, callers: set[Function]) -> bool:
    """Whether a function is called by ``callers``, and by others at most under guards that hold."""
    calls = [call for call in facts.solution.callers.get(function, ()) if call.mode is not Mode.OFF]
    return bool(calls) and all(call.function in callers for call in calls)


def _left_alone(facts: Facts, guard: IdleGuard) -> Iterable[Function]:
    """The functions that stay without a guard because of this one."""
    yield from guard.victims
    if guard.kind in (Idle.STATEMENT, Idle.UNCALLED, Idle.COROUTINE):
        yield guard.function
    if guard.kind is Idle.STATEMENT and not statements_after(facts, guard.node):
        yield from (call.function for call in facts.solution.callers.get(guard.function, ()))


def statements_after(facts: Facts, statement: cst.CSTNode) -> list[cst.CSTNode]:
    """The statements that follow one in its block."""
    block = facts.parents.get(statement)
    body: list[cst.CSTNode] = list(block.body) if isinstance(block, cst.IndentedBlock | cst.Module) else []
    return body[body.index(statement) + 1 :] if statement in body else []


def suspends(node: cst.CSTNode) -> bool:
    """Whether a coroutine lets others run at this node of its own code."""
    return isinstance(node, cst.Await) or (
        isinstance(node, cst.For | cst.With | cst.CompFor) and node.asynchronous is not None
    )


class _Search:
    """One search through one file."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.guards = Guards(facts)

    @cached_property
    def _functions(self) -> dict[cst.CSTNode, Function]:
        return {function.syntax: function for function in self.facts.graph.functions}

    def found(self) -> Iterator[IdleGuard]:
        for function in self.facts.graph.functions:
            yield from self._decorated(function)
        yield from self.overrides()
        yield from self._written()
        yield from self._lazy()
        yield from self._threads()

    def overrides(self) -> Iterator[IdleGuard]:
        for cls in self.facts.graph.classes:
            if cls.parents:
                yield from self._overrides(cls)

    def _idle(self, kind: Idle, node: cst.CSTNode, guard: Guard, function: Function, at: cst.CSTNode) -> IdleGuard:
        return IdleGuard(kind, node, guard.node, self.facts.code(guard.node), guard.mode, function, at)

    # -- statements and blocks -------------------------------------------------------------------------------

    def _written(self) -> Iterator[IdleGuard]:
        for node in self.facts.parents:
            if type(node) is cst.Expr:
                yield from self._statement(node)
            elif type(node) is cst.With:
                yield from self._block(node)

    def _statement(self, node: cst.Expr) -> Iterator[IdleGuard]:
        """``torch.no_grad()`` on a line of its own."""
        if not isinstance(node.value, cst.Call | cst.Name | cst.Attribute):
            return
        function = self._function_of(node)
        guard = self.guards.named_by(node.value, function)
        if guard is not None and guard.name in SWITCHES:
            line = self.facts.parents[node]
            at = self.facts.parents[line] if isinstance(line, cst.SimpleStatementSuite) else line
            yield self._idle(Idle.STATEMENT, at, guard, function, at)

    def _block(self, node: cst.With) -> Iterator[IdleGuard]:
        """``with torch.no_grad:``, and a guard that is held while others run."""
        function = self._function_of(node)
        guards = [guard for item in node.items if (guard := self.guards.named_by(item.item, function)) is not None]
        for guard in guards:
            if not guard.is_called:
                yield self._idle(Idle.UNCALLED, node, guard, function, node)
        if not any(guard.is_called for guard in guards):
            return
        for inner in walk_scope(node.body):
            yields = isinstance(inner, cst.Yield) and self._suspends_openly(function)
            if not yields and not (function.is_async and self._waits(inner, function)):
                continue
            around = self.guards.around(inner, function)
            if around is None or around[0] is not node:
                continue
            if not yields or self._reaches_consumer(function, around[1].mode):
                yield self._idle(Idle.YIELD if yields else Idle.AWAIT, node, around[1], function, inner)
                return

    def _function_of(self, node: cst.CSTNode) -> Function:
        """The function, or the module's body, in which a statement stands."""
        while node in self.facts.parents and node not in self._functions:
            node = self.facts.parents[node]
        return self._functions.get(node, self.facts.graph.module)

    def _suspends_openly(self, function: Function) -> bool:
        """Whether a generator's consumer runs in whatever mode the generator leaves on.

        Torch's own decorators switch the mode back at each ``yield``; one of unknown origin may do anything.
        """
        return function.is_generator and all(name in KEEPS_GENERATOR for name in function.decorators)

    def _reaches_consumer(self, function: Function, mode: Mode) -> bool:
        """Whether a consumer of a generator wants another mode, as far as consumers are seen in this file."""
        calls = self.facts.solution.callers.get(function, {})
        if mode is Mode.ON:
            return any(self.facts.modes.at(call) == {Mode.OFF} for call in calls)
        return not calls or any(
            Mode.ON in self.facts.modes.at(call) and self.facts.steps.trains(call.function) for call in calls
        )

    def _waits(self, node: cst.CSTNode, function: Function) -> bool:
        """Whether a coroutine may let others run here."""
        if any(name.rpartition(".")[2].endswith(SUSPENDING) for name in function.decorators):
            return False
        return suspends(node) and not (isinstance(node, cst.Await) and self._never_waits(node.expression))

    def _never_waits(self, awaited: cst.CSTNode) -> bool:
        """Whether all that an awaited call runs are coroutines of this file that do not wait themselves."""
        value = self.guards.values.get(awaited)
        functions = self.facts.solution.functions_of(value) if value is not None else []
        return bool(functions) and all(
            function.is_async and not any(map(suspends, walk_scope(function.syntax))) for function in functions
        )

    # -- decorators ------------------------------------------------------------------------------------------

    def _decorated(self, function: Function) -> Iterator[IdleGuard]:
        """A guard on an ``async def``: it is entered and left again before the body begins."""
        guard = self.guards.decorator(function)
        if guard is None or not function.is_async:
            return
        assert isinstance(function.syntax, cst.FunctionDef)
        names = function.decorators
        position = [d.decorator for d in function.syntax.decorators].index(guard.node)
        if not any("sync" in name.rpartition(".")[2] for name in names[position + 1 :]):
            yield self._idle(Idle.COROUTINE, function.syntax, guard, function, function.syntax)

    def _overrides(self, cls: Class) -> Iterator[IdleGuard]:
        """Methods of ``cls`` that infer unguarded in the place of a guarded method of a base."""
        if self.facts.modes.may_be_guarded_by_base(cls):
            return
        for name, method in cls.methods.items():
            base = next((c.methods[name] for c in cls.lineage()[1:] if name in c.methods), None)
            if base is None or base.is_async or method.guard is not Mode.INHERITED:
                continue
            if base.is_foreign:
                yield from self._override_of_another_file(method, base)
                continue
            guard = self.guards.decorator(base)
            if guard is not None and guard.mode is not Mode.ON and self._infers(method):
                idle = self._idle(Idle.OVERRIDDEN, base.syntax, guard, base, method.syntax)
                yield replace(idle, victims=(method,))

    def _override_of_another_file(self, method: Function, base: Function) -> Iterator[IdleGuard]:
        """The same where the base stands in another file: the method that runs unguarded is the place to say it."""
        written = base.syntax.decorators if isinstance(base.syntax, cst.FunctionDef) else ()
        guards = (one for one in zip(base.decorators, written, strict=True) if SWITCHES.get(one[0]) is Mode.OFF)
        name, decorator = next(guards, ("", None))
        if decorator is not None and base.is_abstract and self._infers(method):
            node, expression = method.syntax, decorator.decorator
            yield IdleGuard(Idle.OVERRIDDEN, node, expression, name, Mode.OFF, base, node, (method,))

    def _infers(self, method: Function) -> bool:
        """Whether a method runs a network with gradients on, for its answer alone."""
        if self.facts.steps.trains(method):
            return False
        return any(
            self.facts.modes.records(call)
            and call not in self.facts.flows.trained
            and (self._runs_network(call) or self._calls_own_network(method, call) or _calls_given(call))
            for call in self.facts.steps.calls_in(method)
        )

    def _runs_network(self, call: Value) -> bool:
        """``net(x)``, ``net.encode(x)``: whether a network runs, be it by a method of its own that gives a graph."""
        if self.facts.steps.calls_module(call) or self.facts.extents.is_method_of_module(call):
            return True
        callee = call.callee
        is_own = callee.op is Op.ATTRIBUTE and callee.name not in torch_api.module_methods()
        return is_own and is_network(self.facts, callee.inputs[0]) and self.facts.flows.live(call) is not None

    def _calls_own_network(self, method: Function, call: Value) -> bool:
        """Whether ``self.net(x)`` is called, and what is kept there is treated as networks are.

        So is what the object was made with and is called with a tensor, where a guard says that gradients matter.
        """
        callee = call.callee
        if callee.op is not Op.ATTRIBUTE or callee.inputs[0] not in method.parameters[:1]:
            return False
        kept = [
            value
            for place in self.facts.solution.places(callee.inputs[0], callee.name)
            for value in self.facts.solution.stored.get(place, ())
        ]
        return any(
            (value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT)
            or is_network(self.facts, value)
            or (_is_given_to_object(value) and any(map(self.facts.flows.surely_tensor, call.arguments)))
            for value in kept
        )

    # -- work that runs elsewhere ----------------------------------------------------------------------------

    def _lazy(self) -> Iterator[IdleGuard]:
        for work in lazy_work(self.facts):
            value = work.value
            around = self.guards.around(value.syntax, value.function) if value.syntax is not None else None
            if around is not None and around[1].mode is Mode.OFF:
                statement, at = self.facts.statement_of(value), around[0]
                idle = self._idle(Idle.LAZY, statement, around[1], value.function, at)
                yield replace(idle, victims=work.functions, work=value)

    def _threads(self) -> Iterator[IdleGuard]:
        seen: set[cst.CSTNode] = set()
        for work in thread_work(self.facts):
            call, function = work.call, work.function
            if work.owned and function.syntax not in seen:
                seen.add(function.syntax)
                yield from self._switches(function, self.facts.statement_of(call))
            if not runs_forward(self.facts, function, work.modules) or self.facts.steps.trains(function):
                continue
            for holder, around in self._guards_of(call):
                if around[0] not in seen:
                    seen.add(around[0])
                    at = self.facts.statement_of(call)
                    idle = self._idle(Idle.THREAD, around[0], around[1], holder, at)
                    yield replace(idle, victims=(function,), work=call)

    def _guards_of(self, call: Value, hops: int = HOPS) -> Iterator[tuple[Function, tuple[cst.CSTNode, Guard]]]:
        """The guards under which a call runs, each with its function: its own, else those of the callers there."""
        around = self.guards.around(call.syntax, call.function) if call.syntax is not None else None
        if call.mode is Mode.OFF and around is not None:
            if around[1].mode is Mode.OFF:
                yield call.function, around
        elif call.mode is Mode.INHERITED and hops:
            for caller in sorted(self.facts.solution.callers.get(call.function, ()), key=lambda value: value.index):
                yield from self._guards_of(caller, hops - 1)

    def _switches(self, function: Function, started: cst.CSTNode) -> Iterator[IdleGuard]:
        """``set_grad_enabled(False)`` in a thread that runs no forward, where others do."""
        if runs_forward(self.facts, function, modes=frozenset(Mode)):
            return
        victims = tuple(
            f for f in self.facts.inferences.found if f is not function and function.owner in (None, f.owner)
        )
        for call in self.facts.steps.calls_in(function):
            if not victims or not call.is_bare or not isinstance(call.syntax, cst.Call):
                continue
            guard = self.guards.named_by(call.syntax, function)
            if guard is not None and guard.name in SETTERS and guard.mode is Mode.OFF:
                idle = self._idle(Idle.SWITCH, self.facts.statement_of(call), guard, function, started)
                yield replace(idle, victims=victims)


def _calls_given(call: Value) -> bool:
    """``model(x)``, where the caller gives the model: that it is meant, the guard of the base says."""
    return call.callee.op is Op.PARAMETER and call.callee.function is call.function and bool(call.arguments)


def _is_given_to_object(value: Value) -> bool:
    return value.op is Op.PARAMETER and value.function.name == "__init__"
