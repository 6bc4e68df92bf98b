"""From a value back along its graph, through modules and functions, to one that it may be computed from.

The state of a recurrent network comes back to where it was taken from; so may what a function of another file is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import is_graphless
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Key, Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.record_fields import makes_record

if TYPE_CHECKING:
    from torchlint.facts import Facts

TENSOR_STATES = {
    "torch.nn.GRU": 1, "torch.nn.RNN": 1, "torch.nn.GRUCell": None, "torch.nn.RNNCell": None, "torch.nn.Linear": None,
}  # fmt: skip
"""Modules of torch whose state is one tensor, and which item of what they return it is (None: all of it)."""

PAIR_STATES = {"torch.nn.LSTM": 1, "torch.nn.LSTMCell": None}
"""Those whose state is a pair of tensors."""

DEPTH = 4
"""How many functions deep a state is followed."""


class Chains:
    """Follows a graph backwards from a value, through modules and functions of the file, and only where it flows."""

    def __init__(self, facts: Facts, *, is_open: bool = False) -> None:
        """Work on ``facts``; where it ``is_open`` who calls, what is not known may have a graph."""
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self._is_open = is_open

    def comes_of(self, value: Value, goal: Value) -> bool:
        """Whether the graph of ``goal`` comes into ``value``, through a module or not."""
        return self.reaches(value, frozenset([goal]), crossed=True) is not None

    def reaches(self, value: Value, goals: frozenset[Value], *, crossed: bool = False) -> Value | None:
        """The one of ``goals`` whose graph comes through a module into ``value``, or None.

        Args:
            value: where to begin.
            goals: where to end.
            crossed: True when a module has been passed already.
        """
        ways = reached([_At(value, crossed)], lambda at: self._before(at) if at.value not in goals else ())
        return next((at.value for at in ways if at.crossed and at.value in goals), None)

    def _may_carry(self, value: Value) -> bool:
        is_open = self._is_open and not all(map(is_graphless, self.solution.final(value)))
        return is_open or self.flows.carries(value)

    def _before(self, at: _At) -> list[_At]:
        """The values from which the graph of a value comes, one step back."""
        value = at.value
        if not self._may_carry(value):
            return []
        if value.op is Op.CALL:
            return self._before_call(at)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return self._before_item(at)
        if value.op is Op.PARAMETER:
            return self._before_parameter(at)
        if value.op in (Op.READ, Op.ATTRIBUTE):
            if value.op is Op.ATTRIBUTE and self.flows.is_live_record(value.inputs[0]):
                return [at.to(value.inputs[0])]
            places = self.solution.read_from(value)
            stored = [kept for place in places for kept in self.solution.stored.get(place, ())]
            return [_At(kept, at.crossed, ()) for kept in stored or value.inputs]
        if value.op is Op.CONTAINER:
            return [at.to(item) for _, item in self.solution.held.get(value, ())]
        crossed = at.crossed or (value.op is Op.OPERATION and self._is_in_module(at))
        return [_At(source, crossed, at.calls) for source in value.inputs]

    def _is_in_module(self, at: _At) -> bool:
        """Whether a value is computed within the forward of a module of the file, and not only handed through it."""
        if self._is_open and is_forward(at.value.function):
            return True
        return any(map(self.steps.calls_module, at.calls))

    def _before_call(self, at: _At) -> list[_At]:
        call = at.value
        functions = self.solution.functions_of(call)
        if makes_record(self.solution, call):
            return [at.to(given) for given in call.arguments]  # a record has what it is made of
        if functions:
            results = [f.result for f in functions if f.result is not None]
            further = [self._into(at, call, result) for result in results] if len(at.calls) < DEPTH else []
            return further + self._through_other_files(at, call, None)
        if self._is_open and _is_of_third_file(call):
            # Who is given the state before anything is computed of it may well cut it off: `h = repackage(h)`.
            return [_At(one, at.crossed, at.calls) for one in call.arguments if not _is_given(one)]
        receiver = [call.callee.inputs[0]] if call.callee.op is Op.ATTRIBUTE else []
        computes = call.callee.op is not Op.ATTRIBUTE or call.callee.name not in SAME_OBJECT
        crossed = at.crossed or self.steps.calls_module(call) or (computes and self._is_in_module(at))
        return [_At(source, crossed, at.calls) for source in (*receiver, *call.arguments)]

    def _into(self, at: _At, call: Value, result: Value) -> _At:
        """The way on into a function of the file; what the forward of a module gives back as it is, passes none."""
        return _At(result, at.crossed, (*at.calls, call))

    def _before_item(self, at: _At) -> list[_At]:
        base, key = at.value.inputs[0], at.value.keys[0]
        functions = self.solution.functions_of(base) if base.op is Op.CALL else []
        if functions and len(at.calls) < DEPTH:
            results = [result for f in functions if f.result is not None for result in f.result.inputs]
            further = [self._into(at, base, item) for result in results for item in items_under(result, key)]
            return further + self._through_other_files(at, base, key)
        return [at.to(item) for item in items_under(base, key)]

    def _before_parameter(self, at: _At) -> list[_At]:
        if not at.calls:
            return [at.to(argument) for argument in self.solution.arguments_of(at.value)]
        *outer, call = at.calls
        given = self.solution.callers.get(at.value.function, {}).get(call, {}).get(at.value)
        return [] if given is None else [_At(given, at.crossed, tuple(outer))]

    def _through_other_files(self, at: _At, call: Value, key: Key) -> list[_At]:
        """What a call gives to functions of other files that comes back as an item of their result, with its graph."""
        chains = self.solution.graph.foreign.chains
        given = [
            self.solution.callers.get(function, {}).get(call, {}).get(function.parameters[position])
            for function in self.solution.functions_of(call)
            for item, position in chains.get(function, ())
            if None in (item, key) or item == key
        ]
        return [_At(value, True, at.calls) for value in given if value is not None]

    def of(self, function: Function) -> Iterator[tuple[Key, int]]:
        """Which parameters, by position from 0, come back through a module, and as which item of the result.

        One that may come back as it is given is no state that goes on, but what spares a second computation of it.
        """
        for result in function.result.inputs if function.result is not None else ():
            parts = zip(result.keys, result.inputs, strict=True) if result.op is Op.CONTAINER else [(None, result)]
            for key, part in parts:
                behind = self._behind_modules(part)
                for position, parameter in enumerate(function.parameters):
                    # One that is reached on the way to itself alone is not meant.
                    if parameter in behind and self.reaches(part, frozenset([parameter])) is not None:
                        if not self.hands_back(function, parameter):
                            yield key, position

    def _behind_modules(self, value: Value) -> Set[Value]:
        """All whose graph comes through a module into ``value``, be it by way of one another."""
        return {at.value for at in reached([_At(value, False)], self._before) if at.crossed}

    def hands_back(self, function: Function, parameter: Value, depth: int = DEPTH) -> bool:
        """Whether a function may return what it is given for a parameter, alone or as an item of its result."""
        results = function.result.inputs if function.result is not None else ()
        return parameter in reached(results, lambda value: self._handed_back_in(value, depth))

    def _handed_back_in(self, value: Value, depth: int) -> Sequence[Value]:
        if value.op in (Op.PHI, Op.NARROWED, Op.CONTAINER):
            # A loop is supposed to have turns, after which its variables are not what they were before.
            return value.inputs if value not in self.solution.loop_variables else ()
        return self._handed_back_by(value, depth - 1) if value.op is Op.CALL and depth > 0 else ()

    def _handed_back_by(self, call: Value, depth: int) -> list[Value]:
        """The arguments of a CALL that the functions of the file which it runs may give back."""
        return [
            argument
            for function in self.solution.functions_of(call)
            for parameter, argument in self.solution.callers.get(function, {}).get(call, {}).items()
            if argument is not None and self.hands_back(function, parameter, depth)
        ]


@dataclass(frozen=True)
class _At:
    """A value on the way, whether a module was passed, and the calls through which functions were entered."""

    value: Value
    crossed: bool
    calls: tuple[Value, ...] = ()

    def to(self, value: Value) -> _At:
        return _At(value, self.crossed, self.calls)


def _is_of_third_file(call: Value) -> bool:
    """Whether a CALL is of an imported function that neither Python nor torch defines."""
    return call.callee.op is Op.EXTERNAL and not call.callee.name.startswith(("torch", "builtins."))


def _is_given(value: Value) -> bool:
    """Whether a value may be a parameter as it is given, or an item of one."""
    ways = reached([value], lambda one: one.inputs if one.op in (Op.PHI, Op.NARROWED, Op.ELEMENT, Op.SUBSCRIPT) else ())
    return any(one.op is Op.PARAMETER for one in ways)


def items_under(value: Value, key: Key) -> list[Value]:
    """The items of a literal under ``key``; the value itself where it is none."""
    if value.op is not Op.CONTAINER:
        return [value]
    return [item for known, item in zip(value.keys, value.inputs, strict=True) if None in (known, key) or known == key]
