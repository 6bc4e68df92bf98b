"""Parts of tensors: what an index takes, and how much of the whole that is."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.keeping.bases import ONLY_OF_TENSORS, Bases, index_of, number_of, slices_of
from torchlint.facts.keeping.indices import Indices
from torchlint.facts.keeping.pieces import pieces_of
from torchlint.facts.summaries.summary import ViewSummary
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.solve import Solution

__all__ = ["Parts"]


class Parts:
    """Answers it for the parts of one file."""

    def __init__(self, solution: Solution, bases: Bases, indices: Indices, *, windows: bool) -> None:
        """Look at the values of ``solution``; with ``windows`` also ``x[:n]`` and ``x[i : i + n]`` are parts."""
        self.solution = solution
        self.bases, self.indices = bases, indices
        self.windows = windows

    def told(self, call: Value) -> ViewSummary | None:
        """The view that a function of another file gives."""
        functions = self.solution.functions_of(call) if call.op is Op.CALL else []
        return self.solution.graph.foreign.views.get(functions[0]) if len(functions) == 1 else None

    def says_tensor(self, part: Value) -> bool:
        """Whether a part can only be one of a tensor (or of an array, whose views cost as much)."""
        if part.op is Op.CALL:
            told = self.told(part)
            return told is None or told.of_tensor
        if pieces_of(part.inputs[0]) is not None:
            return False
        slices = slices_of(part)
        if len(slices) > 1:
            return True
        # A slice of a list is a list; an item of a tuple may be anything.
        is_range = bool(slices) and isinstance(slices[0].slice, cst.Slice)
        return is_range and any(user.op is Op.ATTRIBUTE and user.name in ONLY_OF_TENSORS for user in part.users)

    def surely_smaller(self, part: Value, base: Value) -> bool:
        """Whether an index leaves out something, whatever the shape is likely to be."""
        told = self.told(part)
        if told is not None:
            return told.is_smaller
        if part.op is not Op.SUBSCRIPT or pieces_of(part.inputs[0]) is not None:
            return True
        if self.indices.is_window(part) and not self.windows:
            return False
        if self.windows and self.indices.is_open(part) and not self.indices.is_window(part):
            return False
        slices = [element.slice for element in slices_of(part)]
        if len(slices) != 2 or not self._runs_through(slices[0]):
            return not self.bases.is_last_state(base)
        second = slices[1]
        number = number_of(second.value) if isinstance(second, cst.Index) else None
        return number is None or number > 0 or self.bases.is_sequence(base)

    def selects_column(self, part: Value) -> bool:
        """Whether an index takes one of the columns of all rows: ``out[:, 0]``."""
        slices = index_of(part)
        return len(slices) == 2 and self._runs_through(slices[0]) and isinstance(slices[1], cst.Index)

    def _runs_through(self, first: cst.BaseSlice) -> bool:
        """Whether all rows are taken, together or, as in ``x[i, 0]``, one after the other."""
        if isinstance(first, cst.Slice):
            return self.indices.taken(first) == "whole"
        return isinstance(first, cst.Index) and isinstance(first.value, cst.Name)
