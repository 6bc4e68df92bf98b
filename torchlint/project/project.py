"""The project around the files of a run: what they import is read from disk and summarised, each definition once.

A summary depends on the text of one file alone, so neither the order in which files are asked for nor the number of
processes that ask changes it, and modules that import each other are no circle. What a definition imports in its turn
is followed where it is linked (``facts/summaries/linking.py``).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from torchlint.guarding import Guarding
from torchlint.project.bases import REEXPORTS, Bases
from torchlint.project.callers import Callers
from torchlint.project.connected import Connected
from torchlint.project.decorated import decorated_classes
from torchlint.project.excerpt import Outline, mention, only_calls, sets_anew
from torchlint.project.file_imports import FileImports
from torchlint.project.given_files import GivenFiles
from torchlint.project.guarded_parts import may_guard
from torchlint.project.guardings import Guardings
from torchlint.project.made_anew import MadeAnew
from torchlint.project.modules import INITIALIZER, Location, Modules
from torchlint.project.numbers import Numbers
from torchlint.project.passings import Passings
from torchlint.project.readers import Readers
from torchlint.project.sights import Consulted, Sights
from torchlint.project.starred import member, starred
from torchlint.project.summarised import of_unknown_shape, summarised, without_emptied
from torchlint.project.tables import Tables
from torchlint.project.texts import Texts
from torchlint.project.trees import Trees
from torchlint.screen import imports_framework, uses_torch
from torchlint.source import SIZE_LIMIT, Source, Unreadable
from torchlint.syntax.imported_names import imported_names

if TYPE_CHECKING:
    # Importing these brings libcst, which a run over files without torch does not need.
    from torchlint.diagnostic import Diagnostic
    from torchlint.facts.summaries.imports import Found, Imports, Passing
    from torchlint.facts.summaries.summary import Summary
    from torchlint.project.joining import Joined
    from torchlint.project.kept_summaries import KeptSummaries

__all__ = ["Project"]

DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
"""What defines a class or a function."""

LONGEST_EXCERPT = 100_000
"""A definition that needs more characters of its file than this is not summarised."""

MOST_SUBCLASSES = 8
"""So many classes of other files are looked at, at most, for what a base leaves open."""

MOST_DECORATED = 8
"""Which one of more classes a table gives, it does not say."""

LONGEST_WITHOUT_TORCH = 12_000
"""The same for a file that does not use torch: a meter or a helper is short, and a library of other things is not."""


class Project:
    """Summaries of what is imported, made when they are first asked for.

    Texts that are checked but are not what lies on disk (standard input, an editor's buffer, a file that is being
    repaired) are summarised from disk all the same: others see what is saved.

    Attributes:
        files: the files of the run.
        guardings, callers, readers: what these do with each other's functions and attributes.
        numbers: what numbers they pass to each other.
        bases: what the base classes of their classes do.
        connected: which of them are read as one.
    """

    def __init__(
        self,
        given: Iterable[str] = (),
        *,
        limit: int = SIZE_LIMIT,
        accounts: bool = False,
        kept: KeptSummaries | None = None,
    ) -> None:
        """Read nothing yet.

        Args:
            given: the files of the run, whose calls count.
            limit: larger files are not read at all, in bytes.
            accounts: whether :meth:`consulted` will be asked; keeping account costs a third of a file without torch.
            kept: the summaries that earlier runs made, which takes in those that this one makes.
        """
        self._limit = limit
        self._kept = kept
        self._sights = Sights(accounts=accounts)
        self._modules = Modules(self._sights)
        self._given = frozenset(map(os.path.abspath, given))
        given_files, self.bases = tuple(sorted(self._given)), Bases(self._modules, self.outline, self.tree)
        self.files = GivenFiles(
            given_files, self._modules, self._text, self.tree, self._sights, bases_of=self.bases.files_of
        )
        self.guardings = Guardings(self.files, Tables(self._modules, self.outline, self.tree, self._sights))
        self.numbers = Numbers(self.files, self.outline, self._modules.locate)
        made_anew = MadeAnew(self._modules, self.tree, self.outline, self._given)
        self.callers = Callers(self.files, made_anew, self.numbers)
        self.readers = Readers(self.files)
        self._passings = Passings(self)
        self.connected = Connected(self.files, self._text, self._modules)
        self._texts = Texts(self._saved)
        self._trees = Trees()
        self._brought: dict[tuple[str, str], tuple[bool, Collection[tuple[str, str]]]] = {}
        self._torch_users: dict[str, tuple[bool, Collection[tuple[str, str]]]] = {}
        self._outlines: dict[str, Outline | None] = {}
        self._finds: dict[tuple[str, str], tuple[Found | None, Collection[tuple[str, str]]]] = {}
        self._told: dict[tuple[str, str], bool] = {}
        self._summaries: dict[tuple[str, str, bool], Summary | None] = {}

    def open(self, path: str, *, limit: int = SIZE_LIMIT) -> Source:
        """Read a file that is to be checked; the account of what its check consults begins here.

        Args:
            path: the file; also the name kept in the result.
            limit: the largest accepted size in bytes.

        Raises:
            Unreadable: see :func:`torchlint.source.read_source`.
        """
        self._sights.begin()
        return self._sights.read(path, limit=limit)

    def consulted(self) -> Consulted | None:
        """What was looked at since :meth:`open`; None when some of it changed in the meantime, or without accounts."""
        if not self._sights.accounts:
            return None
        return self._sights.consulted(self.files.state if self._sights.asks else "")

    def summaries_made(self) -> tuple[tuple[str, str], ...]:
        """The summaries that were made since this was last asked, by key, as a cache keeps them."""
        return () if self._kept is None else self._kept.taken()

    @property
    def guards(self) -> Mapping[str, Sequence[str]]:
        """See :attr:`GuardedCalls.guards`."""
        return self.guardings.guards

    @property
    def given_state(self) -> str:
        """See :attr:`GivenFiles.state`."""
        return self.files.state

    def imports_of(self, path: str) -> Imports:
        """What the file ``path`` may import; the file itself need not exist."""
        return FileImports(self, os.path.abspath(path))

    def found_together(
        self,
        joined: Joined,
        asked: tuple[str | bool, ...],
        find: Callable[[], Mapping[str, Sequence[Diagnostic]]],
    ) -> Mapping[str, Sequence[Diagnostic]]:
        """What ``find`` finds in files that are read as one, by file; once for each thing that is asked for."""
        return self._sights.remembered(joined.found, asked, find)

    def imports_torch(self, source: Source) -> bool:
        """Whether a file imports, directly or through a package that re-exports it, a module that uses torch."""
        return self._imports_torch(os.path.abspath(source.path), source.text)

    def is_imported_with_torch(self, source: Source) -> bool:
        """Whether another file of the run that uses torch, by itself or by what it imports, imports a file."""
        importers = self.importers(source.path)
        return any(self._uses_torch(one) or self._imports_torch(one, self._text(one)) for one in importers)

    def _imports_torch(self, path: str, text: str) -> bool:
        folder = os.path.dirname(path)
        return any(
            self._sights.remembered(self._brought, (folder, name), partial(self._brings_torch, path, name))
            for name in imported_names(text)
        )

    def _brings_torch(self, importer: str, name: str) -> bool:
        location = self._modules.locate(importer, name)
        return location is not None and self._uses_torch(location.path)

    def _uses_torch(self, path: str) -> bool:
        return self._sights.remembered(self._torch_users, path, lambda: self._leads_to_torch(path))

    def _leads_to_torch(self, path: str) -> bool:
        # Packages may import each other: what is found must not depend on where one begins.
        pending, seen = [path], {path}
        while pending:
            here = pending.pop()
            text = self._text(here)
            if imports_framework(text):
                return True
            if os.path.basename(here) == INITIALIZER:
                located = (self._modules.locate(here, name) for name in imported_names(text))
                further = {there.path for there in located if there is not None} - seen
                pending += sorted(further, reverse=True)
                seen |= further
        return False

    def _text(self, path: str) -> str:
        """The text of a module; "" for one that cannot be read, which its own check reports."""
        self._sights.note(path)
        return self._texts.of(path)

    def _saved(self, path: str) -> str:
        try:
            return self._sights.read(path, limit=self._limit).text
        except Unreadable:
            return ""

    def absolute(self, importer: str, name: str) -> str:
        """See :meth:`Modules.absolute`."""
        return self._modules.absolute(importer, name)

    def starred(self, importer: str, origin: str, names: Collection[str]) -> Mapping[str, str]:
        """See :func:`~torchlint.project.starred.starred`."""
        return starred(self._modules, self.outline, importer, origin, names)

    def guarding(self, path: str, name: str) -> Guarding:
        """See :meth:`Guardings.guarding`; a base elsewhere calls methods as well, and a class below hands them on."""
        place = os.path.abspath(path)
        found = self.guardings.guarding(place, name)
        if found is not Guarding.UNSEEN:
            return found
        if self.bases.guard(place, name):
            return Guarding.ALWAYS
        return Guarding.ESCAPED if self.files.hand_out(place, name) else found

    def importers(self, path: str) -> tuple[str, ...]:
        """See :meth:`GivenFiles.importers`."""
        return self.files.importers(os.path.abspath(path))

    def passed(self, path: str, name: str) -> list[Passing]:
        """See :meth:`Passings.to`."""
        return self._passings.to(os.path.abspath(path), name)

    def may_call(self, path: str, name: str) -> bool:
        """Whether a file calls what has a name, as far as its text tells."""
        self._sights.note(path)
        return self.files.may_call(path, name)

    def subclasses(self, path: str, name: str) -> list[Found]:
        """The classes of other files of the run that name the class ``name`` of a file as a base, by file."""
        place = os.path.abspath(path)
        users = [user for user in self.importers(path) if name in self._text(user)]
        below = [(user, cls) for user in users for cls in self.bases.naming(user, place, name)]
        found = (self.find(user, f":{cls}") for user, cls in below[:MOST_SUBCLASSES])
        return [one for one in found if one is not None]

    def decorated(self, path: str, name: str) -> list[Found]:
        """The classes of the files of the run that the function ``name`` of a file decorates, by file; none of many."""
        place = os.path.abspath(path)
        found: list[Found] = []
        for user in (place, *self.importers(path)):
            tree = self.tree(user) if name in self._text(user) else None
            for decorator, cls in decorated_classes(tree) if tree is not None else ():
                meant = self.find(user, self.full_name(user, decorator) or "")
                one = (
                    self.find(user, f":{cls}")
                    if meant is not None and (meant.path, meant.name) == (place, name)
                    else None
                )
                found += [] if one is None or meant is None or meant.rest else [one]
        return found if len(found) <= MOST_DECORATED else []

    def full_name(self, path: str, name: str) -> str | None:
        """A dotted name that a file writes as the file imports it; ":Name" for what it defines itself."""
        outline, (first, _, rest) = self.outline(path), name.partition(".")
        imported = outline.imported(first) if outline is not None else None
        if imported is not None:
            return f"{imported}.{rest}" if rest else imported
        is_own = outline is not None and outline.definition(first) is not None and not rest
        return f":{name}" if is_own else None

    def find(self, importer: str, name: str) -> Found | None:
        """The definition that ``name``, imported in the file ``importer``, stands for; ":Name" is one of its own."""
        return self._sights.remembered(self._finds, (importer, name), partial(self._find, importer, name))

    def _find(self, importer: str, name: str) -> Found | None:
        own = name.removeprefix(":")
        location = self._modules.locate(importer, name) if own == name else Location(importer, (own,))
        found = None if location is None else self._define(location, REEXPORTS, {})
        if found is None or own != name or not self._is_global(found.path, found.name):
            return found
        if sets_anew(self._text(importer), found.name):
            return replace(found, summarise=partial(of_unknown_shape, found.summarise))
        emptied_by = self._emptied_by(importer, found)
        told = partial(self._summary, found.path, found.name, with_emptied=True) if emptied_by else found.summarise
        return replace(found, summarise=told, emptied_by=emptied_by)

    def _emptied_by(self, importer: str, found: Found) -> tuple[str, ...]:
        """The functions that take things out of a global, if the importing file calls one and says no more of any."""
        outline = self.outline(found.path) if self._is_emptied(found.path, found.name) else None
        emptiers = outline.emptiers(found.name) if outline is not None else ()
        text = self._text(importer) if emptiers else ""
        located = {self._modules.locate(importer, name) for name in imported_names(text)} - {None}
        others = [self._text(one.path) for one in located if one is not None and one.path != found.path]
        return emptiers if only_calls(text, emptiers) and not mention(others, found.path, emptiers) else ()

    def _define(self, location: Location, hops: int, searched: dict[Location, int]) -> Found | None:
        """What a name leads to over so many re-exports; ``searched`` says over how many nothing was found before."""
        outline = self.outline(location.path) if location.rest and hops else None
        if outline is None or searched.get(location, 0) >= hops:
            return None
        searched[location] = hops  # packages import all of each other, in circles
        name, *rest = location.rest
        if self._can_be_told(location.path, name, outline):
            return self._found(location.path, name, tuple(rest), outline)
        imported = outline.imported(name)
        candidates = [imported] if imported is not None else [member(star, name) for star in outline.stars]
        for candidate in candidates:
            there = self._modules.locate(location.path, ".".join([candidate, *rest]))
            if there is None or len(there.rest) > len(location.rest):
                continue  # no such module: its package would be asked for a name that grows with every turn
            found = self._define(there, hops - 1, searched)
            if found is not None:
                return found
        return None

    def tree_of(self, source: Source) -> ast.Module:
        """A file's tree by ``ast``; what others may import of it is noted on the way.

        Raises:
            Unreadable: the text is nested too deep.
            SyntaxError: this Python cannot parse the text.
        """
        path = os.path.abspath(source.path)
        saved = self._text(path)
        # An editor's buffer that is not saved is nothing that other files see.
        if saved != source.text:
            return self._trees.of(source.text)
        tree = self._trees.of(saved)  # of one text, two copies would be kept
        if path not in self._outlines:
            self._learn(path, saved, tree)
        return tree

    def outline(self, path: str) -> Outline | None:
        """What others may know of a file by its text; None for one that cannot be parsed."""
        self._sights.note(path)
        if path not in self._outlines:
            self.tree(path)
        return self._outlines[path]

    def tree(self, path: str) -> ast.Module | None:
        """The tree of a module; None for one that cannot be parsed, which its own check reports."""
        text = self._text(path)
        try:
            tree = self._trees.of(text)
        except (Unreadable, SyntaxError):
            self._outlines.setdefault(path, None)
            return None
        if path not in self._outlines:
            self._learn(path, text, tree)
        return tree

    def _learn(self, path: str, text: str, tree: ast.Module) -> None:
        """Note all that others may ask of a file while its tree is at hand: by then it may be gone."""
        outline = self._outlines[path] = Outline(partial(self._texts.of, path), tree)
        self.bases.learn(path, tree, may_guard=may_guard(text))
        if path in self._given and self.files.imports_others(path):
            self._passings.learn(path, tree, outline)

    def _found(self, path: str, name: str, rest: tuple[str, ...], outline: Outline) -> Found:
        from torchlint.facts.summaries.imports import Found, Kind

        kinds = dict(zip(DEFINITIONS, (Kind.CLASS, Kind.FUNCTION, Kind.FUNCTION), strict=True))
        definition = outline.definition(name)
        kind = Kind.OTHER if definition is None else kinds.get(definition, Kind.OTHER)
        return Found(path, name, kind, rest, self.imports_of(path), partial(self._summary, path, name))

    def _can_be_told(self, path: str, name: str, outline: Outline) -> bool:
        """Whether a definition can be summarised: not what is not defined there, or takes too much."""
        key = (path, name)
        if key not in self._told:
            excerpt = outline.excerpt(name)  # not kept: made again, it takes less than all of them hold
            longest = LONGEST_EXCERPT if uses_torch(outline.text) else LONGEST_WITHOUT_TORCH
            self._told[key] = excerpt is not None and len(excerpt) <= longest
        return self._told[key]

    def _summary(self, path: str, name: str, *, with_emptied: bool = False) -> Summary | None:
        key = (path, name, with_emptied)
        if key not in self._summaries:
            outline = self.outline(path)
            excerpt = outline.excerpt(name) if outline is not None else None
            summarise = summarised if self._kept is None else self._kept.of
            summary = None if excerpt is None else summarise(excerpt, name)
            summary = None if summary is None else without_emptied(summary, partial(self._is_emptied, path))
            if summary is not None and not with_emptied and self._is_emptied(path, name):
                summary = replace(summary, shape=())  # what is in it, and for how long, is that file's business
            self._summaries[key] = summary
        return self._summaries[key]

    def _is_emptied(self, path: str, name: str) -> bool:
        """Whether a file takes things out of a global of its own."""
        outline = self.outline(path)
        return outline is not None and self._is_global(path, name) and outline.empties(name)

    def _is_global(self, path: str, name: str) -> bool:
        outline = self.outline(path)
        return outline is not None and outline.definition(name) not in DEFINITIONS
