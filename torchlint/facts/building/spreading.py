"""Keyword arguments that a call takes from a dictionary: ``f(**OPTIONS)``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from torchlint.facts.building.filling import FillingBuilder
from torchlint.facts.building.names import bound_targets
from torchlint.facts.values.graph import Key, Op, Value
from torchlint.syntax.tree import nodes_of, walk

CHANGING = frozenset(["update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__", "__ior__"])
"""Methods after which a dictionary no longer holds what it was written with."""


class SpreadBuilder(FillingBuilder):
    """Finds what a spread dictionary holds, where its literal is all that the program ever puts into it."""

    def spread_arguments(self, argument: cst.BaseExpression, value: Value) -> list[tuple[Key, Value]]:
        """The keyword arguments of ``**argument``; none where nobody can say what the dictionary holds.

        Only plain names are asked: those that one statement binds, and whose items nothing changes.
        """
        if not isinstance(argument, cst.Name):
            return []
        written = self._bound_to(value)
        if written is None:
            return []
        items = list(_items(written))
        if not items or not all(isinstance(key, str) for key, _ in items):
            return []
        if argument.value in self._changed:  # asked last: the whole file is gone over for it
            return []
        return [(key, self._taken(item, value)) for key, item in items]

    def _bound_to(self, value: Value) -> Value | None:
        """What a variable holds that is bound once, as a global or in a function around this one, or just here."""
        if value.op is not Op.READ:
            return value
        if value.place is None or value.name in self.declared_global:
            return None
        stored = [store.value for store in self.graph.stores if store.place == value.place]
        return stored[0] if len(stored) == 1 else None

    def _taken(self, item: Value, mapping: Value) -> Value:
        """An item as a value of the present function."""
        if item.function is self.function:
            return item
        if item.op is Op.CONSTANT:
            return self.make(Op.CONSTANT, (), item.syntax, name=item.name)
        return self.held(mapping)

    @cached_property
    def _changed(self) -> frozenset[str]:
        """The last names of all that some statement of the file changes as a dictionary."""
        return frozenset(_changed_in(self.graph.module.syntax))


def _items(written: Value) -> Iterator[tuple[Key, Value]]:
    """The keys and values of ``{"a": 1}`` and ``dict(a=1)``."""
    if written.op is Op.CONTAINER and isinstance(written.syntax, cst.Dict):
        yield from zip(written.keys, written.inputs, strict=True)
    elif written.op is Op.CALL and written.callee.op is Op.EXTERNAL and written.callee.name == "builtins.dict":
        yield from zip(written.keys[1:], written.arguments, strict=True)


def _changed_in(module: cst.CSTNode) -> Iterator[str]:
    for node in walk(module):
        kind = node.__class__
        if kind is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value in CHANGING:  # type: ignore[attr-defined]
            yield from _last_name(node.func.value)  # type: ignore[attr-defined]
        elif kind is cst.Del:
            yield from _of_items(node.target)  # type: ignore[attr-defined]
        elif kind is cst.AugAssign:
            yield from _last_name(node.target)  # type: ignore[attr-defined]
            yield from _of_items(node.target)  # type: ignore[attr-defined]
        else:
            for target in bound_targets(node):
                yield from _of_items(target)


def _of_items(target: cst.CSTNode) -> Iterator[str]:
    """The names whose items an assignment to ``target`` sets."""
    for node in nodes_of(cst.Subscript, target):
        yield from _last_name(node.value)


def _last_name(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, cst.Attribute):
        yield node.attr.value


__all__ = ["SpreadBuilder"]
