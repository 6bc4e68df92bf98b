"""From paths to files: what is checked below a folder, and what is passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["CACHE_FOLDER", "DEFAULT_EXCLUDE", "Discovered", "discover", "is_excluded_folder"]

CACHE_FOLDER = ".torchlint_cache"
"""What earlier runs found is kept in a folder of this name."""

DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pants.d", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", "*.egg", "*.egg-info",
    "CVS", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules",
    "site-packages", "venv", CACHE_FOLDER,
)  # fmt: skip
"""Folders that hold no source of the user's own; passed over whatever else is excluded. A "*" only begins a name."""

# Compared by hand, since this is asked of every folder of a tree and shell patterns cost ten times as much.
_NAMES = frozenset(os.path.normcase(pattern) for pattern in DEFAULT_EXCLUDE if not pattern.startswith("*"))
_ENDINGS = tuple(os.path.normcase(pattern[1:]) for pattern in DEFAULT_EXCLUDE if pattern.startswith("*"))


@dataclass(frozen=True)
class Discovered:
    """What was found.

    Attributes:
        files: paths of files in a fixed order, each file once; names that are not UTF-8 as ``os.fsdecode``
            gives them.
        missing: the given paths that do not exist.
        unreadable: for each folder that cannot be listed its path and the reason: "Permission denied".
    """

    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


def discover(paths: Sequence[str], *, exclude: Sequence[str] = (), respect_gitignore: bool = True) -> Discovered:
    """Find the files to check.

    A given file is taken whatever its name. Below a given folder all files that end in ``.py`` are taken, in
    the order of their names, apart from what is excluded; linked folders and virtual environments are passed
    over.

    Args:
        paths: files and folders; "." gives paths without a leading "./".
        exclude: besides ``DEFAULT_EXCLUDE``, shell patterns for names of files and folders below the given
            ones, or with a slash for their paths, as given or absolute.
        respect_gitignore: pass over what the ``.gitignore`` files exclude, up to the root of the repository.
    """
    found: dict[str, str] = {}
    missing: list[str] = []
    unreadable: list[tuple[str, str]] = []
    for path in paths:
        kind = _kind(path)
        if kind == "missing":
            missing.append(path)
        elif kind == "file":
            found.setdefault(os.path.abspath(path), path)
        else:
            above, start = os.path.abspath(path), "" if path == os.curdir else os.path.join(path, "")
            for file in _walk(path, exclude, respect_gitignore, unreadable):
                # What is joined below an absolute path is absolute: taking each apart again costs more than the walk.
                found.setdefault(os.path.join(above, file[len(start) :]), file)
    return Discovered(tuple(found.values()), tuple(missing), tuple(unreadable))


def is_excluded_folder(name: str) -> bool:
    """Whether folders of this name are passed over in any case."""
    plain = os.path.normcase(name)
    return plain in _NAMES or plain.endswith(_ENDINGS)


@dataclass(frozen=True)
class _Ignore:
    """One ``.gitignore``: the absolute path of its folder, and what it says."""

    folder: str
    spec: GitIgnoreSpec


@dataclass(frozen=True)
class _Folder:
    """A folder of the walk, with the ``.gitignore`` files that count for it, the innermost first."""

    path: str
    ignores: tuple[_Ignore, ...]


def _kind(path: str) -> str:
    """ "folder", "file" or "missing"; what cannot be looked at is left to whoever opens it."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return "missing"
    except OSError:
        return "file"
    return "folder" if os.path.isdir(path) else "file"


def _walk(
    path: str, exclude: Sequence[str], respect_gitignore: bool, unreadable: list[tuple[str, str]]
) -> Iterator[str]:
    """The files below one given folder; what cannot be listed is added to ``unreadable``."""
    above = _ignores_above(os.path.abspath(path)) if respect_gitignore else ()
    pending: list[str | _Folder] = [_Folder("" if path == os.curdir else path, above)]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            yield entry
            continue
        try:
            with os.scandir(entry.path or os.curdir) as listing:
                items = sorted(listing, key=_name, reverse=True)
        except OSError as error:
            unreadable.append((entry.path or path, error.strerror or str(error)))
            continue
        names = {item.name for item in items}
        if "pyvenv.cfg" in names and entry.path not in ("", path):
            continue
        ignores = _ignores_inside(entry, names) if respect_gitignore else ()
        for item in items:
            is_folder = _is_folder(item)
            if is_folder is None or (is_folder and is_excluded_folder(item.name)):
                continue
            place = os.path.join(entry.path, item.name)
            if (exclude and _excluded(place, exclude)) or (ignores and _ignored(place, is_folder, ignores)):
                continue
            pending.append(_Folder(place, ignores) if is_folder else place)


def _name(item: os.DirEntry[str]) -> str:
    return item.name


def _is_folder(item: os.DirEntry[str]) -> bool | None:
    """Whether a name in a folder is a folder; None when it is neither one nor a Python file."""
    try:
        if item.is_dir(follow_symlinks=False):
            return True
        return False if item.name.endswith(".py") and item.is_file() else None
    except OSError:
        # A link that leads round in a circle is neither.
        return None


def _excluded(path: str, exclude: Sequence[str]) -> bool:
    """Whether the patterns pass over a file or folder."""
    name = os.path.basename(path)
    given = path.replace(os.sep, "/").removeprefix("./")
    absolute = os.path.abspath(path).replace(os.sep, "/")
    for pattern in (pattern.removeprefix("./").rstrip("/") for pattern in exclude):
        names = (given, absolute) if "/" in pattern else (name,)
        if any(fnmatch(one, pattern) for one in names):
            return True
    return False


def _ignored(path: str, is_folder: bool, ignores: Sequence[_Ignore]) -> bool:
    """Whether a ``.gitignore`` passes over a file or folder; the innermost that says anything decides."""
    absolute = os.path.abspath(path) + ("/" if is_folder else "")
    for ignore in ignores:
        relative = absolute[len(ignore.folder.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
        verdict = ignore.spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def _ignores_inside(entry: _Folder, names: set[str]) -> tuple[_Ignore, ...]:
    """The ``.gitignore`` files that count for what stands in a folder; an inner repository begins anew."""
    outer = () if ".git" in names else entry.ignores
    own = _read_ignore(os.path.abspath(entry.path or os.curdir)) if ".gitignore" in names else None
    return outer if own is None else (own, *outer)


def _ignores_above(folder: str) -> tuple[_Ignore, ...]:
    """The ``.gitignore`` files above an absolute folder, up to its repository's root, the innermost first."""
    if os.path.exists(os.path.join(folder, ".git")):
        return ()
    found: list[_Ignore] = []
    inner = folder
    while (outer := os.path.dirname(inner)) != inner:
        ignore = _read_ignore(outer)
        if ignore is not None:
            found.append(ignore)
        if os.path.exists(os.path.join(outer, ".git")):
            ignores = tuple(found)
            # Who names an ignored folder wants it checked.
            return () if _ignored(folder, True, ignores) else ignores
        inner = outer
    return ()


def _read_ignore(folder: str) -> _Ignore | None:
    """The ``.gitignore`` in an absolute folder, or None when there is none that can be read."""
    try:
        with open(os.path.join(folder, ".gitignore"), "rb") as stream:
            lines = os.fsdecode(stream.read()).splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return _Ignore(folder, GitIgnoreSpec.from_lines(lines))
    except ValueError:
        return _Ignore(folder, GitIgnoreSpec.from_lines(filter(_is_pattern, lines)))


def _is_pattern(line: str) -> bool:
    """Whether a line is a pattern; git passes over the ones that are not."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
