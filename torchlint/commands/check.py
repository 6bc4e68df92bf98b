"""``torchlint check``: find the files, check and repair them, report."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.config import BadConfig, Overrides, anchored, check_codes, nearest_settings
from torchlint.console import complain, write, write_bytes
from torchlint.plan import MissingPath, folder_of, plan
from torchlint.report import renderer
from torchlint.report.summary import plural
from torchlint.run import Checked, Job, Repairs, Run, check_files, check_text, internal_error, unlisted
from torchlint.selection import Choice
from torchlint.source import Unreadable, decode_source

if TYPE_CHECKING:
    from torchlint.cache import Cache  # a run without one need not load it

__all__ = ["run"]

STDIN = "-"


class BadRequest(Exception):
    """Options that do not go together; its text is one line."""


def run(options: Namespace) -> int:
    """Do what the options ask for.

    Returns:
        0 when nothing is left to report, 1 after errors and warnings (and after a diff), 2 when something
        could not be done.
    """
    try:
        overrides = _overrides(options)
        _refuse_contradictions(options)
        done = _from_stdin(options, overrides) if STDIN in options.paths else _from_files(options, overrides)
    except (BadRequest, BadConfig, MissingPath) as error:
        return _refuse(options, error)
    for file in done.in_order:
        if file.failure is not None:
            complain(f"{file.path}: {file.failure}")
    if options.diff:
        return _tell_diff(done)
    _tell(options, done)
    return _exit_code(options, done)


def _overrides(options: Namespace) -> Overrides:
    """What the options say in place of a pyproject.toml; raises BadConfig, BadRequest."""
    size = options.max_file_size
    if size is not None and size < 1:
        raise BadRequest("--max-file-size: must be a number of bytes")
    return Overrides(
        choice=Choice(
            select=None if options.select is None else check_codes(_listed(options.select), "--select"),
            extend_select=check_codes(_listed(options.extend_select), "--extend-select"),
            ignore=check_codes(_listed(options.ignore), "--ignore"),
        ),
        join=options.join,
        preview=options.preview,
        notes=options.notes,
        respect_gitignore=options.respect_gitignore,
        max_file_size=size,
        exclude=None if options.exclude is None else anchored(_listed(options.exclude), Path.cwd()),
        extend_exclude=anchored(_listed(options.extend_exclude), Path.cwd()),
    )


def _listed(values: Sequence[str] | None) -> tuple[str, ...]:
    """The items of an option that takes several, with commas between them or given again."""
    return tuple(item.strip() for value in values or () for item in value.split(",") if item.strip())


def _refuse_contradictions(options: Namespace) -> None:
    """Raise BadRequest for options that do not go together."""
    if STDIN in options.paths and len(options.paths) > 1:
        raise BadRequest('"-" (standard input) cannot be checked together with other paths')
    if options.statistics and options.output_format not in ("text", "full", "json"):
        raise BadRequest(f"--statistics cannot be had as {options.output_format}")
    if options.jobs < 0:
        raise BadRequest("--jobs: must be 0 or more")


def _refuse(options: Namespace, error: Exception) -> int:
    """Say why nothing was done; what reads JSON still gets JSON."""
    for line in error.args[0].splitlines():
        complain(f"torchlint: {line}")
    if options.output_format in ("json", "sarif") and not options.diff:
        write(renderer(options.output_format)(Run(files=(), problem=str(error))))
    return 2


def _repairs(options: Namespace) -> Repairs:
    """Which repairs are wanted, applied or shown."""
    if options.unsafe_fixes:
        return Repairs.ALL
    return Repairs.SAFE if options.fix or options.diff else Repairs.NONE


def _prepared(jobs: Sequence[Job], options: Namespace) -> Sequence[Job]:
    """The jobs with what the options say of how they run."""
    repairs, write, use_screen = _repairs(options), not options.diff, not options.no_screen
    # Most runs say nothing of it, and thousands of copies would cost more than asking the cache.
    if (repairs, write, use_screen) == (Repairs.NONE, True, True):
        return jobs
    return [replace(job, repairs=repairs, write=write, use_screen=use_screen) for job in jobs]


def _from_files(options: Namespace, overrides: Overrides) -> Run:
    """Check files; raises BadConfig, MissingPath."""
    planned = plan(options.paths, overrides=overrides, force_exclude=options.force_exclude)
    checked = check_files(_prepared(planned.jobs, options), options.jobs or os.cpu_count() or 1, _cache(options))
    return Run((*map(unlisted, planned.unreadable), *checked))


def _cache(options: Namespace) -> Cache | None:
    """The cache that the options ask for; raises BadConfig."""
    if options.no_cache:
        return None
    from torchlint.cache import Cache, Detail, cache_file

    told = {"full": Detail.TEXT, "json": Detail.EDITS, "sarif": Detail.EDITS}
    tells_counts = options.statistics or options.diff
    detail = Detail.HEADLINES if tells_counts else told.get(options.output_format, Detail.HEADLINES)
    return Cache(cache_file(options.paths[0], options.cache_dir), detail)


def _from_stdin(options: Namespace, overrides: Overrides) -> Run:
    """Check standard input; its repaired text goes to standard output. Raises BadConfig.

    There is no cache: what an editor sends is new each time, and one text is checked while a cache would be read.
    """
    name = options.stdin_filename or STDIN
    folder = folder_of(name) if options.stdin_filename else Path.cwd()
    settings = nearest_settings(folder).overridden(overrides)
    data = sys.stdin.buffer.read()
    [job] = _prepared([Job(name, settings.selection(name), settings.max_file_size)], options)
    excluded = options.force_exclude and settings.excludes(name)
    result = Checked(name) if excluded else _check_bytes(data, job)
    if job.repairs is not Repairs.NONE and job.write:
        # An editor puts this into its buffer: what could not be repaired goes back as it came.
        write_bytes(data if result.data is None else result.data)
    return Run(() if excluded else (result,))


def _check_bytes(data: bytes, job: Job) -> Checked:
    """Check what was read; never raises for what is wrong with it."""
    from torchlint.project.project import Project

    try:
        return check_text(decode_source(data, job.path, limit=job.limit), job, Project())
    except Unreadable as error:
        return Checked(job.path, failure=f"cannot be checked: {error.reason}")
    except Exception as error:
        return Checked(job.path, failure=f"cannot be checked: {internal_error(error)}")


def _tell(options: Namespace, done: Run) -> None:
    """Print the report: to standard error when standard output holds a repaired text."""
    if options.statistics:
        from torchlint.report import statistics

        text = (statistics.render_json if options.output_format == "json" else statistics.render)(done)
    else:
        text = renderer(options.output_format)(done)
    if STDIN in options.paths and _repairs(options) is not Repairs.NONE:
        for line in text.splitlines():
            complain(line)
    else:
        write(text)


def _tell_diff(done: Run) -> int:
    """Print what would change."""
    from torchlint.fix.applying import diff

    changed = [file for file in done.in_order if file.before is not None and file.after is not None]
    write("".join(diff(file.before or "", file.after or "", file.path) for file in changed))
    repaired = f"{plural(done.applied, 'finding')} in {plural(len(changed), 'file')}"
    complain(f"Would fix {repaired}." if changed else "Nothing to fix.")
    return 2 if done.failed else int(bool(changed))


def _exit_code(options: Namespace, done: Run) -> int:
    """0, 1 or 2."""
    if done.failed:
        return 2
    return int(done.has_leaks and not options.exit_zero)
