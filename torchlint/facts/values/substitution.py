"""What a function gives as it is at one of its calls: parameters replaced by what is passed, grad mode settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.carriers import is_made_in
from torchlint.facts.values.differentiation import differentiate, heir
from torchlint.facts.values.domain import (
    NO_GRAPH,
    SYMBOLIC,
    UNKNOWN,
    Abstract,
    Argument,
    Atom,
    Carrier,
    Container,
    Derived,
    History,
    Plain,
    Tensor,
    Unknown,
    join,
)
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.narrowed import handed_back
from torchlint.facts.values.parameters import star_of
from torchlint.facts.values.torch_calls import contents_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


class Substitution:
    """Puts what calls pass into the summaries of functions.

    Attributes:
        severed: the calls that get nothing with a graph of a function, each with the function: they tell it to cut that
            off, or give it nothing that has one; and what stands for a tensor that has one in other calls.
    """

    def __init__(self, solution: Solution) -> None:
        """Work for ``solution``."""
        self.solution = solution
        self.severed: dict[tuple[Value, Function], Abstract] = {}

    def note(self, call: Value, function: Function, tensor: Abstract | None) -> None:
        """Take down what stands for a tensor in what a CALL gets of a function, as far as that is known by now.

        ``tensor``: None where the call says nothing of that.
        """
        if tensor is not None:
            self.severed[call, function] = tensor
        else:
            self.severed.pop((call, function), None)

    def of(self, value: Value, atom: Atom, function: Function, binding: dict[Value, Value | None]) -> Abstract:
        """One alternative of a summary as it is at this call: parameters replaced, grad mode settled."""
        found = self._of(value, atom, function, binding)
        tensor = self.severed.get((value, function))
        return found if tensor is None else join(_cut_off(one, tensor) for one in found)

    def _of(self, value: Value, atom: Atom, function: Function, binding: dict[Value, Value | None]) -> Abstract:
        if isinstance(atom, SYMBOLIC) and atom.parameter.function is function:
            if star_of(atom.parameter):
                return UNKNOWN
            argument = binding.get(atom.parameter)
            given = self.solution.of(argument) if argument is not None else self._default(atom.parameter)
            if isinstance(atom, Argument):
                return handed_back(self.solution, function, atom, given)
            if not given:
                return given
            return _derived(value, contents_of(self.solution, value, given), inherits=atom.inherits is function)
        if isinstance(atom, Tensor) and (atom.inherits is function or _is_supposed_of(atom, function)):
            if self.records_nothing(value, function):
                return self.severed.get((value, function), NO_GRAPH)
            return frozenset([Tensor(atom.history, atom.origin, heir(value))])
        if self.records_nothing(value, function) and is_made_in(atom, (function,)):
            return UNKNOWN
        return frozenset([atom])

    def records_nothing(self, call: Value, function: Function) -> bool:
        """Whether what a CALL gets of a function has no graph: it is made without gradients, or told to cut it off."""
        return call.mode is Mode.OFF or (call, function) in self.severed

    def is_severed(self, call: Value) -> bool:
        """Whether a CALL tells all that it runs to cut the graph off."""
        functions = self.solution.functions_of(call)
        return bool(functions) and all((call, function) in self.severed for function in functions)

    def _default(self, parameter: Value) -> Abstract:
        return self.solution.of(parameter.inputs[0]) if parameter.inputs else UNKNOWN


def _is_supposed_of(tensor: Tensor, function: Function) -> bool:
    """Whether a tensor has a graph since a parameter of ``function`` was seen to have one in some call of it."""
    origin = tensor.origin
    return tensor.inherits is None and origin is not None and origin.op is Op.PARAMETER and origin.function is function


def _cut_off(atom: Atom, tensor: Abstract) -> Abstract:
    """What is left of an alternative that has no graph: what other calls put into a container may have one."""
    if isinstance(atom, Tensor):
        return tensor
    return UNKNOWN if isinstance(atom, Container | Carrier | Derived | Argument) else frozenset([atom])


def _derived(value: Value, given: Abstract, *, inherits: bool) -> Abstract:
    if inherits:
        return differentiate(value, [given])
    leaf, live_now = Tensor(History.LEAF), Tensor(History.LIVE, value)
    graph = [a if isinstance(a, Tensor | Plain | Unknown) else Unknown() for a in given]
    return frozenset(live_now if atom == leaf else atom for atom in graph)
