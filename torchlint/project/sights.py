"""What the check of one file looked at, so that a later run can tell whether it would see the same.

A file that is read is remembered by a digest of its bytes, a name that is looked for by what stood there, also where
that was nothing. What is remembered from an earlier file's check (a module that was located) brings along all that was
looked at for it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import TypeVar

from torchlint.source import SIZE_LIMIT, Source, Unreadable, decode_source, read_bytes

__all__ = [
    "Consulted",
    "FileSight",
    "FolderSight",
    "Kind",
    "Sights",
    "Stamp",
    "digest_of",
    "given_state",
    "stamp_of",
    "text_digest",
]

Stamp = tuple[int, int, int]
"""Modification and change time in nanoseconds, size in bytes: as long as they are the same, nothing was written."""

SETTLED = 2_000_000_000
"""What was written less than so many nanoseconds ago may be written again without a new time: some file systems
count in steps of two seconds."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Kind(Enum):
    """What stands behind a name in a folder."""

    MISSING = "-"
    FILE = "f"
    FOLDER = "d"
    OTHER = "o"


@dataclass(frozen=True)
class FileSight:
    """A file as it was read.

    Attributes:
        stamp: from before it was read; None where it says nothing.
        digest: of its bytes; None for one that could not be read, or is larger than any that is read.
    """

    stamp: Stamp | None
    digest: str | None


@dataclass(frozen=True)
class FolderSight:
    """What was looked for in a folder.

    Attributes:
        stamp: from before that; None where it says nothing.
        kinds: each name that was looked for, with what stood there.
    """

    stamp: Stamp | None
    kinds: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class Consulted:
    """What the check of one file depends on besides the options; plain data, since it may come from another process.

    Attributes:
        files: the files that were read, by absolute path; the checked file is one of them.
        folders: the folders in which modules were looked for, by absolute path.
        asked: the names of functions of which it was asked who calls them with gradients off, and the absolute paths of
            files of which it was asked who imports them, each with those files.
        given: the state of all files of the run as they were then, see :func:`given_state`; "" if nothing was asked.
        whole: True when the calls in all files of the run were looked at.
    """

    files: tuple[tuple[str, FileSight], ...]
    folders: tuple[tuple[str, FolderSight], ...]
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    given: str = ""
    whole: bool = False


class Sights:
    """Looks at files and folders, and keeps an account of what one check after the other looked at."""

    def __init__(self, *, accounts: bool = True) -> None:
        """Nothing is looked at yet; without ``accounts`` files are read, and nothing is noted of them."""
        self.accounts = accounts
        self._files: dict[str, FileSight] = {}
        self._stamps: dict[str, Stamp | None] = {}
        self._kinds: dict[tuple[str, str], Kind] = {}
        self._linked: set[str] = set()
        self._unsteady: set[str] = set()
        self._notes: set[tuple[str, str]] = set()
        self._asked: dict[str, tuple[str, ...]] = {}
        self._whole, self._counts = False, True

    def read(self, path: str, *, limit: int = SIZE_LIMIT) -> Source:
        """Read and decode a file.

        Args:
            path: the file; also the name kept in the result.
            limit: the largest accepted size in bytes.

        Raises:
            Unreadable: see :func:`torchlint.source.read_source`.
        """
        if not self.accounts:
            return decode_source(read_bytes(path, limit=max(limit, SIZE_LIMIT)), path, limit=limit)
        place = os.path.abspath(path)
        self.note(place)
        before = stamp_of(place)
        try:
            data = read_bytes(path, limit=max(limit, SIZE_LIMIT))
        except Unreadable:
            self._saw(place, FileSight(None, None))
            raise
        self._saw(place, FileSight(before, digest_of(data)))
        return decode_source(data, path, limit=limit)

    def file(self, path: str) -> FileSight:
        """How a file (absolute path) is seen now, as :meth:`read` sees it."""
        with suppress(Unreadable):
            self.read(path)
        return self._files[path]

    def folder(self, path: str, names: Sequence[str]) -> FolderSight:
        """What stands behind ``names`` in a folder (absolute path)."""
        kinds = tuple((name, self.kind(path, name)) for name in names)
        return FolderSight(None if path in self._linked else self._stamps[path], kinds)

    def note(self, path: str) -> None:
        """Say that the file ``path`` (absolute), read before, is looked at again."""
        self._notes.add((path, ""))

    def note_all(self, paths: Iterable[str]) -> None:
        """Say so of some files."""
        if self.accounts:
            self._notes.update((path, "") for path in paths)

    def kind(self, folder: str, name: str) -> Kind:
        """What stands behind ``name`` in the absolute ``folder``; a link is what it leads to."""
        key = (folder, name)
        self._notes.add(key)
        if key not in self._kinds:
            if folder not in self._stamps:
                self._stamps[folder] = stamp_of(folder)
            self._kinds[key], is_link = _look(os.path.join(folder, name))
            if is_link:
                # What a link leads to may change without a trace in the folder.
                self._linked.add(folder)
        return self._kinds[key]

    def remembered(
        self, memory: dict[_Key, tuple[_Value, Collection[tuple[str, str]]]], key: _Key, find: Callable[[], _Value]
    ) -> _Value:
        """What ``find`` gives, called once for each key; what it looks at counts for everybody who asks."""
        if key not in memory:
            with self._apart(counts=True) as notes:
                found = find()
            # A set takes four times the memory, for each name of each file that imports it.
            memory[key] = (found, tuple(notes) if self.accounts else ())
        value, noted = memory[key]
        if self._counts:
            self._notes.update(noted)
        return value

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """What is looked at within is nothing that the check depends on by itself."""
        with self._apart(counts=False):
            yield

    @contextmanager
    def _apart(self, *, counts: bool) -> Iterator[set[tuple[str, str]]]:
        outer, counted = self._notes, self._counts
        self._notes, self._counts = set(), counts
        try:
            yield self._notes
        finally:
            self._notes, self._counts = outer, counted

    def ask(self, name: str, files: Sequence[str]) -> None:
        """Say that it matters which files call ``name`` with gradients off, or import the file that ``name`` is."""
        self._asked[name] = tuple(files)

    def ask_everybody(self) -> None:
        """Say that it matters what any file of the run calls."""
        self._whole = True

    @property
    def asks(self) -> bool:
        """True when the current check asked who calls its functions."""
        return bool(self._asked) or self._whole

    def digest(self, path: str) -> str | None:
        """The digest of a file (absolute path) that was read; None for one that could not be."""
        return self._files[path].digest

    def begin(self) -> None:
        """Begin a new account."""
        self._notes, self._asked, self._whole = set(), {}, False

    def consulted(self, given: str = "") -> Consulted | None:
        """The account since :meth:`begin`; None when a file changed while it was looked at.

        Args:
            given: the state of the files of the run, where something was asked of them.
        """
        files = sorted(path for path, name in self._notes if not name)
        if not self._unsteady.isdisjoint(files):
            return None
        names: dict[str, list[str]] = {}
        for folder, name in self._notes:
            if name:
                names.setdefault(folder, []).append(name)
        return Consulted(
            tuple((place, self._files[place]) for place in files),
            tuple((folder, self.folder(folder, sorted(names[folder]))) for folder in sorted(names)),
            tuple(self._asked.items()),
            given,
            self._whole,
        )

    def _saw(self, path: str, sight: FileSight) -> None:
        if self._files.setdefault(path, sight).digest != sight.digest:
            self._unsteady.add(path)


def stamp_of(path: str) -> Stamp | None:
    """The stamp of a file or a folder; None for what is missing, or was written a moment ago."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if max(status.st_mtime_ns, status.st_ctime_ns) + SETTLED > time.time_ns():
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def digest_of(data: bytes) -> str | None:
    """The digest of a file's bytes, 32 characters; None for more bytes than are read of any file."""
    return None if len(data) > SIZE_LIMIT else blake2b(data, digest_size=16).hexdigest()


def given_state(digests: Sequence[tuple[str, str | None]]) -> str:
    """One digest for all files of a run, given as pairs of an absolute path and a digest, sorted."""
    return text_digest("\0".join(f"{path}\0{digest or ''}" for path, digest in digests))


def text_digest(text: str) -> str:
    """The digest of a text, 32 characters; names of files that are not UTF-8 count as they are."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _look(path: str) -> tuple[Kind, bool]:
    """What stands behind a path, and whether it is a link."""
    try:
        mode = os.lstat(path).st_mode
        is_link = stat.S_ISLNK(mode)
    except (OSError, ValueError):
        return Kind.MISSING, False
    if is_link:
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            return Kind.MISSING, True
    if stat.S_ISREG(mode):
        return Kind.FILE, is_link
    return (Kind.FOLDER if stat.S_ISDIR(mode) else Kind.OTHER), is_link
