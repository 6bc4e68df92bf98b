"""One run: files in, findings out; what the command line, the library and the plugin have in common."""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchlint.diagnostic import Diagnostic, Level
from torchlint.selection import Selection
from torchlint.source import SIZE_LIMIT, Source, Unreadable, encode_source, read_source

if TYPE_CHECKING:
    from torchlint.cache import Cache
    from torchlint.project.kept_summaries import KeptSummaries
    from torchlint.project.project import Project
    from torchlint.project.sights import Consulted

__all__ = [
    "Checked",
    "Job",
    "Look",
    "Repairs",
    "Run",
    "check_file",
    "check_files",
    "check_text",
    "internal_error",
    "look",
    "unlisted",
]

ENOUGH = 100_000
"""So many bytes of files are worth another process."""

SELDOM = 50_000
"""So many objects that stay make the garbage collector look at them; Python's 700 are made by every file.

Ten times as many took a process over 2,000 files beyond 250 MiB.
"""


class Repairs(Enum):
    """Which repairs are applied."""

    NONE = "none"
    SAFE = "safe ones"
    ALL = "safe and unsafe ones"


@dataclass(frozen=True)
class Job:
    """What is to be done with one file; plain data, since it may travel to another process.

    Attributes:
        path: the file's name.
        selection: which findings are wanted.
        limit: the largest file that is read, in bytes.
        use_screen: False to parse every file, also one that cannot hold a finding.
        repairs: which repairs to apply.
        write: False to leave the file alone and only say what would change.
        heed_noqa: False where somebody else applies ``# noqa``, as flake8 does.
    """

    path: str
    selection: Selection
    limit: int = SIZE_LIMIT
    use_screen: bool = True
    repairs: Repairs = Repairs.NONE
    write: bool = True
    heed_noqa: bool = True


@dataclass(frozen=True)
class Look:
    """What one look at a file's text shows.

    Attributes:
        shown: the findings, sorted by line, column and code.
        hidden_notes: how many notes were found that nobody asked for.
        uses_torch: whether the file may use torch at all.
    """

    shown: tuple[Diagnostic, ...]
    hidden_notes: int
    uses_torch: bool


@dataclass(frozen=True)
class Checked:
    """What became of one file.

    Attributes:
        path: its name.
        diagnostics: what was found and, where repairs were applied, is still there.
        hidden_notes: how many notes were found that nobody asked for.
        uses_torch: whether the file may use torch at all.
        text: the text that the diagnostics speak of; "" when there are none.
        failure: "cannot be checked: why" or "cannot be fixed: why", or None.
        applied: how many findings were repaired.
        before, after: the text before and after the repairs; both None when there were none.
        data: the repaired file's bytes; None when there were no repairs.
        consulted: what the result depends on besides the job; None where nobody noted it.
        made: the summaries of what the file imports that no earlier run had made, by their keys in the cache.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    hidden_notes: int = 0
    uses_torch: bool = False
    text: str = ""
    failure: str | None = None
    applied: int = 0
    before: str | None = None
    after: str | None = None
    data: bytes | None = None
    consulted: Consulted | None = field(default=None, compare=False)
    made: tuple[tuple[str, str], ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Run:
    """What became of all files.

    Attributes:
        files: one result a file, in any order.
        problem: why nothing was checked at all, one line; None when it was.
    """

    files: tuple[Checked, ...]
    problem: str | None = None

    @cached_property
    def in_order(self) -> tuple[Checked, ...]:
        """The files by name; within a file the findings are in order already."""
        return tuple(sorted(self.files, key=lambda file: file.path))

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, sorted by path, line, column and code."""
        return tuple(diagnostic for file in self.in_order for diagnostic in file.diagnostics)

    @property
    def applied(self) -> int:
        """How many findings were repaired."""
        return sum(file.applied for file in self.files)

    @property
    def failed(self) -> bool:
        """True when something that was asked for could not be done."""
        return self.problem is not None or any(file.failure is not None for file in self.files)

    @property
    def has_leaks(self) -> bool:
        """True when an error or a warning was found; notes do not count."""
        return any(diagnostic.level is not Level.NOTE for diagnostic in self.diagnostics)


def look(
    source: Source,
    selection: Selection,
    *,
    tree: ast.Module | None = None,
    use_screen: bool = True,
    heed_noqa: bool = True,
    project: Project | None = None,
) -> Look:
    """Check one text once.

    Args:
        source: the file's text.
        selection: which findings are wanted.
        tree: the text's syntax tree, where the caller has it already.
        use_screen: False to parse the file also when it cannot hold a finding.
        heed_noqa: False where somebody else applies ``# noqa``, as flake8 does.
        project: where to look for what the text imports; without one it stands alone.

    Raises:
        Unreadable: the text cannot be parsed.
    """
    # Imported here, since a run over files that the cache knows needs none of it.
    from torchlint.catalog import rules
    from torchlint.engine import check, concerns_torch
    from torchlint.suppress import Suppressions

    if not concerns_torch(source, project, together=selection.join):
        return Look(shown=(), hidden_notes=0, uses_torch=False)
    # Rules may import libcst, which costs more than all the rest of a file that does not use torch.
    outcome = check(
        source, selection.rules(rules()), tree=tree, use_screen=use_screen, project=project, together=selection.join
    )
    found = sorted(outcome.diagnostics, key=Diagnostic.sort_key)
    if heed_noqa and found:
        suppressions = Suppressions.of(source.text)
        found = [one for one in found if not suppressions.covers(one.line, one.code)]
    shown = tuple(one for one in found if selection.shows(one))
    return Look(shown=shown, hidden_notes=len(found) - len(shown), uses_torch=outcome.uses_torch)


def check_text(source: Source, job: Job, project: Project | None = None) -> Checked:
    """Check a text and, where the job asks for it, repair it in memory; nothing is written.

    Raises:
        Unreadable: the text cannot be parsed.
    """
    see = partial(look, selection=job.selection, use_screen=job.use_screen, heed_noqa=job.heed_noqa, project=project)
    first = see(source)
    plain = _checked(source, first)
    if job.repairs is Repairs.NONE or not any(one.repair for one in first.shown):
        return plain
    from torchlint.fix.applying import fix_source

    def find(text: Source) -> Sequence[Diagnostic]:
        return see(text).shown

    try:
        outcome = fix_source(source, find, unsafe=job.repairs is Repairs.ALL)
        if outcome.text == source.text:
            return plain
        data = encode_source(source, outcome.text)
    except Unreadable as error:
        return replace(plain, failure=f"cannot be fixed: {error.reason}")
    repaired = Source(source.path, outcome.text, source.encoding, source.has_bom)
    left = _checked(repaired, see(repaired))
    return replace(left, applied=len(outcome.applied), before=source.text, after=outcome.text, data=data)


def check_file(job: Job, project: Project | None = None) -> Checked:
    """Read, check and, where the job asks for it, repair one file; never raises for what is wrong with it."""
    return write_repaired(job, _examined(job, project), project)


def write_repaired(job: Job, result: Checked, project: Project | None = None) -> Checked:
    """Write what was repaired, where the job asks for it; what stands in the file then is what is returned."""
    if result.data is None or not job.write:
        return result
    from torchlint.rewrite import write_atomic

    try:
        if read_source(job.path, limit=job.limit).text == result.before:
            write_atomic(job.path, result.data)
            return result
        reason = "has changed since it was read"
    except Unreadable as error:
        reason = error.reason
    except OSError as error:
        reason = error.strerror or str(error)
    # What was found in the repaired text is not what stands in the file: look again, and repair nothing.
    untouched = _examined(replace(job, repairs=Repairs.NONE), project)
    return replace(untouched, failure=f"cannot be fixed: {reason}")


def _examined(job: Job, project: Project | None) -> Checked:
    """What checking a file gives, repaired in memory alone."""
    try:
        try:
            read = read_source if project is None else project.open
            result = check_text(read(job.path, limit=job.limit), job, project)
        except Unreadable as error:
            result = Checked(job.path, failure=f"cannot be checked: {error.reason}")
        if project is None:
            return result
        return replace(result, consulted=project.consulted(), made=project.summaries_made())
    except Exception as error:
        return Checked(job.path, failure=f"cannot be checked: {internal_error(error)}")


def unlisted(folder: tuple[str, str]) -> Checked:
    """The result for a folder that cannot be listed, given as its path and the reason."""
    path, reason = folder
    return Checked(path, failure=f"cannot be checked: {reason}")


def check_files(jobs: Sequence[Job], workers: int = 1, cache: Cache | None = None) -> list[Checked]:
    """The results of all jobs, in their order; the same for any number of ``workers`` (processes, from 1).

    Nothing is written before all files are checked: what one file shows to another is what stood there at the start.

    Args:
        jobs: one a file.
        workers: how many processes check them.
        cache: what earlier runs found; files that it knows are not checked again, and it learns the others.
    """
    known = [None] * len(jobs) if cache is None else cache.known(jobs)
    stale = [job for job, result in zip(jobs, known, strict=True) if result is None]
    if not stale:
        results, project = list(filter(None, known)), None
    else:
        given, kept = [job.path for job in jobs], None if cache is None else cache.summaries()
        project = _project(given, kept)
        processes = min(workers, _worth(stale)) if workers > 1 else 1
        if processes > 1:
            examined = iter(_examined_by_workers(stale, given, processes, kept))
        else:
            with _collector_seldom():
                examined = iter([_examined(job, project) for job in stale])
        results = [next(examined) if result is None else result for result in known]
    if cache is not None:
        cache.learn(jobs, results)
    return [write_repaired(job, result, project) for job, result in zip(jobs, results, strict=True)]


def _project(given: Sequence[str], kept: KeptSummaries | None) -> Project:
    """The project around the files of a run, as one process sees it; with a cache an account is kept."""
    from torchlint.project.project import Project

    return Project(given, accounts=kept is not None, kept=kept)


def _examined_by_workers(
    jobs: Sequence[Job], given: Sequence[str], workers: int, kept: KeptSummaries | None
) -> list[Checked]:
    from torchlint.parallel import results_of

    return results_of(jobs, partial(_examiner, given, kept), _lost, workers)


def _examiner(given: Sequence[str], kept: KeptSummaries | None) -> Callable[[Job], Checked]:
    """What a worker process does with a job of a run over the files ``given``; they import much the same."""
    gc.set_threshold(SELDOM)  # the process does nothing else
    return partial(_examined, project=_project(given, kept))


@contextmanager
def _collector_seldom() -> Iterator[None]:
    """What is known of a file is freed when its check ends, and of what is kept for others nothing is garbage."""
    before = gc.get_threshold()
    gc.set_threshold(SELDOM if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _lost(job: Job) -> Checked:
    """The result for a file that ended the process that held it."""
    return Checked(job.path, failure="cannot be checked: a worker process died")


def _worth(jobs: Sequence[Job]) -> int:
    """How many processes these jobs keep busy: each costs half a second of imports before its first file."""
    return 1 + sum(_size(job.path) for job in jobs) // ENOUGH


def _size(path: str) -> int:
    """A file's size in bytes; 0 for what has none, which its own check reports."""
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):
        return 0


def internal_error(error: Exception) -> str:
    """One phrase for an exception that nobody expected."""
    try:
        words = " ".join(str(error).split())
    except Exception:  # what the error is about may not be shown: a node of which not everything was read
        words = ""
    return f"internal error ({type(error).__name__}{': ' if words else ''}{words})"


def _checked(source: Source, seen: Look) -> Checked:
    """A result without repairs."""
    text = source.text if seen.shown else ""
    return Checked(source.path, seen.shown, seen.hidden_notes, seen.uses_torch, text)
