"""Where a program names a guard of torch: by what is bound there, under whatever name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from torchlint.facts.building.guards import SETTERS, SWITCHES, mode_of_guard
from torchlint.facts.building.names import bound_targets, import_names, target_names
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.wording import Wording
from torchlint.syntax.tree import walk_scope


@dataclass(frozen=True)
class Guard:
    """A mention of ``no_grad``, ``inference_mode``, ``enable_grad`` or ``set_grad_enabled``.

    Attributes:
        node: the expression.
        name: the full dotted name.
        is_called: True for ``no_grad()``, False for ``no_grad``.
        mode: what it switches gradients to.
    """

    node: cst.BaseExpression
    name: str
    is_called: bool
    mode: Mode


class Guards:
    """Reads guards from expressions, blocks and decorators."""

    def __init__(self, facts: Wording) -> None:
        """Look at nothing yet: most files have no guard."""
        self._facts = facts
        self._scopes: dict[Function, dict[str, str]] = {}

    @cached_property
    def values(self) -> dict[cst.CSTNode, Value]:
        """The values of calls and of imported names by where they are written."""
        return {v.syntax: v for v in self._facts.graph.of(Op.CALL, Op.EXTERNAL) if v.syntax is not None}

    def named_by(self, node: cst.BaseExpression, function: Function) -> Guard | None:
        """The guard of torch that an expression makes, or names without making one."""
        value = self.values.get(node)
        if isinstance(node, cst.Call):
            if value is None or value.callee.op is not Op.EXTERNAL:
                return None
            mode = mode_of_guard(value) if value.callee.name in SWITCHES or value.callee.name in SETTERS else None
            return None if mode is None else Guard(node, value.callee.name, True, mode)
        name = value.name if value is not None else self._imported(node, function)
        if name in SWITCHES or name in SETTERS:
            return Guard(node, name, False, SWITCHES.get(name, Mode.MAYBE))
        return None

    def _imported(self, node: cst.CSTNode, function: Function) -> str:
        """The full name of a variable that only imports bind, in ``function`` or in one around it."""
        if not isinstance(node, cst.Name):
            return ""
        scope: Function | None = function
        while scope is not None:
            if node.value in self._bindings(scope):
                return self._bindings(scope)[node.value]
            scope = scope.parent
        return ""

    def _bindings(self, function: Function) -> dict[str, str]:
        """What each name bound in a function's own code is: a full dotted name, "" for all but imports."""
        if function not in self._scopes:
            table = self._scopes[function] = dict[str, str]()
            for parameter in function.parameters:
                table[parameter.name] = ""
            for node in walk_scope(function.syntax):
                if type(node) is cst.Import or type(node) is cst.ImportFrom:
                    for local, full in import_names(node):
                        table.setdefault(local, full)
                elif (type(node) is cst.FunctionDef or type(node) is cst.ClassDef) and node is not function.syntax:
                    table[node.name.value] = ""
                elif type(node) is not cst.Call and not isinstance(self._facts.parents.get(node), cst.ImportAlias):
                    table.update((n, "") for target in bound_targets(node) for n in target_names(target))
        return self._scopes[function]

    def decorator(self, function: Function) -> Guard | None:
        """The guard that decorates a function, if one does."""
        if not isinstance(function.syntax, cst.FunctionDef) or function.parent is None:
            return None
        for decorator in function.syntax.decorators:
            guard = self.named_by(decorator.decorator, function.parent)
            if guard is not None and (guard.is_called or guard.name in SWITCHES):
                return guard
        return None

    def around(self, node: cst.CSTNode, function: Function) -> tuple[cst.CSTNode, Guard] | None:
        """The innermost guard in whose block (or decorated function) a node of ``function`` stands."""
        current = node
        while current is not function.syntax and current in self._facts.parents:
            current = self._facts.parents[current]
            if isinstance(current, cst.With):
                guards = self.entered(current, function)
                if guards:
                    return current, guards[-1]
        decorator = self.decorator(function)
        return (function.syntax, decorator) if decorator is not None else None

    def entered(self, node: cst.With, function: Function) -> list[Guard]:
        """The guards that a ``with`` of ``function`` enters, in order."""
        found = (self.named_by(item.item, function) for item in node.items)
        return [guard for guard in found if guard is not None and guard.is_called]
