"""Who reads what a step leaves on an object: any code of the file that may, and the function that left it there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Op, Place, Store, Value
from torchlint.syntax.filling_names import INSERTING
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Reads:
    """Finds what reads attributes and variables of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution

    def of(self, places: list[Place]) -> list[Value]:
        """All that may read one of ``places``, also of objects about which nothing is known."""
        names = {place.path.rpartition(".")[2] for place in places}
        found = []
        for value in self._readers:
            if value.place is not None:
                found += [value] if value.place in places else []
            elif value.op is Op.CALL:
                named = constant_of(value.arguments[1].syntax) if value.arguments[1].syntax is not None else None
                found += [value] if named is None or named in names else []
            elif value.name in names:
                known = self.solution.places(value.inputs[0], value.name)
                foreign = self.solution.may_be(value.inputs[0], Instance)
                found += [value] if not foreign or any(place in places for place in known) else []
        return found

    @cached_property
    def _readers(self) -> list[Value]:
        return [
            v
            for v in self.solution.graph.values
            if v.op in (Op.READ, Op.ATTRIBUTE)
            or (v.op is Op.CALL and v.callee.name == "builtins.getattr" and len(v.arguments) > 1)
        ]

    def are_in_function_of(self, store: Store) -> bool:
        """Whether the function that stores it goes on to use it under that name (an item: the container it is in)."""
        path = dotted(store.target) if store.target is not None else None
        return path is None or any(
            isinstance(node, cst.Attribute | cst.Name)
            and dotted(node) == path
            and not (self._is_assigned(node) or self._is_filled(node))
            for node in walk(store.function.syntax)
        )

    def _is_filled(self, node: cst.CSTNode) -> bool:
        """``self.aux.update(weights=weights)`` as a statement: something is put there, and nothing read."""
        method = self.facts.parents.get(node)
        if not isinstance(method, cst.Attribute) or method.attr.value not in INSERTING:
            return False
        call = self.facts.parents.get(method)
        if not isinstance(call, cst.Call) or call.func is not method:
            return False
        return isinstance(self.facts.parents.get(call), cst.Expr)

    def _is_assigned(self, node: cst.CSTNode) -> bool:
        parent = self.facts.parents.get(node)
        if isinstance(parent, cst.Subscript) and parent.value is node:
            parent = self.facts.parents.get(parent)
        while isinstance(parent, cst.Element | cst.Tuple | cst.List):  # `self.weights, self.count = weights, n`
            parent = self.facts.parents.get(parent)
        return isinstance(parent, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.NameItem)

    def is_deleted(self, store: Store) -> bool:
        """``del self.features`` at the end of the function that set it."""
        path = dotted(store.target) if store.target is not None else None
        deleted = (node.target for node in walk(store.function.syntax) if isinstance(node, cst.Del))
        return path is not None and any(dotted(target) == path for target in deleted)
