"""From the paths that were given to the files to check, each with the settings that count for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchlint.config import Overrides, Settings, settings_of
from torchlint.discover import Discovered, discover
from torchlint.run import Job

__all__ = ["MissingPath", "Plan", "folder_of", "plan"]


class MissingPath(FileNotFoundError):
    """A path that was given does not exist.

    Attributes:
        paths: every such path, as given.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Keep ``paths``, at least one."""
        super().__init__(", ".join(f"{path}: no such file or folder" for path in paths))
        self.paths = tuple(paths)


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        jobs: one a file.
        unreadable: for each folder that cannot be listed its path and the reason.
    """

    jobs: tuple[Job, ...]
    unreadable: tuple[tuple[str, str], ...]


def plan(
    paths: Sequence[str],
    *,
    settings: Settings | None = None,
    overrides: Overrides | None = None,
    force_exclude: bool = False,
) -> Plan:
    """Find the files below ``paths`` and say how each is to be checked.

    Which files of a folder are passed over is said by the pyproject.toml nearest to the given path; which
    codes are on, and how large a file may be, by the one nearest to each file.

    Args:
        paths: files and folders, as given.
        settings: what counts for all of them; when None, the nearest pyproject.toml does.
        overrides: what goes over it.
        force_exclude: True to pass over excluded files also when they are given by name.

    Raises:
        MissingPath: a path does not exist.
        BadConfig: a pyproject.toml is broken.
    """
    above = overrides or Overrides()

    def in_force(folders: Iterable[str]) -> dict[str, Settings]:
        found = settings_of(folders) if settings is None else dict.fromkeys(folders, settings)
        # Most folders have the same settings, and those are told apart by identity.
        distinct = {id(one): one for one in found.values()}
        made = {key: one.overridden(above) for key, one in distinct.items()}
        return {folder: made[id(one)] for folder, one in found.items()}

    groups: dict[Settings, list[str]] = {}
    given = in_force(dict.fromkeys(str(folder_of(path)) for path in paths))
    for path in paths:
        groups.setdefault(given[str(folder_of(path))], []).append(path)
    found = [_discover(group, one) for one, group in groups.items()]
    missing = {path for one in found for path in one.missing}
    if missing:
        raise MissingPath([path for path in paths if path in missing])
    # One walk gives each file once.
    files = [*found[0].files] if len(found) == 1 else _once(file for one in found for file in one.files)
    folders = [os.path.dirname(file) for file in files]
    in_folder = in_force(dict.fromkeys(folders))
    settled = [(file, in_folder[folder]) for file, folder in zip(files, folders, strict=True)]
    return Plan(
        jobs=tuple(_job(file, one) for file, one in settled if not (force_exclude and one.excludes(file))),
        unreadable=tuple(folder for one in found for folder in one.unreadable),
    )


def folder_of(path: str) -> Path:
    """The folder whose settings count for ``path``: itself, or the one that it lies in."""
    place = Path(path)
    return place if place.is_dir() else place.parent


def _discover(paths: Sequence[str], settings: Settings) -> Discovered:
    """The files to check, and what does not exist or cannot be listed."""
    patterns = (*settings.exclude, *settings.extend_exclude)
    return discover(paths, exclude=patterns, respect_gitignore=settings.respect_gitignore)


def _once(files: Iterable[str]) -> list[str]:
    """Each file once, though several paths lead to it."""
    return list({os.path.abspath(file): file for file in files}.values())


def _job(file: str, settings: Settings) -> Job:
    """How one file is checked."""
    return Job(path=file, selection=settings.selection(file), limit=settings.max_file_size)
