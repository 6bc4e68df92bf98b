"""torchlint as a library: rules, defaults and ``# noqa`` as on the command line, without printing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath

from torchlint.config import Settings
from torchlint.diagnostic import Diagnostic
from torchlint.plan import plan
from torchlint.project.project import Project
from torchlint.run import check_file, look, unlisted
from torchlint.source import Source, Unreadable, decode_source

__all__ = ["check_paths", "check_source"]


def check_source(source: str | bytes, path: str = "<string>", *, settings: Settings | None = None) -> list[Diagnostic]:
    """Check one text; only what it imports from its project is read from disk.

    Args:
        source: the text, or a file's bytes, which are decoded as Python does.
        path: the name to put into the findings; what the text imports from its project is looked for from there.
        settings: what to report; the defaults when None.

    Returns:
        The findings, sorted by line, column and code.

    Raises:
        Unreadable: the text cannot be decoded or parsed.
    """
    wanted = settings or Settings()
    if isinstance(source, bytes):
        decoded = decode_source(source, path, limit=wanted.max_file_size)
    else:
        decoded = Source(path, source.removeprefix("\ufeff"), has_bom=source.startswith("\ufeff"))
    project = None if path.startswith("<") else Project()
    return list(look(decoded, wanted.selection(path), project=project).shown)


def check_paths(
    paths: Sequence[str | PathLike[str]],
    *,
    settings: Settings | None = None,
    on_failure: Callable[[str, str], None] | None = None,
) -> list[Diagnostic]:
    """Check files and all Python files in folders; nothing is written.

    Args:
        paths: files and folders.
        settings: what to report; when None, the nearest pyproject.toml of each file says.
        on_failure: called with a file's name and "cannot be checked: why" for each that cannot be checked.

    Returns:
        The findings of all files, sorted by path, line, column and code.

    Raises:
        MissingPath: one of ``paths`` does not exist (a FileNotFoundError).
        BadConfig: a pyproject.toml is broken.
        Unreadable: a file cannot be checked, and no ``on_failure`` was given.
    """
    found: list[Diagnostic] = []
    planned = plan([fspath(path) for path in paths], settings=settings)
    project = Project(job.path for job in planned.jobs)
    checked = (check_file(job, project) for job in planned.jobs)
    for result in [*map(unlisted, planned.unreadable), *checked]:
        if result.failure is not None:
            if on_failure is None:
                raise Unreadable(f"{result.path}: {result.failure}")
            on_failure(result.path, result.failure)
        found += result.diagnostics
    return sorted(found, key=Diagnostic.sort_key)
