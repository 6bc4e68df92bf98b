"""Whether a backward of a file starts from what a function gives: ``loss = group_loss(...)``, ``loss.backward()``."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from torchlint.frameworks import Holds, method_names
from torchlint.project.called_names import called_names
from torchlint.project.trained import INFERRING
from torchlint.project.uses import NUMBERS
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["differentiates_result", "may_differentiate"]

_RUNS = ("backward(", "grad(")
"""How a backward is written, each as the end of a name."""

_STEPS = method_names(Holds.TRAINED) - INFERRING
"""What frameworks call, to run a backward over what it returns."""

RETURNS = 3
"""Through how many functions of a file, one in the other, a result is followed."""

_CONDITIONAL = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
_ALWAYS_RUN = frozenset(["test", "iter", "target", "subject", "finalbody"])
"""Parts of conditional statements that run whatever the condition is."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def may_differentiate(text: str) -> bool:
    """Whether a backward may start in a file, or in a framework that is given what it returns, told from its text."""
    return any(run in text for run in _RUNS) or any(f"def {step}(" in text for step in _STEPS)


def differentiates_result(tree: ast.Module, name: str) -> bool:
    """Whether a backward starts from what a call of ``name`` in a file returns, or from a variable that has it then.

    Functions of the file that return it are as good as the one of that name; what is returned to a framework that
    trains on it is differentiated. ``Criterion()`` is what is called where the objects of a class are.
    """
    names = called_names(tree, name)
    if not any(_calls(node, names) for node in walk(tree)):
        return False
    file = _File(tree)
    for _ in range(RETURNS):
        if any(file.comes_of(run, names) for run in file.runs):
            return True
        giving = {one.scope[-1].name for one in file.returned if file.comes_of(one, names)}
        if not giving.isdisjoint(_STEPS):
            return True
        if giving <= names:
            return False
        names |= giving
    return False


@dataclass(frozen=True, eq=False)
class _Use:
    """Where a file computes with something.

    Attributes:
        values: with what.
        scope: the functions around it, the innermost last.
        branches: the parts of statements around it in that function that need not run.
        position: its line and column.
    """

    values: tuple[ast.AST, ...]
    scope: tuple[_Function, ...]
    branches: frozenset[tuple[ast.AST, str]]
    position: tuple[int, int]


class _File:
    """What a file assigns, returns and differentiates.

    Attributes:
        runs: its backwards.
        returned: what its functions return, or yield.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.runs: list[_Use] = []
        self.returned: list[_Use] = []
        self._assigned: dict[tuple[tuple[_Function, ...], str], list[_Use]] = defaultdict(list)
        pending: list[tuple[ast.AST, tuple[_Function, ...], frozenset[tuple[ast.AST, str]]]] = [(tree, (), frozenset())]
        while pending:
            node, scope, branches = pending.pop()
            self._note(node, scope, branches)
            if isinstance(node, _Function):
                scope, branches = (*scope, node), frozenset()
            for part, child in _parts(node):
                pending.append((child, scope, branches | {(node, part)} if part else branches))

    def _note(self, node: ast.AST, scope: tuple[_Function, ...], branches: frozenset[tuple[ast.AST, str]]) -> None:
        """Write down what a node assigns, returns or differentiates."""
        if isinstance(node, ast.Call):
            started = _started(node)
            if started:
                self.runs.append(_Use(started, scope, branches, (node.lineno, node.col_offset)))
        elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None and scope:
            self.returned.append(_Use((node.value,), scope, branches, (node.lineno, node.col_offset)))
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values = (node.value, node.target) if isinstance(node, ast.AugAssign) else (node.value,)
            self._assign(targets, _Use(values, scope, branches, (node.lineno, node.col_offset)))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            position = (node.target.lineno, node.target.col_offset)
            self._assign([node.target], _Use((node.iter,), scope, branches, position))

    def _assign(self, targets: Sequence[ast.expr], use: _Use) -> None:
        for name in {part.id for target in targets for part in walk(target) if isinstance(part, ast.Name)}:
            self._assigned[use.scope, name].append(use)

    def comes_of(self, use: _Use, names: Set[str]) -> bool:
        """Whether what is used is computed from what a call of one of ``names`` returns."""
        pending, seen = [use], {use}
        while pending:
            current = pending.pop()
            parts = [part for value in current.values if not isinstance(value, ast.Constant) for part in _whole(value)]
            if any(_calls(part, names) for part in parts):
                return True
            read = {part.id for part in parts if isinstance(part, ast.Name)}
            fresh = [one for name in read for one in self._reaching(name, current) if one not in seen]
            seen.update(fresh)
            pending += fresh
        return False

    def _reaching(self, name: str, use: _Use) -> list[_Use]:
        """The assignments from which a variable may have what it has where it is used."""
        own = self._assigned.get((use.scope, name), [])
        reaching = []
        for one in sorted(
            (one for one in own if one.position < use.position), key=lambda one: one.position, reverse=True
        ):
            reaching.append(one)
            if one.branches <= use.branches:
                return reaching  # what was there before is overwritten
        if own:
            return reaching or own  # by an earlier turn of a loop
        around = (self._assigned.get((use.scope[:depth], name)) for depth in reversed(range(len(use.scope))))
        return next((assigned for assigned in around if assigned), [])


def _whole(value: ast.AST) -> Iterator[ast.AST]:
    """An expression and its parts, without those of which only numbers or a cut copy are taken: ``out.detach()``."""
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        asked = node.func if isinstance(node, ast.Call) else node
        if not isinstance(asked, ast.Attribute) or asked.attr not in NUMBERS:
            pending += children(node)


def _parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What stands under a node, each with the name of its part where that need not run, else with ""."""
    if not isinstance(node, _CONDITIONAL):
        yield from (("", child) for child in children(node))
        return
    for part in node._fields:
        value = getattr(node, part, None)
        inside = value if isinstance(value, list) else [value]
        need = "" if part in _ALWAYS_RUN else part
        yield from ((need, child) for child in inside if isinstance(child, ast.AST))


def _started(call: ast.Call) -> tuple[ast.AST, ...]:
    """From what a call runs a backward: ``loss.backward()``, ``engine.backward(loss)``, ``grad(loss, weights)``."""
    name = last_name(call.func)
    if name == "backward" and isinstance(call.func, ast.Attribute):
        return (call.func.value, *call.args)
    return tuple(call.args[:1]) if name == "grad" else ()


def _calls(node: ast.AST, names: Set[str]) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in names
