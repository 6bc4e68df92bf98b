"""What one element of an index takes of a dimension: all of it, a part, or a copy."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from torchlint.facts.keeping.bases import index_of, number_of
from torchlint.facts.keeping.numbers import number_behind
from torchlint.facts.keeping.picked import is_picked
from torchlint.facts.keeping.sizes import is_middle, is_size
from torchlint.facts.values.domain import Tensor
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.origins import agreed
from torchlint.facts.values.solve import Solution


class Indices:
    """Answers it for the indices of one file."""

    def __init__(self, solution: Solution) -> None:
        """Look up what is known of numbers in ``solution``."""
        self.solution = solution

    def of_index(self, node: cst.BaseSlice, known: Value | None, entered: Mapping[Function, Value]) -> str:
        """What one element of an index that is no range does: "part", "whole", "copy" or "unknown"."""
        assert isinstance(node, cst.Index)
        index = node.value
        if isinstance(index, cst.Ellipsis) or (isinstance(index, cst.Name) and index.value == "None"):
            return "whole"
        if number_of(index) is not None or is_middle(index):
            return "part"
        if isinstance(index, cst.List | cst.Comparison):
            return "copy"
        if known is not None and number_behind(self.solution, known, entered) is not None:
            return "part"
        atoms = self.solution.final(known) if known is not None else frozenset()
        return "copy" if atoms and all(isinstance(atom, Tensor) for atom in atoms) else "unknown"

    def of_range(self, node: cst.Slice, *, is_chosen: bool = False) -> str:
        """What a range takes: one that ends at a variable may be all, a window between two variables is a part.

        Where it ``is_chosen``, a variable leaves out something, unless it counts what is there.
        """
        if _lies_anywhere(node):
            return "part"
        taken = self.taken(node)
        if taken == "unknown":
            return "part" if is_chosen and not _counts(node) else "whole"
        return taken

    def is_open(self, part: Value) -> bool:
        """Whether every range in an index ends at a variable: it may take all."""
        taken = [self.taken(node) if isinstance(node, cst.Slice) else "part" for node in index_of(part)]
        return "part" not in taken and "unknown" in taken

    def taken(self, node: cst.Slice) -> str:
        """What a slice takes: a part when it ends, or begins, at a number that is known."""
        if node.step is not None and (number_of(node.step) or 1) > 1:
            return "part"
        lower, upper = self._bound(node.lower), self._bound(node.upper)
        if node.upper is not None and upper is None:
            return "unknown"
        if upper is not None and upper > 0:
            return "part"
        if lower is not None and lower < 0:
            return "part"
        if node.lower is not None and lower is None:
            return "unknown"
        return "whole"  # all of it, or nearly

    def is_window(self, part: Value) -> bool:
        """``x[i : i + n]``, ``x[:, top:bottom, left:right]``, and nothing else that makes it smaller."""
        slices = [node for node in index_of(part) if not _is_ellipsis(node)]
        ranges = [node for node in slices if isinstance(node, cst.Slice)]
        is_window = len(ranges) == len(slices) and any(map(_lies_anywhere, ranges))
        return is_window and "part" not in map(self.taken, ranges) and not self.is_crop(part)

    def is_picked(self, part: Value) -> bool:
        """Whether the content of a tensor says where a part begins: ``wave[start : start + n]`` for each onset."""
        begins = (
            self.solution.graph.bounds.get(one.lower)
            for one in index_of(part)
            if isinstance(one, cst.Slice) and one.lower
        )
        numbers = (*self.solution.graph.indices.get(part, ()), *filter(None, begins))
        return any(is_picked(self.solution, number) for number in numbers)

    def is_crop(self, part: Value) -> bool:
        """``frame[:, top:bottom, left:right]``: what a box says in two dimensions, and no loop counts tile by tile."""
        anywhere = [node for node in index_of(part) if isinstance(node, cst.Slice) and _lies_anywhere(node)]
        return len(anywhere) > 1 and not any(map(self._is_counted, anywhere))

    def _is_counted(self, node: cst.Slice) -> bool:
        """Whether a range begins where a loop counts: ``x[i : i + size]``, ``x[i * size : (i + 1) * size]``."""
        known = self.solution.graph.bounds.get(node.lower) if node.lower is not None else None
        if known is None:
            return not isinstance(node.lower, cst.Call)
        known = unpacked(known)
        is_counter = known.op is Op.CONSTANT and known.syntax is None
        is_of_range = known.op is Op.ELEMENT and known.inputs[0].name == "builtins.range"
        return is_counter or is_of_range or known.op in (Op.PHI, Op.OPERATION)

    def _bound(self, node: cst.BaseExpression | None) -> int | None:
        """The number at which a slice begins or ends, be it of a constant, or what all calls that are seen pass."""
        known = self.solution.graph.bounds.get(node) if node is not None else None
        if known is None:
            return number_of(node)
        is_open = known.op is Op.PARAMETER and not self.solution.callers.get(known.function)
        number = None if is_open else agreed(self.solution, known)
        return number if isinstance(number, int) else None


def _counts(node: cst.Slice) -> bool:
    """``x[: len(rows)]``, ``x[: rows.shape[0]]``: whether a bound counts something, as what cuts off padding does."""
    return any(isinstance(bound, cst.Call | cst.Subscript) for bound in (node.lower, node.upper))


def _lies_anywhere(node: cst.Slice) -> bool:
    """Whether neither bound is a number that is written there, nor the last one near the end."""
    bounds = (node.lower, node.upper)
    return None not in bounds and all(number_of(bound) is None for bound in bounds) and not _cuts_end(node.upper)


def _cuts_end(bound: cst.BaseExpression | None) -> bool:
    """``x[left:-right]``, ``x[left : x.shape[1] - right]``: only the edges are left out."""
    if isinstance(bound, cst.UnaryOperation):
        return isinstance(bound.operator, cst.Minus)
    if not isinstance(bound, cst.BinaryOperation) or not isinstance(bound.operator, cst.Subtract):
        return False
    return is_size(bound.left)


def _is_ellipsis(node: cst.BaseSlice) -> bool:
    return isinstance(node, cst.Index) and isinstance(node.value, cst.Ellipsis)
