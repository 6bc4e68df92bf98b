"""Conditions that hold once in the life of an object: ``if self.steps == 0:`` where ``self.steps`` is only counted up.

What is assigned under one begins an attribute, whatever it is: no later step runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from torchlint.facts.building.beginnings import NOTHING
from torchlint.facts.building.names import assigned_in, bound_targets, constant_of, path_of
from torchlint.syntax.tree import dotted, nodes_of, walk, walk_scope

RAISING = frozenset([cst.AddAssign, cst.BitOrAssign])
"""``count += 1``, ``seen |= True``."""

RAISING_METHODS = frozenset(["add_", "fill_"])
"""``count.add_(1)``, ``ready.fill_(True)``, on a buffer."""

COUNTING = frozenset(["len", "size", "numel"])
"""Functions and methods that say how many there are of something."""

_COMPUTED = (cst.Call, cst.BinaryOperation, cst.UnaryOperation, cst.Integer, cst.Float)
"""What is never None: the answer of a function may be, but nobody begins anew with that."""

IS_ZERO = (cst.Equal, cst.Is, cst.LessThan, cst.LessThanEqual)
IS_MORE = (cst.NotEqual, cst.IsNot, cst.GreaterThan, cst.GreaterThanEqual)


class FirstTimes:
    """Says of the conditions of one file which hold only once for each object."""

    def __init__(self, module: cst.Module) -> None:
        """Read ``module`` when it is first asked about an attribute."""
        self._module = module

    def begun_under(self, branch: cst.If, *, holds: bool) -> frozenset[str]:
        """The attributes that one way of a condition sets, where it is taken once.

        Args:
            branch: the condition, with its ways.
            holds: False to ask of the other way.

        Returns:
            their paths, as :func:`torchlint.facts.building.names.path_of` writes them.
        """
        way = branch.body if holds else branch.orelse
        paths = frozenset(path for path in assigned_in(way) if not path.isidentifier()) if way is not None else NOTHING
        is_once = bool(paths) and (
            self._is_taken_once(branch.test, holds=holds) or self._is_begun_together(branch.test, paths, holds=holds)
        )
        return paths if is_once else NOTHING

    def _is_begun_together(self, test: cst.BaseExpression, paths: frozenset[str], *, holds: bool) -> bool:
        """``if self.mean is None: self.mean, self.spread = x.mean(), x.std()``, where nothing makes it None again."""
        if (
            not isinstance(test, cst.Comparison)
            or len(test.comparisons) != 1
            or not isinstance(test.left, cst.Attribute)
        ):
            return False
        target = test.comparisons[0]
        is_none = isinstance(target.operator, cst.Is if holds else cst.IsNot) and dotted(target.comparator) == "None"
        return is_none and path_of(test.left) in paths and test.left.attr.value in self._kept

    def _is_taken_once(self, test: cst.BaseExpression, *, holds: bool) -> bool:
        if type(test) is cst.UnaryOperation and isinstance(test.operator, cst.Not):
            return self._is_taken_once(test.expression, holds=not holds)
        if type(test) is cst.BooleanOperation:
            ways = [self._is_taken_once(part, holds=holds) for part in (test.left, test.right)]
            return any(ways) if isinstance(test.operator, cst.And) is holds else all(ways)
        asked: cst.BaseExpression | None = None if holds else test
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            asked = _zero_by(test, test.comparisons[0], holds=holds)
        if isinstance(asked, cst.Call) and isinstance(asked.func, cst.Attribute) and asked.func.attr.value == "item":
            asked = asked.func.value
        return isinstance(asked, cst.Attribute) and path_of(asked) is not None and asked.attr.value in self._raised

    @cached_property
    def _kept(self) -> frozenset[str]:
        """The attributes that are only set to what is computed, and so to nothing that is None, from then on."""
        made: dict[str, bool] = {}
        for name, node, target in self._settings():
            changes = isinstance(node, cst.AugAssign | cst.Call)  # what is added to, or changed in place, is something
            made[name] = made.get(name, True) and (changes or isinstance(_set_to(node, target), _COMPUTED))
        return frozenset(name for name, only in made.items() if only)

    @cached_property
    def _raised(self) -> frozenset[str]:
        """The attributes that are zero or False where an object is made, and only ever raised from then on."""
        rises: dict[str, bool] = {}
        for name, node, target in self._settings():
            rises[name] = rises.get(name, True) and _raises(node, target)
        return frozenset(name for name, only in rises.items() if only)

    def _settings(self) -> Iterator[tuple[str, cst.CSTNode, cst.Attribute]]:
        """Each attribute that is set once an object is made, with what sets it, and how it is written there."""
        beginning = {
            node
            for function in nodes_of(cst.FunctionDef, self._module)
            if function.name.value == "__init__"
            for node in walk_scope(function.body)
        }
        for node in walk(self._module):
            for target in bound_targets(node):
                if isinstance(target, cst.Attribute) and node not in beginning:
                    yield target.attr.value, node, target


def _set_to(node: cst.CSTNode, target: cst.Attribute) -> cst.BaseExpression | None:
    """What is assigned to an attribute, be it one of several: ``self.low, self.high = x.min(), x.max()``."""
    if not isinstance(node, cst.Assign | cst.AnnAssign):
        return None
    whole = node.targets[0].target if isinstance(node, cst.Assign) else target
    if whole is target or node.value is None:
        return node.value
    if not isinstance(whole, cst.Tuple) or not isinstance(node.value, cst.Tuple):
        return None
    pairs = zip(whole.elements, node.value.elements, strict=False)
    return next((given.value for one, given in pairs if one.value is target), None)


def _zero_by(test: cst.Comparison, target: cst.ComparisonTarget, *, holds: bool) -> cst.BaseExpression | None:
    """What is zero, or False, where ``count == 0`` or ``count < 1`` holds; None for all else."""
    if not isinstance(target.operator, IS_ZERO if holds else IS_MORE):
        return None
    lowest = 1 if isinstance(target.operator, cst.LessThan | cst.GreaterThanEqual) else 0
    is_false = lowest == 0 and dotted(target.comparator) == "False"
    return test.left if is_false or constant_of(target.comparator) == lowest else None


def _raises(node: cst.CSTNode, target: cst.Attribute) -> bool:
    """``self.count += 1``, ``self.count = self.count + 1``, ``self.ready = True``, ``self.ready.fill_(True)``."""
    if isinstance(node, cst.AugAssign):
        return type(node.operator) in RAISING and _is_more(node.value)
    if isinstance(node, cst.Assign):
        value = node.value
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            return path_of(value.left) == path_of(target) and _is_more(value.right)
        return _is_more(value)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or len(node.args) != 1:
        return False
    return node.func.attr.value in RAISING_METHODS and _is_more(node.args[0].value)


def _is_more(node: cst.BaseExpression) -> bool:
    """``True``, a number above zero, how many there are of something: ``x.shape[0]``, ``len(x)``."""
    if isinstance(node, cst.Integer):
        return constant_of(node) != 0
    if isinstance(node, cst.Subscript):
        return (dotted(node.value) or "").endswith(".shape")
    if isinstance(node, cst.Call):
        return (dotted(node.func) or "").rpartition(".")[2] in COUNTING
    return isinstance(node, cst.Name) and node.value == "True"
