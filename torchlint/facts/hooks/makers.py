"""What makes the instances of a class, one after the other: a step, a request, or only each trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.holders import Holders
from torchlint.facts.turns.searches import Searches
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import allocations_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


OPERATORS = tuple(f"__{name}__" for name in ("add", "sub", "mul", "matmul", "truediv", "radd", "rsub", "rmul", "neg"))
"""Methods that give a new object for an operator: https://docs.python.org/3/reference/datamodel.html"""

BUILDERS = 2
"""How many functions that build an instance for their callers are looked through."""


class Makers:
    """Finds them in one file."""

    def __init__(self, facts: Facts) -> None:
        """Ask ``facts`` how often things run."""
        self.facts = facts
        self.solution = facts.solution
        self.identity = facts.identity
        self.repetitions = facts.repetitions
        self.holders = Holders(facts)
        self._searches = Searches(facts)
        self._made: dict[Class, tuple[bool, Repetition | None]] = {}

    def made_again(self, owner: Class) -> tuple[bool, Repetition | None]:
        """Whether instances are seen to be made, and what makes one in each step."""
        if owner not in self._made:
            calls = self._calls_of(owner)
            steps = (found for call in calls if (found := self._step_of(call)) is not None)
            self._made[owner] = not all(map(self._is_handed_out, calls)), next(steps, None)
        return self._made[owner]

    def _step_of(self, call: Value) -> Repetition | None:
        """What makes a call once in each step, and lets go of what it gives."""
        found = self.repetitions.of(call) if not self._insertions_of(call) else None
        return found if found is not None and self.is_short(found) else None

    def maker(self, owner: Class, at: Value | None = None) -> tuple[Loop | Function | None, bool]:
        """What makes instances, one after the other, and whether it makes them only once for a whole training.

        ``at``: the call by which it makes them, any one without it.
        """
        repetition = self.made_again(owner)[1] if at is None else self._step_of(at)
        if repetition is not None:
            return repetition.by, False
        calls = self._calls_of(owner) if at is None else [at]
        let_go = (one for call in calls for one in self._given_up(call, BUILDERS))
        trial_of, searched = self.repetitions.trial_of, self._searches.trial_of
        ways = (trial_of, self._rollout_of, self._step_by, self._asked_by_others, searched)
        trials = (found for call in let_go for way in ways if (found := way(call)) is not None)
        return next(trials, None), True

    def gives_more(self, owner: Class) -> bool:
        """Whether the instances of a class are values of which computing makes more: ``a + b`` is a new one."""
        methods = (owner.methods[name] for name in OPERATORS if name in owner.methods)
        makers = frozenset(method for method in methods if method.result is not None)
        return any(call.function in makers and self._is_returned(call) for call in self._calls_of(owner))

    def any_turn(self, owner: Class, at: Value | None = None) -> Loop | None:
        """The loop each turn of which makes an instance and lets it go, whatever else it does; not over a few cases."""
        calls = self._calls_of(owner) if at is None else [at]
        pending, seen = [one for call in calls for one in self._given_up(call, BUILDERS)], set[Value]()
        while pending:
            call = pending.pop(0)
            within = call.loop if call.loop is not None else call.function
            if call in seen or self.facts.skipping.is_skipped(call, within):
                continue
            seen.add(call)
            if isinstance(within, Loop):
                if within.iterable is None or within.iterable.op is not Op.CONTAINER:
                    return within
            else:
                pending += sorted(self.solution.callers.get(within, ()), key=lambda value: value.index)
        return None

    def _asked_by_others(self, call: Value) -> Function | None:
        """The function in which ``call`` stands, where nobody here calls it, and another file does in a loop."""
        function = call.function
        is_asked = function.parent is not None and function.owner is None and call.loop is None
        if not is_asked or self.solution.callers.get(function) or self.facts.skipping.is_skipped(call, function):
            return None
        return function if self.facts.repeats(function.name) else None

    def _step_by(self, call: Value) -> Loop | Function | None:
        """What asks in each step for an instance that a function of many turns makes: ``flight = fly(env, net)``."""
        found = self._step_of(call)
        return found.by if found is not None else None

    def _rollout_of(self, call: Value) -> Loop | None:
        """The loop of training each turn of which runs a function with steps of its own, in which ``call`` stands."""
        function = call.function
        if call.loop is not None or not self.repetitions.holds(function):
            return None
        for caller in sorted(self.solution.callers.get(function, ()), key=lambda value: value.index):
            for loop in caller.loop.around() if caller.loop is not None else ():
                if self.repetitions.turn(loop) is Turn.TRAINS and not self.facts.skipping.is_skipped(caller, loop):
                    return loop
        return None

    def _given_up(self, made: Value, hops: int) -> Iterator[Value]:
        """What holds an instance and is not kept itself: the call that makes it, that of a builder, or a list of it."""
        whole = self._whole(made)
        leaves = self._leaves_with_result(whole) if whole is not None else ""
        if whole is not None and not leaves:
            yield whole
        elif hops and whole is made and leaves == "itself":
            for caller in sorted(self.solution.callers.get(made.function, ()), key=lambda value: value.index):
                yield from self._given_up(caller, hops - 1)

    def _whole(self, made: Value) -> Value | None:
        """The list in which an instance is in the end, or itself; None where it is put into what is not seen.

        ``kept = kept + [made]`` goes on with all that was made before.
        """
        value, seen = made, {made}
        while around := self._around(value):
            if len(around) > 1 or not around.isdisjoint(seen):
                return None
            (value,) = around
            seen.add(value)
            if value.op is Op.OPERATION and not all(one in seen or _is_part(one) for one in value.inputs):
                return None
            if value.op not in (Op.CONTAINER, Op.OPERATION):
                return None
        return value

    def _around(self, value: Value) -> set[Value]:
        """What is made of a value, or is given it, and holds it."""
        found = {user for user in value.users if user.op is Op.CONTAINER}
        if value.op in (Op.CONTAINER, Op.OPERATION):
            found |= {user for user in value.users if user.op is Op.OPERATION}
        insertions = self._insertions_of(value)
        for store in insertions:
            found |= {*allocations_of(self.solution, store.holder)} if store.holder is not None else set()
        return found if found or not insertions else {value}

    def _calls_of(self, owner: Class) -> list[Value]:
        return [call for call in self.facts.calls() if self._makes(call, owner)]

    def _insertions_of(self, value: Value) -> list[Store]:
        """The places where a value is put into something."""
        return [store for store in self.facts.stores_of.get(value, ()) if store.kind is Kind.INSERT]

    def _is_returned(self, call: Value) -> bool:
        result = call.function.result
        return result is not None and not self.identity.roots(result).isdisjoint(self.identity.roots(call))

    def _leaves_with_result(self, call: Value) -> str:
        """How what the function of ``call`` returns holds the instance that is made there, "" where it does not."""
        result = call.function.result
        return self.holders.how(result, frozenset([call])) if result is not None else ""

    def is_short(self, repetition: Repetition) -> bool:
        """Whether a turn is a step, or goes over one batch however often; in an epoch the collector comes by."""
        by = repetition.by
        if repetition.turn is not Turn.HOLDS or not isinstance(by, Loop):
            return True
        return by.iterable is not None and self.facts.steps.is_loader(by.iterable)

    def _is_handed_out(self, call: Value) -> bool:
        """Whether a call makes an instance for code that is not seen, who knows how often."""
        return not self.solution.callers.get(call.function) and self._is_returned(call)

    def _makes(self, call: Value, owner: Class) -> bool:
        atoms = self.solution.of(call.callee)
        return any(isinstance(atom, ClassReference) and owner in atom.cls.lineage() for atom in atoms)


def _is_part(value: Value) -> bool:
    """``last[:k]``, or what is made in the same turn: of what was made before there is no more than so many."""
    if value.op is Op.CONTAINER:
        return value.loop is not None
    node = value.syntax if value.op is Op.SUBSCRIPT else None
    first = node.slice[0].slice if isinstance(node, cst.Subscript) else None
    return isinstance(first, cst.Slice) and first.upper is not None
