"""Tensors that begin without a graph and have one written into them: ``out = zeros(n)``, ``out[i] = layer(x)``.

The memory is that of ``out``; what is written brings its graph, so that ``out``, and all that is computed of it later,
has one. Before and after are not told apart: what is made without a graph may have either, wherever it is used.

Source: https://pytorch.org/docs/stable/notes/autograd.html, "In-place operations with autograd".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchlint import torch_api
from torchlint.facts.values.domain import Atom, Derived, History, Tensor, Unknown, is_live, sorted_values
from torchlint.facts.values.graph import Function, Mode, Op, Store, Value, ValueGraph
from torchlint.facts.values.kinds import PARTS
from torchlint.facts.values.known import Known
from torchlint.facts.values.reaching import ends, reached
from torchlint.facts.values.torch_calls import OF_WHOLE, WHOLE


@dataclass(frozen=True, slots=True)
class Write:
    """``written`` is put into the memory of ``holder``, in ``function``, with gradients as ``mode`` says."""

    holder: Value
    written: Value
    function: Function
    mode: Mode

    def brings(self, atom: Atom) -> Atom | None:
        """What the memory may be then, if what is written is ``atom``; None where it is what it was."""
        inherits = self.function if self.mode is Mode.INHERITED else None
        if is_live(atom):
            assert isinstance(atom, Tensor)
            return Tensor(History.LIVE, atom.origin, inherits or atom.inherits)
        if isinstance(atom, Derived):
            return Derived(atom.parameter, inherits or atom.inherits)
        return atom if isinstance(atom, Unknown) else None


def writes(graph: ValueGraph, stores: Iterable[Store]) -> list[Write]:
    """What is put into items by ``stores``, and what is given to methods of tensors that change them in place."""
    found = [
        Write(store.holder, store.value, store.function, store.mode)
        for store in stores
        if store.is_item and store.holder is not None
    ]
    for call in graph.of(Op.CALL):
        if changes_in_place(call):
            found += [Write(call.callee.inputs[0], given, call.function, call.mode) for given in call.arguments]
    return found


def changes_in_place(call: Value) -> bool:
    """``out.copy_(x)``: whether a CALL is of a method that changes a tensor and gives it back."""
    operation = torch_api.method(call.callee.name) if call.callee.op is Op.ATTRIBUTE else None
    return operation is not None and operation.history is torch_api.History.SELF


class WrittenTables:
    """Finds the tensors of one file that have a graph since one is written into them."""

    def __init__(self, known: Known) -> None:
        """Read once what is written; what that is, is asked with each :meth:`with_graph`."""
        self._known = known
        self._writes = [write for write in writes(known.graph, known.graph.stores) if write.mode is not Mode.OFF]

    def with_graph(self) -> Iterator[tuple[Value, Atom]]:
        """Each tensor that is seen to be made without a graph, and one that something written brings."""
        for write in self._writes:
            brought = [write.brings(atom) for atom in sorted_values(self._known.of(write.written))]
            graphs = [atom for atom in brought if atom is not None]
            tables = filter(self._takes_graph, reached([write.holder], _memory_behind)) if graphs else ()
            yield from ((table, graph) for table in tables for graph in graphs)

    def _takes_graph(self, value: Value) -> bool:
        """Whether a value is a tensor that is made here and has no graph by itself, or none but that of what is given.

        A network that writes into a copy of its input, ``out = x.clone()``, gives what has a graph whatever ``x`` is.
        """
        begins = self._known.of(value) - self._known.evidence.get(value, set())
        return (
            value.op in (Op.CALL, Op.OPERATION)
            and not _is_of_whole_numbers(value)
            and bool(begins)
            and all(isinstance(atom, Derived) or _is_without_graph(atom) for atom in begins)
        )


def begins_without_graph(known: Known, value: Value) -> bool:
    """Whether ``value`` is memory of tensors that have no graph where they are made, whatever is written into it."""
    made = (known.of(end) - known.evidence.get(end, set()) for end in ends([value], _memory_behind))
    return all(begins and all(map(_is_without_graph, begins)) for begins in made)


def _is_without_graph(atom: Atom) -> bool:
    return isinstance(atom, Tensor) and atom.history is History.NONE


def _memory_behind(value: Value) -> tuple[Value, ...]:
    """The tensors whose memory a value may be: of ``out[0]`` that of ``out``, of ``out.zero_()`` as well."""
    if value.op in PARTS or value.op is Op.NARROWED:
        return value.inputs[:1]
    if value.op is Op.PHI:
        return value.inputs
    return value.callee.inputs[:1] if value.op is Op.CALL and changes_in_place(value) else ()


def _is_of_whole_numbers(made: Value) -> bool:
    """Whether a tensor is made for whole numbers, which have no gradient: ``zeros(n, dtype=torch.long)``."""
    if made.op is not Op.CALL:
        return False
    dtype = made.argument(-1, "dtype")
    is_method = made.callee.op is Op.ATTRIBUTE and made.callee.name in ("long", "int", "bool", "byte", "short")
    return is_method or made.callee.name in OF_WHOLE or (dtype is not None and dtype.name in WHOLE)
