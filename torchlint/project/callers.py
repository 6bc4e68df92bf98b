"""Who calls a function from other files, and whether gradients are off there.

Only files that were given to the run are looked at, and only for a function of which a finding would say that no caller
guards it. A call is judged by what stands around it in its file: a ``with``, a decorator.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property

from torchlint.depth import parse_shallow
from torchlint.guarding import Guarding
from torchlint.imported import imported_names
from torchlint.project.modules import Modules
from torchlint.project.sights import Sights, given_state
from torchlint.python_tree import children
from torchlint.source import Unreadable

__all__ = ["Callers"]

_GUARD = re.compile("no_grad|inference_mode|set_grad_enabled")

GUARDS = frozenset(["no_grad", "inference_mode"])
"""What switches gradients off, by the last part of its name: torch's own and what wraps it."""


class Callers:
    """The calls in the files of a run, by the name that is called."""

    def __init__(self, given: tuple[str, ...], modules: Modules, text_of: Callable[[str], str], sights: Sights) -> None:
        """Look through the files ``given`` when first asked; ``text_of`` reads one, ``sights`` keeps account."""
        self._given = given
        self._modules = modules
        self._sights = sights
        self._text_of = text_of
        self._calls: dict[str, frozenset[tuple[str, bool]]] = {}
        self._imported: dict[str, tuple[frozenset[str], Collection[tuple[str, str]]]] = {}

    def guarding(self, path: str, name: str) -> Guarding:
        """How the other files call ``name``, a function or a method of the file ``path``.

        A file that does not import ``path`` is taken for one that calls something else of that name.
        """
        if name == "forward" or name.startswith("__"):
            return Guarding.UNSEEN  # called by other names
        guards = self.guards.get(name, ())
        self._sights.ask(name, guards)
        # Most functions are guarded nowhere, and then nobody needs to know who else calls them.
        if not any(other != path and self._imports(other, path) for other in guards):
            return Guarding.UNSEEN
        self._sights.ask_everybody()
        with self._sights.unnoted():
            others = (o for o in self._given if o != path and name in self._text_of(o) and self._imports(o, path))
            return Guarding.MIXED if any(self._calls_openly(other, name) for other in others) else Guarding.ALWAYS

    @cached_property
    def state(self) -> str:
        """The state of all files of the run, see :func:`torchlint.project.sights.given_state`."""
        with self._sights.unnoted():
            for path in self._given:
                self._text_of(path)
        return given_state([(path, self._sights.digest(path)) for path in self._given])

    @cached_property
    def guards(self) -> dict[str, list[str]]:
        """For each name that is called with gradients off anywhere, the files in which it is, sorted."""
        found: dict[str, list[str]] = {}
        with self._sights.unnoted():
            for path in self._given:
                if _GUARD.search(self._text_of(path)):
                    for name in {name for name, is_guarded in self._calls_in(path) if is_guarded}:
                        found.setdefault(name, []).append(path)
        return found

    def _calls_openly(self, path: str, name: str) -> bool:
        return any(called == name and not is_guarded for called, is_guarded in self._calls_in(path))

    def _imports(self, importer: str, path: str) -> bool:
        return path in self._sights.remembered(self._imported, importer, lambda: self._imports_in(importer))

    def _imports_in(self, importer: str) -> frozenset[str]:
        located = (self._modules.locate(importer, name) for name in imported_names(self._text_of(importer)))
        return frozenset(location.path for location in located if location is not None)

    def _calls_in(self, path: str) -> frozenset[tuple[str, bool]]:
        """The names that a file calls, each with whether gradients are off there."""
        if path not in self._calls:
            try:
                self._calls[path] = frozenset(_calls(parse_shallow(self._text_of(path))))
            except (Unreadable, SyntaxError):
                self._calls[path] = frozenset()
        return self._calls[path]


def _calls(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """The names that the code under ``tree`` calls, each with whether a guard stands around the call."""
    pending = [(tree, False)]
    while pending:
        node, is_guarded = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_guarded = any(_is_guard(decorator) for decorator in node.decorator_list)
        elif isinstance(node, ast.With) and any(_is_guard(item.context_expr) for item in node.items):
            is_guarded = True
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield name, is_guarded
        pending += [(child, is_guarded) for child in children(node)]


def _is_guard(node: ast.expr) -> bool:
    """``torch.no_grad()``, ``no_grad``, ``torch.set_grad_enabled(False)``."""
    function = node.func if isinstance(node, ast.Call) else node
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "set_grad_enabled" and isinstance(node, ast.Call):
        return any(isinstance(a, ast.Constant) and a.value is False for a in node.args)
    return name in GUARDS
