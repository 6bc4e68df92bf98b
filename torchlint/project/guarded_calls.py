"""What the files of a run call with gradients off, and where nothing switches them off, by the name that is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from torchlint.project.given_files import GivenFiles
from torchlint.project.guarded_parts import GUARD, guarded_parts, guarded_runners
from torchlint.project.own_guards import may_define_guards, own_guards
from torchlint.project.uses import GUARDS
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["GuardedCalls"]


class GuardedCalls:
    """The calls in the files of a run, each judged by what stands around it in its file: a ``with``, a decorator."""

    def __init__(self, files: GivenFiles) -> None:
        """Look through ``files`` when first asked."""
        self._files = files
        self._open_calls: dict[str, tuple[str, ...]] = {}

    @cached_property
    def guards(self) -> dict[str, list[str]]:
        """For each name that is called with gradients off anywhere, the files in which it is, sorted.

        A function that other files call with gradients off alone calls all that it calls so, too: a trainer calls its
        callbacks under ``torch.no_grad()``, and one of them calls the simulator.
        """
        with self._files.sights.unnoted():
            mentioning = [path for path in self._files.given if self._guard_names.search(self._files.text_of(path))]
            called = {path: self._calls_in(path) for path in mentioning}
            for path, functions in self._relays(_by_name(called)).items():
                called[path] = self._calls_in(path, functions)
            return _by_name(called)

    def _relays(self, guards: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
        """The functions of files that all who import them call with gradients off, one of them at least, by file."""
        found: dict[str, set[str]] = {}
        for name, guarding in ((name, frozenset(paths)) for name, paths in guards.items()):
            for path in self._files.defining.get(name, ()) if _is_called_by_its_name(name) else ():
                importers = self._files.unnoted_importers(path)
                if not guarding.isdisjoint(importers) and not self._is_called_openly(name, {path, *importers}):
                    found.setdefault(path, set()).add(name)
        return {path: frozenset(names) for path, names in found.items()}

    def _is_called_openly(self, name: str, users: Collection[str]) -> bool:
        """Whether one of some files calls ``name`` where nothing switches gradients off."""
        return any(self.is_called_openly(one, name) for one in self._files.calling[name] if one in users)

    @cached_property
    def _own_guards(self) -> frozenset[str]:
        """The names of the guards that the files of the run define."""
        defining = (path for path in self._files.given if may_define_guards(self._files.text_of(path)))
        trees = map(self._files.tree_of, defining)
        return frozenset().union(*(own_guards(tree) for tree in trees if tree is not None))

    @property
    def switches(self) -> frozenset[str]:
        """The names of what switches gradients off."""
        return GUARDS | self._own_guards

    @cached_property
    def _guard_names(self) -> re.Pattern[str]:
        """What a file mentions that may switch gradients off."""
        return re.compile("|".join([GUARD.pattern, *map(re.escape, sorted(self._own_guards))]))

    def is_called_openly(self, path: str, name: str) -> bool:
        """Whether a file calls ``name`` where nothing in it switches gradients off."""
        if path not in self._open_calls:
            self._calls_in(path)
        return name in self._open_calls[path]

    def _calls_in(self, path: str, functions: frozenset[str] = frozenset()) -> frozenset[str]:
        """The names that a file calls where gradients are off; those called where nothing switches them off are noted.

        Gradients are off in its ``functions``. A tuple of what is noted takes a sixth of a set, for each of hundreds
        of files.
        """
        called: dict[bool, set[str]] = {True: set(), False: set()}
        tree = self._files.tree_of(path) or ast.Module([], [])
        runners = guarded_runners(tree, self.switches)
        for part, is_guarded in guarded_parts(tree, self.switches, functions):
            calls = [node for node in walk(part) if isinstance(node, ast.Call)]
            given = {id(one) for call in calls for one in _given_to(call, runners)}
            for call in calls:
                called[is_guarded or id(call) in given].add(last_name(call.func))
        self._open_calls[path] = tuple(called[False])
        return frozenset(called[True])


def _is_called_by_its_name(name: str) -> bool:
    """Whether who calls a method writes its name: a module's ``forward`` and ``__call__`` run by others."""
    return name != "forward" and not name.startswith("__")


def _by_name(called: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """The files by the names that they call, sorted."""
    found: dict[str, list[str]] = {}
    for path in sorted(called):
        for name in called[path]:
            found.setdefault(name, []).append(path)
    return found


def _given_to(call: ast.Call, runners: frozenset[str]) -> Iterator[ast.AST]:
    """The code that a call gives to a function which runs it with gradients off: ``quietly(lambda: score(net))``."""
    if runners and last_name(call.func) in runners:
        for given in call.args:
            yield from walk(given.body) if isinstance(given, ast.Lambda) else ()
