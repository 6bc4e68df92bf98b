"""Conditions that hold in all turns but the first ones: of a counter, of a memory that fills, of a number that rises.

What stands under such a condition runs in each turn from then on, so that it is not skipped.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import assigned_in, bound_targets, paths_read, target_names
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Kind, Loop, Op, Place, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.syntax.tree import dotted, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts


class LaterTurns:
    """Says of the conditions in one file's loops whether they hold from some turn on."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts

    def are_meant(self, test: cst.BaseExpression, loop: Loop, *, holds: bool) -> bool:
        """Whether a branch is taken in all turns but the first ones.

        Args:
            test: the condition.
            loop: what repeats it.
            holds: whether the branch is taken where the condition holds, or where it does not.
        """
        return _holds_from_then_on(test, loop, holds=holds) or (holds and self._is_filled(test))

    def _is_filled(self, test: cst.BaseExpression) -> bool:
        """``if len(memory) >= batch_size:`` of a memory from which nothing is ever taken: so in all later turns.

        Or ``if memory.count > start:`` of a number that only rises.
        """
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
            return False
        other = test.comparisons[0]
        if not isinstance(other.operator, cst.GreaterThan | cst.GreaterThanEqual):
            return False
        if isinstance(test.left, cst.Attribute):
            return self._only_rises(test.left)
        call = self._lengths.get(test.left)
        if call is None or not call.arguments:
            return False
        counted = self._homes_counted(call.arguments[0])
        return not counted.isdisjoint(self._filled) and counted.isdisjoint(self._emptied)

    def _only_rises(self, node: cst.Attribute) -> bool:
        """Whether an attribute is a number to which something is added as the program goes on, and nothing else."""
        read = self._attributes.get(node)
        places = self.facts.solution.read_from(read) if read is not None else []
        set_later = [place for place in places if place in self._rising]
        return bool(set_later) and all(self._rising[place] for place in set_later)

    def _homes_counted(self, asked: Value) -> set[Place | Value]:
        """The containers whose length ``len(asked)`` is, also by an object's ``__len__``."""
        solution = self.facts.solution
        classes = [atom.cls for atom in solution.final(asked) if isinstance(atom, Instance)]
        methods = [method for cls in classes if (method := cls.method("__len__")) is not None]
        results = [one for m in methods if m.result is not None for one in m.result.inputs]
        behind = [
            r.arguments[0] for r in results if r.op is Op.CALL and r.callee.name == "builtins.len" and r.arguments
        ]
        return {home for one in (asked, *behind) for home in homes_of(solution, one)}

    @cached_property
    def _lengths(self) -> dict[cst.CSTNode, Value]:
        """The first CALL of each ``len(x)`` that is written in the file."""
        calls = ((call.syntax, call) for call in reversed(self.facts.calls()))
        return {syntax: call for syntax, call in calls if isinstance(syntax, cst.Call) and _is_len(syntax)}

    @cached_property
    def _attributes(self) -> dict[cst.CSTNode, Value]:
        """The first value of each attribute that is written in the file."""
        read = ((value.syntax, value) for value in reversed(self.facts.graph.values))
        return {syntax: value for syntax, value in read if isinstance(syntax, cst.Attribute)}

    @cached_property
    def _filled(self) -> frozenset[Place | Value]:
        """What something is put into anywhere."""
        inserts = (store for store in self.facts.graph.stores if store.kind is Kind.INSERT)
        holders = (store.holder for store in inserts if store.holder is not None)
        return frozenset(home for holder in holders for home in homes_of(self.facts.solution, holder))

    @cached_property
    def _emptied(self) -> frozenset[Place | Value]:
        """What is emptied anywhere, or something is taken from."""
        resets = self.facts.graph.resets
        return frozenset(home for reset in resets for home in homes_of(self.facts.solution, reset.holder))

    @cached_property
    def _rising(self) -> dict[Place | Value, bool]:
        """For each place that is set outside ``__init__`` whether all that is done there is to add to what it has."""
        rising: dict[Place | Value, bool] = {}
        for store in self.facts.graph.stores:
            if store.function.name != "__init__":
                adds = store.kind is Kind.UPDATE and store.value.name in ("Add", "AddAssign")
                for place in targets_of(self.facts.solution, store):
                    rising[place] = adds and rising.get(place, True)
        return rising


def counter_of(loop: cst.For) -> str | None:
    """The name under which a loop over ``range`` or ``enumerate`` counts its turns."""
    name = dotted(loop.iter.func) if isinstance(loop.iter, cst.Call) else None
    counter: cst.BaseExpression | None = loop.target if name == "range" else None
    if name == "enumerate" and isinstance(loop.target, cst.Tuple) and loop.target.elements:
        counter = loop.target.elements[0].value
    return counter.value if isinstance(counter, cst.Name) else None


def _holds_from_then_on(test: cst.BaseExpression, loop: Loop, *, holds: bool) -> bool:
    """``if step >= warmup:``, or what stands in the ``else`` of ``if step < warmup:``."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    other = test.comparisons[0]
    rising = (cst.GreaterThan, cst.GreaterThanEqual) if holds else (cst.LessThan, cst.LessThanEqual, cst.Equal)
    if not isinstance(other.operator, rising) or not isinstance(test.left, cst.Name):
        return False
    if not assigned_in(loop.syntax).isdisjoint(paths_read(other.comparator)):
        return False
    counter = counter_of(loop.syntax) if isinstance(loop.syntax, cst.For) else None
    return test.left.value == counter or _is_counted_up(test.left.value, loop.syntax)


def _is_counted_up(name: str, loop: cst.CSTNode) -> bool:
    """Whether all that a loop does to a variable is to add to it: ``step += 1``."""
    changes = [n for n in walk_scope(loop) if any(name in target_names(one) for one in bound_targets(n))]
    return bool(changes) and all(
        isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign) for node in changes
    )


def begins_late(test: cst.BaseExpression) -> bool:
    """Whether a condition is of the form of one that holds from some turn on, ``step > 0``, whatever it compares."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    (target,) = test.comparisons
    return isinstance(target.operator, cst.GreaterThan | cst.GreaterThanEqual) and not isinstance(test.left, cst.Call)


def _is_len(node: cst.Call) -> bool:
    return isinstance(node.func, cst.Name) and node.func.value == "len"
