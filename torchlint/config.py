"""What ``[tool.torchlint]`` and the command line say: found, checked and merged.

As in ruff, the pyproject.toml that counts for a file is the nearest one above it that has the table; others
are passed over, and nothing is inherited from one further up.
"""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from torchlint.catalog import codes
from torchlint.selection import PREFIX, Choice, Selection, resolve
from torchlint.source import SIZE_LIMIT

__all__ = [
    "TABLE",
    "BadConfig",
    "Overrides",
    "Settings",
    "anchored",
    "check_codes",
    "nearest_settings",
    "read_settings",
    "settings_of",
]

TABLE = "tool.torchlint"


class BadConfig(Exception):
    """What was asked for cannot be done: an unknown code or key, a wrong type, a file that is no TOML.

    Its text is one line that names the place and what is wrong there.
    """


@dataclass(frozen=True)
class Overrides:
    """What a command line or a caller says; None and empty mean that it says nothing.

    Attributes:
        choice: the codes, which go over those of the file.
        join, preview, notes, respect_gitignore, max_file_size (bytes), exclude: in place of the file's.
        extend_exclude: patterns besides the file's.
    """

    choice: Choice = field(default_factory=Choice)
    join: bool | None = None
    preview: bool | None = None
    notes: bool | None = None
    respect_gitignore: bool | None = None
    max_file_size: int | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """The settings in force for one folder.

    Attributes:
        choices: what the file and then the command line say of codes.
        per_file_ignores: pairs of a file pattern and the code prefixes that are off in files that match it.
        exclude, extend_exclude: patterns of files and folders that are passed over, as :func:`anchored` gives
            them; caches and environments are passed over in any case.
        respect_gitignore: False to check what .gitignore names, too.
        join: False to read each file by itself, be it with what others say of themselves.
        preview: True to run rules in preview.
        notes: True to show notes.
        max_file_size: in bytes; larger files are not checked.
        root: the folder of the pyproject.toml, to which the patterns of per_file_ignores are relative; None
            without one.
    """

    choices: tuple[Choice, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    join: bool = True
    preview: bool = False
    notes: bool = False
    max_file_size: int = SIZE_LIMIT
    root: Path | None = None

    def overridden(self, overrides: Overrides) -> Settings:
        """These settings with what ``overrides`` says in place of, or added to, what the file says."""
        given = {one.name: getattr(overrides, one.name) for one in fields(overrides)}
        choice = given.pop("choice")
        extended = self.extend_exclude + given.pop("extend_exclude")
        plain = {name: value for name, value in given.items() if value is not None}
        return replace(self, choices=(*self.choices, choice), extend_exclude=extended, **plain)

    def selection(self, path: str) -> Selection:
        """What is reported in the file named ``path`` (relative to the working directory, or absolute)."""
        ignored = [codes for pattern, codes in self.per_file_ignores if self._ignores_in(path, pattern)]
        off = tuple(prefix for prefixes in ignored for prefix in prefixes)
        return _selection(self.choices, off, self.join, self.preview, self.notes)

    def excludes(self, path: str) -> bool:
        """True when a pattern passes over this file or a folder between it and the root."""
        place, root = Path(os.path.abspath(path)), self.root or Path.cwd()
        patterns = (*self.exclude, *self.extend_exclude)
        above = [parent for parent in place.parents if parent != root and parent.is_relative_to(root)]
        return any(_fits(one, pattern) for one in (place, *above) for pattern in patterns)

    def _ignores_in(self, path: str, pattern: str) -> bool:
        """True when this pattern of per_file_ignores fits the file; "!" turns it round."""
        place, root = Path(os.path.abspath(path)), self.root or Path.cwd()
        wanted = pattern.removeprefix("!")
        fits = fnmatchcase(place.name, wanted) or _fits(place, *anchored([f"./{wanted}"], root))
        return fits != pattern.startswith("!")


def nearest_settings(folder: Path) -> Settings:
    """The settings of the nearest pyproject.toml with the table, in ``folder`` or above; else the defaults.

    Raises:
        BadConfig: that file, or one on the way to it, is broken.
    """
    return settings_of([os.fspath(folder)])[os.fspath(folder)]


def settings_of(folders: Iterable[str]) -> dict[str, Settings]:
    """As :func:`nearest_settings`, for many folders: each folder on the way is looked at once.

    Raises:
        BadConfig: a pyproject.toml is broken.
    """
    known: dict[str, Settings] = {}
    found = {}
    for folder in folders:
        # Not Path.absolute(): a folder reached through ".." would have a wrong root.
        place = os.path.abspath(folder)
        passed = []
        while place not in known:
            passed.append(place)
            above = os.path.dirname(place)
            settings = _settings_in(os.path.join(place, "pyproject.toml"))
            if settings is None and above == place:
                settings = _DEFAULTS
            if settings is not None:
                known[place] = settings
            else:
                place = above
        known.update(dict.fromkeys(passed, known[place]))
        found[folder] = known[place]
    return found


_DEFAULTS = Settings()


def read_settings(file: Path) -> Settings | None:
    """The settings of one pyproject.toml, None when it has no table of ours.

    Raises:
        BadConfig: it cannot be read, is no TOML, or holds an unknown key, an unknown code or a wrong type.
    """
    # tomllib came with Python 3.11; it is imported by string because only one of the two is ever installed.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: Mapping[str, Any] = toml.loads(file.read_bytes().decode())
    except OSError as error:
        raise BadConfig(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"{file}: not valid TOML: {_one_line(error)}") from error
    tools = document.get("tool", {})
    table = tools.get("torchlint") if isinstance(tools, dict) else None
    return None if table is None else _settings_from(table, file)


def check_codes(prefixes: Sequence[str], where: str) -> tuple[str, ...]:
    """``prefixes`` themselves, when each of them fits at least one rule.

    Args:
        prefixes: "TLK", "TLK1", "TLK101".
        where: the place for the message: "--select", "pyproject.toml: select".

    Raises:
        BadConfig: one fits none.
    """
    known = codes()
    for prefix in prefixes:
        fits = any(code.startswith(prefix) for code in known) and prefix.startswith(PREFIX)
        if not fits and prefix != PREFIX:
            raise BadConfig(f'{where}: unknown rule code {prefix!r}; "torchlint rules" lists all')
    return tuple(prefixes)


def anchored(patterns: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Patterns whose meaning no longer depends on a folder.

    Args:
        patterns: shell patterns for names ("build", "*_pb2.py"), which stay, or for paths ("src/old").
        folder: what the paths are relative to; absolute.
    """
    return tuple(
        posixpath.join(escape(folder.as_posix()), pattern.rstrip("/").removeprefix("./"))
        if "/" in pattern.rstrip("/")
        else pattern.rstrip("/")
        for pattern in patterns
    )


def _fits(place: Path, pattern: str) -> bool:
    """True when the pattern, anchored, names this file or folder by its name or by its path."""
    return fnmatchcase(place.as_posix() if "/" in pattern else place.name, pattern)


def _settings_in(file: str) -> Settings | None:
    """As :func:`read_settings`; None for a file that does not exist; not read again while unchanged."""
    try:
        state = os.stat(file)
    except (OSError, ValueError):
        return None
    return _read_once(Path(file), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _read_once(file: Path, modified: int, size: int) -> Settings | None:
    """Read ``file``; ``modified`` and ``size`` only tell its versions apart."""
    return read_settings(file)


@lru_cache(maxsize=256)
def _selection(choices: Sequence[Choice], off: tuple[str, ...], join: bool, preview: bool, notes: bool) -> Selection:
    """What is reported in every file in which the codes that begin with ``off`` are off."""
    enabled, named = resolve(choices, codes())
    kept = frozenset(code for code in enabled if not code.startswith(off))
    return Selection(enabled=kept, named=named & kept, join=join, preview=preview, notes=notes)


def _settings_from(table: object, file: Path) -> Settings:
    """Check every key of the table; raises BadConfig."""
    where = f"{file}: [{TABLE}]"
    if not isinstance(table, dict):
        raise BadConfig(f"{where} must be a table")
    for key in table:
        if key not in _READERS:
            raise BadConfig(f"{where} has the unknown key {key!r}; known are {', '.join(_READERS)}")
    values = {key: _READERS[key](value, f"{where} {key}") for key, value in table.items()}
    choice = Choice(
        select=values.pop("select", None),
        extend_select=values.pop("extend-select", ()),
        ignore=values.pop("ignore", ()),
    )
    for key in {"exclude", "extend-exclude"}.intersection(values):
        values[key] = anchored(values[key], file.parent)
    given = {key.replace("-", "_"): value for key, value in values.items()}
    return Settings(choices=(choice,), root=file.parent, **given)


def _strings(value: object, where: str) -> tuple[str, ...]:
    """A list of strings; raises BadConfig."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadConfig(f"{where} must be a list of strings")
    return tuple(value)


def _codes(value: object, where: str) -> tuple[str, ...]:
    """A list of code prefixes; raises BadConfig."""
    return check_codes(_strings(value, where), where)


def _truth(value: object, where: str) -> bool:
    """true or false; raises BadConfig."""
    if not isinstance(value, bool):
        raise BadConfig(f"{where} must be true or false")
    return value


def _size(value: object, where: str) -> int:
    """A number of bytes; raises BadConfig."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadConfig(f"{where} must be a number of bytes")
    return value


def _ignores(value: object, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A table from file patterns to code prefixes; raises BadConfig."""
    if not isinstance(value, dict):
        raise BadConfig(f"{where} must be a table of file patterns and lists of codes")
    return tuple((pattern, _codes(off, f"{where} {pattern!r}")) for pattern, off in value.items())


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "select": _codes,
    "ignore": _codes,
    "extend-select": _codes,
    "per-file-ignores": _ignores,
    "exclude": _strings,
    "extend-exclude": _strings,
    "respect-gitignore": _truth,
    "join": _truth,
    "preview": _truth,
    "notes": _truth,
    "max-file-size": _size,
}


def _one_line(error: Exception) -> str:
    """An exception's own words without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
