"""What the code under a node binds and fills, found once: a branch is asked about with each call in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set

import libcst as cst

from torchlint.facts.building.names import assigned_in, bound_targets, path_of
from torchlint.syntax.filling_names import INSERTING
from torchlint.syntax.tree import nodes_of, walk_scope, walk_statements

__all__ = ["Bindings"]


class Bindings:
    """Answers what the code under nodes of one file sets; each answer is remembered."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[tuple[Callable[[cst.CSTNode], Set[str]], cst.CSTNode], Set[str]] = {}
        self._once: dict[cst.CSTNode, Mapping[str, cst.BaseExpression]] = {}

    def assigned(self, body: cst.CSTNode) -> Set[str]:
        """The names and paths that ``body`` assigns in its own scope; see :func:`assigned_in`."""
        return self._of(assigned_in, body)

    def declared(self, body: cst.CSTNode) -> Set[str]:
        """The names that ``body`` says are ``global`` or ``nonlocal``."""
        return self._of(_declared_in, body)

    def filled(self, body: cst.CSTNode) -> Set[str]:
        """The attributes and items into which ``body`` puts something: ``self.layers`` of ``self.layers.append(x)``."""
        return self._of(_filled_in, body)

    def looked_up(self, body: cst.CSTNode) -> Set[str]:
        """The names that ``body`` binds to what it finds in a dict it fills: ``name = self.names.get(size)``."""
        return self._of(_looked_up_in, body)

    def bound_once(self, body: cst.CSTNode) -> Mapping[str, cst.BaseExpression]:
        """The variables that ``body`` binds in one assignment alone, each with what it is bound to."""
        if body not in self._once:
            self._once[body] = _bound_once_in(body)
        return self._once[body]

    def _of(self, find: Callable[[cst.CSTNode], Set[str]], body: cst.CSTNode) -> Set[str]:
        key = (find, body)
        if key not in self._known:
            self._known[key] = find(body)
        return self._known[key]


def _declared_in(body: cst.CSTNode) -> Set[str]:
    statements = (node for node in walk_statements(body) if isinstance(node, cst.Global | cst.Nonlocal))
    return {item.name.value for statement in statements for item in statement.names}


def _filled_in(body: cst.CSTNode) -> Set[str]:
    return {path for path in map(path_of, _receivers_of_more(body)) if path is not None}


def _receivers_of_more(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What the methods are called of that put something into it."""
    for call in nodes_of(cst.Call, body):
        if type(call.func) is cst.Attribute and call.func.attr.value in INSERTING:
            yield call.func.value


def _bound_once_in(body: cst.CSTNode) -> Mapping[str, cst.BaseExpression]:
    bound = [(node, target) for node in walk_scope(body) for target in bound_targets(node)]
    times = Counter(path_of(target) for _, target in bound)
    return {
        target.value: node.value
        for node, target in bound
        if type(target) is cst.Name and type(node) is cst.Assign and len(node.targets) == 1 and times[target.value] == 1
    }


def _looked_up_in(body: cst.CSTNode) -> Set[str]:
    bound = [(node, target) for node in walk_scope(body) for target in bound_targets(node)]
    filled = {path_of(target.value) for _, target in bound if type(target) is cst.Subscript}
    anew = {path_of(target) for _, target in bound}
    lasting = filled - anew
    return {
        target.value
        for node, target in bound
        if type(target) is cst.Name and type(node) is cst.Assign and _store_asked(node.value) in lasting - {None}
    }


def _store_asked(value: cst.BaseExpression) -> str | None:
    """The dict that ``self.names.get(size)`` looks into, or ``self.names.pop(size, None)``."""
    if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Attribute):
        return None
    name = value.func.attr.value
    is_asked = name == "get" or (name == "pop" and len(value.args) == 2)
    return path_of(value.func.value) if is_asked else None
