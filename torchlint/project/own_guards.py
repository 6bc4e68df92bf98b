"""Guards that a file defines, told from its text: what switches gradients off for a block, or for what it decorates.

What :mod:`torchlint.facts.building.own_guards` reads off the definitions of a file that is checked, this reads off
those of all the others, of which only the trees of Python's parser are there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.project.guarded_parts import ENTERING, GUARD, SETTER, entered_by, guarded_parts, is_guard
from torchlint.project.uses import GUARDS
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["may_define_guards", "own_guards"]

MANAGER = "contextmanager"
"""The decorator that makes a context manager of a generator."""

STACK = re.compile("ExitStack")
"""The classes that keep what they entered until they are left."""

_WRAPPING = r"def \w+\(.*\*\w+, ?\*\*\w+\)"
"""What a decorator puts in the place of a function passes on whatever it is given."""

_DEFINING = re.compile(rf"{MANAGER}|{ENTERING}|{STACK.pattern}|{_WRAPPING}|\b(?:return|class)\b.*(?:{GUARD.pattern})")
"""What stands in a text that defines a guard."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def may_define_guards(text: str) -> bool:
    """Whether a file may define a guard, told from its text: most only use those of torch."""
    return GUARD.search(text) is not None and _DEFINING.search(text) is not None


def own_guards(tree: ast.Module) -> frozenset[str]:
    """The names of the functions and classes that are guards as ``torch.no_grad`` is, on some path at least."""
    definitions = [node for node in walk(tree) if isinstance(node, _Function | ast.ClassDef)]
    found, latest = frozenset[str](), GUARDS
    while latest - found:
        found |= latest
        latest = frozenset(one.name for one in definitions if one.name not in found and _is_own_guard(one, found))
    return found - GUARDS


def _is_own_guard(definition: _Function | ast.ClassDef, guards: frozenset[str]) -> bool:
    if isinstance(definition, ast.ClassDef):
        entering = [node for node in definition.body if isinstance(node, _Function) and node.name == ENTERING]
        derives = any(is_guard(base, guards) for base in definition.bases)
        return derives or any(_enters(node, definition, guards) for node in entering)
    if any(last_name(decorator) == MANAGER for decorator in definition.decorator_list):
        return _yields_in(definition, guards) or _enters(definition, None, guards)
    last = definition.body[-1]
    if not isinstance(last, ast.Return):
        return False
    if isinstance(last.value, ast.Name) and last.value.id in _stacks_in(definition):
        return _enters(definition, None, guards)
    return _wraps(definition, guards) or any(is_guard(one, guards) for one in _calls_given(last.value))


def _stacks_in(function: _Function) -> set[str]:
    """The variables of a function that it sets to an ``ExitStack``."""
    assigns = (node for node in walk(function) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    stacks = (node for node in assigns if isinstance(node.value, ast.Call) and STACK.search(last_name(node.value.func)))
    return {last_name(target) for node in stacks for target in node.targets}


def _wraps(decorator: _Function, guards: frozenset[str]) -> bool:
    """Whether a function in a decorator calls what that is given with gradients off."""
    inner = ast.Module([node for node in decorator.body if isinstance(node, _Function)], [])
    given = {one.arg for one in decorator.args.args}
    nodes = (node for part, is_off in guarded_parts(inner, guards) if is_off for node in walk(part))
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in given for n in nodes)


def _yields_in(function: _Function, guards: frozenset[str]) -> bool:
    """``with torch.no_grad(): yield``"""
    blocks = (node for node in walk(function) if isinstance(node, ast.With))
    guarded = (block for block in blocks if any(is_guard(item.context_expr, guards) for item in block.items))
    return any(isinstance(node, ast.Yield) for block in guarded for node in walk(block))


def _enters(function: _Function, cls: ast.ClassDef | None, guards: frozenset[str]) -> bool:
    """Whether a function switches gradients off, or enters a guard, be it one that its object has."""
    calls = [node for node in walk(function) if isinstance(node, ast.Call)]
    setting = [call for call in calls if last_name(call.func) == SETTER]
    entered = (one for call in calls for part in entered_by(call) for one in _set_to(part, cls))
    return any(is_guard(one, guards) for one in [*setting, *entered])


def _set_to(entered: ast.expr, cls: ast.ClassDef | None) -> Iterator[ast.expr]:
    """An expression, or what a class sets the attribute to that it is."""
    yield entered
    if cls is not None and isinstance(entered, ast.Attribute):
        for node in walk(cls):
            if isinstance(node, ast.Assign) and any(last_name(target) == entered.attr for target in node.targets):
                yield node.value


def _calls_given(value: ast.expr | None) -> list[ast.expr]:
    """What a function gives: ``torch.no_grad() if frozen else nullcontext()``, ``torch.no_grad()(function)``."""
    if isinstance(value, ast.IfExp):
        return [*_calls_given(value.body), *_calls_given(value.orelse)]
    if isinstance(value, ast.Call):
        return [value.func if isinstance(value.func, ast.Call) else value]
    return []
