"""The files that were given to a run: which of them imports which, and which calls or defines what has a name."""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from torchlint.project.modules import INITIALIZER, Modules
from torchlint.project.sights import Sights, given_state
from torchlint.syntax.imported_names import imported_names

__all__ = ["GivenFiles"]

_DEFINITION = re.compile(r"\bdef\s+(\w+)")

_CALL = re.compile(r"\b(\w+)[ \t]*\(")

_WORD = re.compile(r"\b[^\W\d]\w*")

FEW = 8
"""So many files are looked through as fast one after the other."""

IMPORT_STEPS = 3
"""So many imports lie between a file that calls a method and the one that defines it, at most."""


class GivenFiles:
    """The files of a run, by absolute path, sorted; each is looked at when it is first asked about.

    Attributes:
        given: the paths.
        modules: finds what they import.
        text_of: reads one.
        tree_of: parses one, None where that cannot be done.
        bases_of: the files in which the classes stand from which those of one derive.
        sights: keeps account of what is looked at.
    """

    def __init__(
        self,
        given: tuple[str, ...],
        modules: Modules,
        text_of: Callable[[str], str],
        tree_of: Callable[[str], ast.Module | None],
        sights: Sights,
        *,
        bases_of: Callable[[str], frozenset[str]],
    ) -> None:
        """Look at nothing yet."""
        self.given, self.modules = given, modules
        self.text_of, self.tree_of, self.bases_of, self.sights = text_of, tree_of, bases_of, sights
        self._reached: dict[str, frozenset[str]] = {}
        self._handed_out: dict[tuple[str, str], bool] = {}
        self._known_importers: dict[str, tuple[str, ...]] = {}
        self._imported: dict[str, tuple[frozenset[str], Collection[tuple[str, str]]]] = {}
        self._known_to: dict[str, tuple[frozenset[str], Collection[tuple[str, str]]]] = {}

    @contextmanager
    def asked(self) -> Iterator[None]:
        """What is looked at within counts by itself for nothing: it matters what any file of the run does."""
        self.sights.ask_everybody()
        with self.sights.unnoted():
            yield

    def others(self, path: str) -> list[str]:
        """All files but one."""
        return [other for other in self.given if other != path]

    def calling_others(self, path: str, name: str) -> list[str]:
        """The files but one that call or define what has a name."""
        return sorted(other for other in self.calling.get(name, ()) if other != path)

    def defining_others(self, path: str, name: str) -> set[str]:
        """The files but one that define a function of a name."""
        return {other for other in self.defining.get(name, ()) if other != path}

    def mentioning_others(self, path: str, name: str) -> list[str]:
        """The files but one in which a name stands."""
        return [other for other in self.mentioning(name) if other != path]

    def mentioning(self, name: str) -> Sequence[str]:
        """The files in which a name stands, sorted."""
        return self._mentioning.get(name, ())

    def mentioning_among(self, paths: Iterable[str], name: str) -> list[str]:
        """Those of the files ``paths``, given or not, in which a name stands, in their order."""
        mentioning, word = frozenset(self.mentioning(name)), re.compile(rf"\b{re.escape(name)}\b")
        return [
            path
            for path in paths
            if (path in mentioning if path in self.all_given else word.search(self.text_of(path)) is not None)
        ]

    def reached_by(self, importer: str) -> frozenset[str]:
        """The files that a file imports, and those that these import, a few steps on."""
        if importer not in self._reached:
            found, latest = {importer}, {importer}
            for _ in range(IMPORT_STEPS):
                latest = {path for one in latest for path in self.imported_by(one)} - found
                found |= latest
            self._reached[importer] = frozenset(found)
        return self._reached[importer]

    def works_on(self, other: str, path: str) -> bool:
        """Whether the code of a file runs on objects of another one: it reaches that, or has a base of its classes."""
        return path in self.reached_by(other) or other in self.bases_of(path)

    def are_related(self, other: str, path: str) -> bool:
        """Whether a class of one of two files derives from one of the other."""
        return other in self.bases_of(path) or path in self.bases_of(other)

    def hand_out(self, path: str, name: str) -> bool:
        """Whether a file with a class below one of another takes a method ``name`` of its objects without a call."""
        importers = self.importers(path)
        self.sights.note_all(importers)
        if (path, name) not in self._handed_out:  # each class of a file may have a method of the name
            self._handed_out[path, name] = self._take(importers, path, name)
        return self._handed_out[path, name]

    def _take(self, others: Iterable[str], path: str, name: str) -> bool:
        method = re.compile(rf"\bself\.{re.escape(name)}\b(?!\s*\()")
        below = (one for one in self.mentioning_among(others, name) if f"self.{name}" in self.text_of(one))
        return any(method.search(self.text_of(one)) and path in self.bases_of(one) for one in below)

    def imports(self, importer: str, path: str) -> bool:
        """Whether a file imports another one, or a package that does."""
        return path in self.sights.remembered(self._known_to, importer, lambda: self._known_in(importer))

    def _known_in(self, importer: str) -> frozenset[str]:
        """The files that a file imports, or that a package does which it imports."""
        imported = self.imported_by(importer)
        packages = (one for one in imported if os.path.basename(one) == INITIALIZER and one != importer)
        return imported.union(*map(self.imported_by, packages))

    def importers(self, path: str) -> tuple[str, ...]:
        """The other files that import the file ``path``, or the package by which it is known, sorted."""
        importers = self.unnoted_importers(path)
        self.sights.ask(path, importers)
        return importers

    def unnoted_importers(self, path: str) -> tuple[str, ...]:
        """See :meth:`importers`; that somebody asks for them is not noted."""
        if path not in self._known_importers:
            direct = self._importers.get(path, ())
            packages = [one for one in direct if os.path.basename(one) == INITIALIZER]
            found = {*direct, *(one for package in packages for one in self._importers.get(package, ()))} - {path}
            self._known_importers[path] = tuple(sorted(found))
        return self._known_importers[path]

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        """For each file that is imported by any, those that import it."""
        found: dict[str, list[str]] = {}
        with self.sights.unnoted():
            for importer in self.given:
                for path in self.imported_by(importer):
                    found.setdefault(path, []).append(importer)
        return found

    def imports_others(self, path: str) -> bool:
        """Whether a file imports another one of the run, whose functions it may call."""
        with self.sights.unnoted():
            return any(other in self.all_given and other != path for other in self.imported_by(path))

    @cached_property
    def all_given(self) -> frozenset[str]:
        """All files of the run."""
        return frozenset(self.given)

    def imported_by(self, importer: str) -> frozenset[str]:
        """The files of the project that a file imports."""
        return self.sights.remembered(self._imported, importer, lambda: self._imports_in(importer))

    def _imports_in(self, importer: str) -> frozenset[str]:
        located = (self.modules.locate(importer, name) for name in imported_names(self.text_of(importer)))
        return frozenset(location.path for location in located if location is not None)

    def may_call(self, path: str, name: str) -> bool:
        """Whether a file of the run calls what has this name, as far as its text tells."""
        return path in self.calling.get(name, ())

    @cached_property
    def calling(self) -> dict[str, Collection[str]]:
        """The files that call or define what has a name, by that name."""
        return self._sets_by_name(_CALL)

    @cached_property
    def _mentioning(self) -> dict[str, tuple[str, ...]]:
        """The files in which a name stands, by that name, sorted."""
        return self._by_name(_WORD)

    @cached_property
    def defining(self) -> dict[str, Collection[str]]:
        """The files that define a function, by its name."""
        return self._sets_by_name(_DEFINITION)

    def _sets_by_name(self, pattern: re.Pattern[str]) -> dict[str, Collection[str]]:
        # Most names stand in a file or two, and a set takes four times as much as what holds so few.
        found = self._by_name(pattern)
        return {name: paths if len(paths) < FEW else frozenset(paths) for name, paths in found.items()}

    def _by_name(self, pattern: re.Pattern[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        with self.sights.unnoted():
            for path in self.given:
                for name in set(pattern.findall(self.text_of(path))):
                    found[name].append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    @cached_property
    def state(self) -> str:
        """The state of all files of the run, see :func:`torchlint.project.sights.given_state`."""
        with self.sights.unnoted():
            for path in self.given:
                self.text_of(path)
        return given_state([(path, self.sights.digest(path)) for path in self.given])
