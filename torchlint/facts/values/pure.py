"""Functions that compute with what they are given and with nothing else: ``def average(xs): return sum(xs) / len(xs)``.

What such a function gives has a graph only where something that this very call gives it has one: the average of a log
has none, though that of the losses in the next line has. For tensors a summary says so by its symbols; what is in
containers is one for all calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.domain import (
    NO_GRAPH,
    UNKNOWN,
    Abstract,
    Argument,
    Atom,
    Carrier,
    Container,
    Derived,
    FunctionReference,
    Plain,
    Unknown,
    is_graphless,
    is_live,
    join,
)
from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

_COMPUTING = frozenset(
    [Op.CONSTANT, Op.PARAMETER, Op.PHI, Op.SUBSCRIPT, Op.ELEMENT, Op.OPERATION, Op.COMPARISON, Op.CONTAINER,
     Op.EXTERNAL, Op.ATTRIBUTE, Op.NARROWED]
)  # fmt: skip
"""How values come to be that depend on nothing but others."""

_HOMES = ("builtins.", "math.", "operator.", "functools.reduce", "itertools.", "statistics.", "numpy.", "typing.")
"""Where functions stand that compute with nothing but their arguments."""

_STARTING = frozenset(["requires_grad_", "retain_grad", "set_"])
"""Methods by which a tensor gets a graph of its own."""

FURTHEST = 60
"""So many alternatives are looked at of what is given, at most."""


@dataclass(frozen=True)
class _Table:
    """What is seen of functions before anything is known of their values.

    Attributes:
        impure: those that do more than compute, by what stands in them.
        reads: what each reads that stands outside it: other functions, globals.
    """

    impure: set[Function] = field(default_factory=set)
    reads: dict[Function, list[Value]] = field(default_factory=dict)


class PureFunctions:
    """Answers for the functions of one file whether they are pure, and for their calls what that makes of them."""

    def __init__(self, solution: Solution) -> None:
        """Look when first asked."""
        self._solution = solution

    def given(self, call: Value, function: Function, returned: Abstract) -> Abstract | None:
        """What stands for all that has a graph in what a CALL gets, where nothing which it gives has one.

        Args:
            call: it; it is run again when there is more in what it gives.
            function: what it runs.
            returned: what that gives in any call.

        Returns:
            that there is no graph; nothing where what is given is not known; None where something may have one.
        """
        if function.is_foreign or function.is_generator or not self._may_bring_graph(call, returned):
            return None
        used = [parameter for parameter in function.parameters if parameter.users]
        if not used or not self._is_pure(function, call, frozenset()):
            return None
        found = set[Atom]()
        for parameter in used:
            inside = self._inside(call, parameter)
            if inside is None or not all(isinstance(atom, Unknown) or is_graphless(atom) for atom in inside):
                return None
            found |= inside
        return UNKNOWN if any(isinstance(atom, Unknown) for atom in found) else NO_GRAPH

    def _is_pure(self, function: Function, call: Value, asking: frozenset[Function]) -> bool:
        """Whether a function computes with nothing but what it is given, as far as it is known what it calls.

        Args:
            function: it.
            call: is run again when there is more in what it reads.
            asking: the functions that call it, and are asked for themselves.
        """
        if function in asking:
            return True
        if function.is_foreign or function.owner is not None or function in self._table.impure:
            return False
        reads = self._table.reads.get(function, ())
        for read in reads:
            self._solution.watch(read, call)
        return all(
            isinstance(atom, Plain)
            or (isinstance(atom, FunctionReference) and self._is_pure(atom.function, call, asking | {function}))
            for read in reads
            for atom in self._solution.of(read)
        )

    @cached_property
    def _table(self) -> _Table:
        """What stands in the functions of the file."""
        table = _Table()
        for value in self._solution.graph.values:
            if value.op is Op.READ:
                table.reads.setdefault(value.function, []).append(value)
            elif value.op not in _COMPUTING and not (value.op is Op.CALL and _is_computing(value)):
                table.impure.add(value.function)
        return table

    def _may_bring_graph(self, call: Value, returned: Abstract) -> bool:
        """Whether something has a graph of what a function gives in any call, or of what is in that."""
        return any(is_live(atom) or isinstance(atom, Carrier) for atom in self._opened(call, returned)[0])

    def _inside(self, call: Value, parameter: Value) -> Abstract | None:
        """What a CALL gives for a parameter, in containers as well, and whatever its own callers give it for that.

        None where that is too much to tell.
        """
        given = self._solution.given_by(call, parameter) or parameter.inputs
        found, is_all = self._opened(call, join(map(self._solution.of, given)), through_callers=True)
        return frozenset(found) if is_all else None

    def _opened(self, call: Value, abstract: Abstract, *, through_callers: bool = False) -> tuple[set[Atom], bool]:
        """What values are and what is in them, with what stands for parameters; and whether that is all."""
        solution = self._solution
        pending, seen = [*abstract], set[Atom]()
        while pending and len(seen) < FURTHEST:
            atom = pending.pop()
            if atom in seen:
                continue
            seen.add(atom)
            if isinstance(atom, Container):
                pending += solution.load(atom.allocation, None, call)
            elif isinstance(atom, Argument | Derived) and through_callers:
                solution.watch(atom.parameter.function, call)
                for argument in solution.arguments_of(atom.parameter):
                    solution.watch(argument, call)
                    pending += solution.of(argument)
        return {atom for atom in seen if not isinstance(atom, Container | Argument | Derived)}, not pending


def _is_computing(call: Value) -> bool:
    """Whether a CALL computes with what it is given: a method of that, an operation, a function that is read."""
    callee = call.callee
    if callee.op is Op.READ:
        return True
    if callee.op is Op.ATTRIBUTE:
        return callee.name not in _STARTING
    if callee.op is not Op.EXTERNAL or "requires_grad" in call.keys:
        return False
    return callee.name.startswith(_HOMES) or torch_api.function(callee.name) is not None
