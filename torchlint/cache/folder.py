"""Where the cache lies: one folder a project, a file for results and one for summaries for each version in it.

Of torchlint, and of Python. A run over files that did not change reads the results alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from torchlint import __version__
from torchlint.config import nearest_settings
from torchlint.discover import CACHE_FOLDER, is_excluded_folder

__all__ = ["cache_file", "locked", "prepare", "remove_caches", "remove_older", "summaries_file"]

_TAG, _IGNORE = "CACHEDIR.TAG", ".gitignore"
_SIGNATURE = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of torchlint; it may be removed at any time.\n"
)
_ENDING, _SUMMARIES = ".json", ".summaries"


def cache_file(path: str, folder: str | None = None) -> str:
    """The cache's file for a run.

    Args:
        path: the first of the given paths: the cache lies beside the pyproject.toml that counts for it, else in the
            current folder.
        folder: where else it is to lie.

    Raises:
        BadConfig: a pyproject.toml is broken.
    """
    name = f"{__version__}-{sys.implementation.cache_tag}{_ENDING}"
    return os.path.join(_folder_for(path) if folder is None else folder, name)


def summaries_file(file: str) -> str:
    """Where summaries are kept beside the cache's file."""
    return file.removesuffix(_ENDING) + _SUMMARIES


def prepare(folder: str) -> None:
    """Make the cache's folder, and tell backups and git to pass over it; a user's own folder stays as it is.

    Raises:
        OSError: it cannot be made.
    """
    if os.path.isdir(folder):
        if os.path.basename(folder) != CACHE_FOLDER or os.path.exists(os.path.join(folder, _TAG)):
            return
    else:
        os.makedirs(folder, exist_ok=True)  # another process may be making it
    for name, text in ((_TAG, _SIGNATURE), (_IGNORE, "*\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write(text)


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Let no other process into the folder that asks for it in this way, as far as the system can.

    Where it cannot (Windows, some network file systems) what one of two runs learnt may be lost when they end together.
    """
    descriptor = None
    try:
        with suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_older(file: str) -> None:
    """Remove what other versions of torchlint left beside the cache's file."""
    folder, name = os.path.split(file)
    version = name.partition("-")[0]
    with suppress(OSError):
        for other in os.listdir(folder):
            if _is_cache(other) and other.partition("-")[0] != version:
                os.unlink(os.path.join(folder, other))


def remove_caches(paths: Sequence[str]) -> list[str]:
    """Remove the caches of runs over ``paths``, those of their projects and those below them.

    Returns:
        the removed folders; one that holds other files as well is left with those.

    Raises:
        BadConfig: a pyproject.toml is broken.
        OSError: a cache cannot be removed.
    """
    found = dict.fromkeys(os.path.relpath(folder) for path in paths for folder in (_folder_for(path), *_below(path)))
    return [folder for folder in found if _remove(folder)]


def _folder_for(path: str) -> str:
    from pathlib import Path

    place = path if os.path.isdir(path) else os.path.dirname(path)
    root = nearest_settings(Path(place)).root
    return os.path.join(os.getcwd() if root is None else root, CACHE_FOLDER)


def _below(path: str) -> Iterator[str]:
    if os.path.exists(os.path.join(path, _TAG)):
        yield path
    for folder, names, _ in os.walk(path):
        if CACHE_FOLDER in names:
            yield os.path.join(folder, CACHE_FOLDER)
        names[:] = [name for name in names if not is_excluded_folder(name)]


def _remove(folder: str) -> bool:
    """Remove a cache's own files, and its folder when nothing else is in it; False where there is no cache."""
    # Imported here, since every run asks where the cache lies and hardly one removes it.
    from torchlint.rewrite import TEMPORARY

    try:
        with open(os.path.join(folder, _TAG), encoding="utf-8", errors="replace") as stream:
            if stream.read() != _SIGNATURE:
                return False
    except OSError:
        return False
    for name in os.listdir(folder):
        if _is_cache(name) or name in (_TAG, _IGNORE) or name.startswith(TEMPORARY):
            os.unlink(os.path.join(folder, name))
    with suppress(OSError):
        os.rmdir(folder)
    return True


def _is_cache(name: str) -> bool:
    return name[:1].isdigit() and "-" in name and name.endswith((_ENDING, _SUMMARIES))
