"""Which files are read as one: those that import each other, where they are few and short."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torchlint.project.given_files import GivenFiles
from torchlint.project.modules import INITIALIZER, Modules
from torchlint.screen import uses_torch
from torchlint.source import Source, Unreadable
from torchlint.syntax.depth import parse_shallow

if TYPE_CHECKING:
    from torchlint.project.joining import Joined

__all__ = ["Connected"]

MOST_FILES = 16
"""So many files are read as one, at most."""

LONGEST = 60_000
"""They have so many characters in all, at most: what is found of a text takes time in proportion, and memory."""

KEPT = 4
"""So many groups are kept, the latest: their files are checked one after the other."""

_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")


class Connected:
    """Finds them; what is given to the run and imports one of them is one of them, too."""

    def __init__(self, files: GivenFiles, text_of: Callable[[str], str], modules: Modules) -> None:
        """Look at nothing yet."""
        self._files, self._text_of, self._modules = files, text_of, modules
        self._kept: dict[tuple[tuple[str, str], ...], Joined | None] = {}

    def joined(self, source: Source) -> Joined | None:
        """A file with the others that are read as one with it; None where it is read by itself."""
        path = os.path.abspath(source.path)
        # An editor's buffer that is not saved is what is checked, and nothing that other files see.
        texts = tuple((one, source.text if one == path else self._text_of(one)) for one in self.with_file(path))
        if texts and texts not in self._kept:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[texts] = self._join(texts)
        return self._kept.get(texts)

    def _join(self, texts: Sequence[tuple[str, str]]) -> Joined | None:
        """Files as one; None where one cannot be parsed, which its own check reports."""
        # Imported here, as most files are read by themselves.
        from torchlint.project.joining import File, join

        try:
            return join([File(path, text, parse_shallow(text)) for path, text in texts], self._located)
        except (Unreadable, SyntaxError):
            return None

    def _located(self, importer: str, name: str) -> tuple[str, tuple[str, ...]] | None:
        location = self._modules.locate(importer, name)
        return None if location is None else (location.path, location.rest)

    def uses_torch(self, path: str) -> bool:
        """Whether any of the files that are read as one with the file of a path uses torch."""
        return any(uses_torch(self._text_of(one)) for one in self.with_file(os.path.abspath(path)))

    def with_file(self, path: str) -> tuple[str, ...]:
        """The files that are read as one with the file of a path, itself included, sorted.

        Nothing where it stands alone, where they are too many or too long, where one file after the other is handed
        over and none is known before, and for tests: who checks a function once on made-up rows says nothing of what it
        is used for.
        """
        if _is_test(path) or not self._files.given:
            return ()
        found, pending, length = {path}, [path], 0
        while pending:
            here = pending.pop()
            text = self._text_of(here)
            length += len(text)
            if length > LONGEST or len(found) > MOST_FILES or "\r" in text or "\f" in text:
                return ()
            near = {*self._files.imported_by(here), *self._files.importers(here), *self._packages_of(here)} - found
            near = {one for one in near if not _is_test(one)}
            found |= near
            pending += sorted(near, reverse=True)
        return tuple(sorted(found)) if len(found) > 1 else ()

    def _packages_of(self, path: str) -> list[str]:
        """The initializer that runs before a module of a package, if it says anything."""
        there = os.path.join(os.path.dirname(path), INITIALIZER)
        return [there] if there in self._files.all_given and self._text_of(there).strip() else []


def _is_test(path: str) -> bool:
    return _TEST.search(path.replace(os.sep, "/")) is not None
