"""What an option of a program moves to the host and leaves on the device else: ``if to_numpy: out = out.cpu()``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import assigned_in, path_of
from torchlint.facts.values.domain import Container, sorted_values
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.residence import DEVICES, Residence, Residences
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

PLACES = DEVICES | {"cpu", "gpu", "gpus", "device", "devices", "host", "offload", "accelerator", "available"}
"""Words of an option that says where tensors are to be: who sets it has decided."""


class OptionalMoves:
    """Answers which paths of one file leave on the device what others move."""

    def __init__(self, facts: Facts, residences: Residences) -> None:
        """Search in the file of ``facts``."""
        self.facts = facts
        self.solution = facts.solution
        self.residences = residences

    def left(self, item: Value, statement: cst.CSTNode, by: Loop | Function) -> list[Value]:
        """What ``item`` is where an option does not move it; nothing where none moves it, or something else does.

        Args:
            item: what is put aside.
            statement: by which statement.
            by: what repeats the statement.
        """
        alternatives = self.alternatives(item)
        moved = [one for one in alternatives if self.residences.of(one) is Residence.HOST]
        if not moved or not all(self._is_optional(one, statement, by) for one in moved):
            return []
        return [one for one in alternatives if one not in moved]

    def is_moved_somewhere(self, item: Value) -> bool:
        """Whether ``item`` is on the host on one of the paths that lead to it."""
        return any(self.residences.of(one) is Residence.HOST for one in self.alternatives(item))

    def alternatives(self, item: Value) -> list[Value]:
        """What ``item`` is on the paths of a turn that join in it; an item of one of several things is one of each."""
        return sorted(ends([item], self._joined_in), key=lambda one: one.index)

    def _joined_in(self, value: Value) -> Sequence[Value]:
        if value.op is Op.ELEMENT and value.inputs[0].op is Op.PHI:
            wholes = self.alternatives(value.inputs[0])
            return [item for whole in wholes for item in self._items(whole) or [whole]]
        return value.inputs if value.op is Op.PHI and value not in self.facts.solution.loop_variables else ()

    def _items(self, value: Value) -> list[Value]:
        """What is in the containers that ``value`` may be."""
        made = [atom.allocation for atom in sorted_values(self.solution.final(value)) if isinstance(atom, Container)]
        return [item for allocation in made for _, item in self.solution.held.get(allocation, ())]

    def _is_optional(self, moved: Value, statement: cst.CSTNode, by: Loop | Function) -> bool:
        """Whether options alone decide that something is moved before the statement is reached."""
        tests = list(self._tests(moved, statement, by))
        changing = assigned_in(by.syntax) if isinstance(by, Loop) else set[str]()
        return bool(tests) and all(_is_option(test, moved.function, changing) for test in tests)

    def _tests(self, moved: Value, statement: cst.CSTNode, by: Loop | Function) -> Iterator[cst.BaseExpression]:
        """The conditions around a value, up to what repeats it, that are not around the statement as a whole."""
        parents = self.facts.parents
        around = set[cst.CSTNode]()
        above: cst.CSTNode | None = statement
        while above is not None:
            above = parents.get(above)
            if above is not None:
                around.add(above)
        node = moved.syntax or moved.statement
        while node is not None and node is not by.syntax:
            parent = parents.get(node)
            if isinstance(parent, cst.If | cst.IfExp) and parent not in around and node is not parent.test:
                yield parent.test
            node = parent


def _is_option(test: cst.BaseExpression, function: Function, changing: set[str]) -> bool:
    """Whether a condition asks for a setting that stays as it is through all turns, and not for a place."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _is_option(test.expression, function, changing)
    if isinstance(test, cst.BooleanOperation):
        return all(_is_option(part, function, changing) for part in (test.left, test.right))
    if isinstance(test, cst.Comparison):
        others = [target.comparator for target in test.comparisons]
        if not all(map(_is_constant, others)) or _names_place(test):
            return False
        return _is_option(test.left, function, changing)
    path = path_of(test)
    if path is None or _names_place(test) or path in changing:
        return False
    first = path.partition(".")[0]
    return first in {parameter.name for parameter in function.parameters} and first not in changing


def _is_constant(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Name):
        return node.value in ("None", "True", "False")
    return isinstance(node, cst.SimpleString | cst.Integer)


def _names_place(test: cst.BaseExpression) -> bool:
    """Whether a condition mentions a device or the host."""
    names = [node.value.lower() for node in walk(test) if isinstance(node, cst.Name | cst.SimpleString)]
    return any(word in PLACES for name in names for word in name.strip("\"'").replace(":", "_").split("_"))
