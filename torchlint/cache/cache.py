"""The cache as a run uses it: what it knows of the files before they are checked, and what it learns of them after."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import cached_property, partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from torchlint.cache.folder import locked, prepare, remove_older, summaries_file
from torchlint.cache.key import Key
from torchlint.cache.outcome import kept, restored
from torchlint.cache.table import Columns, Damaged, Facts, Record, decode, encode
from torchlint.cache.view import View
from torchlint.project.sights import Consulted, digest_of
from torchlint.run import Checked, Job, Repairs
from torchlint.selection import Selection
from torchlint.source import Unreadable, decode_source, read_bytes

if TYPE_CHECKING:
    from torchlint.project.kept_summaries import KeptSummaries
    from torchlint.project.project import Project

__all__ = ["Cache", "Detail"]

MOST_JOBS = 8
"""With how many other options than this run's a file's results are kept."""

_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError)


class Detail(Enum):
    """What a report says of a finding."""

    HEADLINES = "where it stands, what it says, and whether it can be repaired"
    TEXT = "the lines that it speaks of, too"
    EDITS = "what a repair would write, too"


class Cache:
    """The results of earlier runs in one file: a run asks :meth:`known`, and tells by :meth:`learn` what it found.

    What is wrong with the file, or with the folder that it lies in, is never an error: there is no cache then.
    """

    def __init__(self, file: str, detail: Detail = Detail.HEADLINES) -> None:
        """Use the cache in ``file``; ``detail`` is what the run is to tell of its findings."""
        self._file = file
        self._detail = detail
        self._key = Key()
        self._digests: dict[tuple[Selection, int, bool, bool], str] = {}
        self._refreshed = Facts()
        self._is_outdated = False

    def known(self, jobs: Sequence[Job], given: Sequence[str] | None = None) -> list[Checked | None]:
        """For each job its result, as far as it is known.

        Args:
            jobs: what is to be checked; asked more than once, the cache answers from what it held at first.
            given: the absolute paths of the files of the run, whose calls count; None for those of ``jobs``.
        """
        table = self._held
        nothing: list[Checked | None] = [None] * len(jobs)
        if table is None:
            return nothing
        self._is_outdated = table.stamps != self._key.stamps
        try:
            return self._known(jobs, given, table)
        except _DAMAGE:
            # A digest has said that the table is one of ours; it takes malice to come here.
            self._refreshed = Facts()
            return nothing

    def summaries(self) -> KeptSummaries:
        """What earlier runs made of the definitions that files import, for a process of this run."""
        # Imported here, since a run over files that did not change makes none.
        from torchlint.cache.summaries import read
        from torchlint.project.kept_summaries import KeptSummaries

        return KeptSummaries(partial(read, summaries_file(self._file), self._key))

    def learn(self, jobs: Sequence[Job], results: Sequence[Checked]) -> None:
        """Keep the results that were not known; nothing is written when there is nothing new."""
        learnt = [*self._learnt(jobs, results)]
        refreshed = self._refreshed
        self._keep_summaries({name: line for result in results for name, line in result.made})
        if not (learnt or refreshed.records or refreshed.files or refreshed.folders or self._is_outdated):
            return
        # Imported here, since most runs learn nothing.
        from torchlint.cache.merge import gathered, merged
        from torchlint.rewrite import write_atomic

        newer, folder = merged(refreshed, gathered(learnt)), os.path.dirname(self._file)
        with suppress(OSError):
            prepare(folder)
            with locked(folder):
                facts = merged(self._older(), newer)
                facts.records = _pruned(facts, {self._digest(job) for job in jobs})
                write_atomic(self._file, encode(facts, self._key.stamps, self._key.content))
                remove_older(self._file)

    def _keep_summaries(self, made: dict[str, str]) -> None:
        """Keep the summaries that this run made."""
        if not made:
            return
        from torchlint.cache.summaries import read, written
        from torchlint.rewrite import write_atomic

        file = summaries_file(self._file)
        with suppress(OSError):
            prepare(os.path.dirname(file))
            with locked(os.path.dirname(file)):
                write_atomic(file, written(read(file, self._key), made, self._key))

    # -- what is known --------------------------------------------------------------------------------------------

    @cached_property
    def _held(self) -> Columns | None:
        """What the file held when it was first asked."""
        return self._load()

    def _load(self) -> Columns | None:
        """What the file holds now; None where that is of no use."""
        try:
            with open(self._file, "rb") as stream:
                table = decode(stream.read())
            return table if self._key.fits(table.stamps, table.content) else None
        except (OSError, Damaged):
            return None

    def _known(self, jobs: Sequence[Job], given: Sequence[str] | None, table: Columns) -> list[Checked | None]:
        """See :meth:`known`; raises one of ``_DAMAGE``."""
        paths = [os.path.abspath(job.path) for job in jobs]
        numbers = [table.find(path, self._digest(job)) for path, job in zip(paths, jobs, strict=True)]
        view = View(table, [number for number in numbers if number is not None])
        run = _Run(view, paths if given is None else given)
        found: list[Checked | None] = []
        for job, number in zip(jobs, numbers, strict=True):
            holds = number is not None and view.holds(number) and run.agrees(table, number)
            found.append(self._result(job, table, view, number) if holds and number is not None else None)
        self._refreshed.take_in(view.refreshed)
        return found

    def _result(self, job: Job, table: Columns, view: View, number: int) -> Checked | None:
        """The result that a record keeps; None when it does not say enough for this run."""
        result = restored(table.outcome_of(number), job.path)
        if not result.diagnostics:
            return result
        needs_edits = job.repairs is not Repairs.NONE or self._detail is Detail.EDITS
        if needs_edits and any(one.repair is not None for one in result.diagnostics):
            return None
        return result if self._detail is Detail.HEADLINES else _with_text(result, job, view)

    # -- what is learnt -------------------------------------------------------------------------------------------

    def _learnt(self, jobs: Sequence[Job], results: Sequence[Checked]) -> Iterator[tuple[Record, Consulted]]:
        for job, result in zip(jobs, results, strict=True):
            consulted = result.consulted
            if consulted is None or result.before is not None or (result.failure or "").startswith("cannot be fixed"):
                continue
            path = os.path.abspath(job.path)
            if dict(consulted.files)[path].digest is None:
                continue
            record = Record(
                path,
                self._digest(job),
                tuple([file for file, _ in consulted.files]),
                tuple([folder for folder, _ in consulted.folders]),
                tuple([_asked(name, files) for name, files in consulted.asked]),
                consulted.given,
                consulted.whole,
                kept(result),
            )
            yield record, consulted

    def _older(self) -> Facts:
        """What the file holds now: another run may have written it in the meantime."""
        table = self._load()
        try:
            return Facts() if table is None else table.facts()
        except _DAMAGE:
            return Facts()

    def _digest(self, job: Job) -> str:
        """The digest of the options that a result depends on."""
        options = (job.selection, job.limit, job.use_screen, job.heed_noqa)
        if options not in self._digests:
            chosen = job.selection
            text = repr(
                (sorted(chosen.enabled), sorted(chosen.named), chosen.join, chosen.preview, chosen.notes, *options[1:])
            )
            self._digests[options] = _short(text)
        return self._digests[options]


class _Run:
    """The files of this run, as far as records ask about the other files of theirs."""

    def __init__(self, view: View, given: Sequence[str]) -> None:
        self._view = view
        self._given = given

    def agrees(self, table: Columns, number: int) -> bool:
        """Whether what a record says of the other files of its run is true of this run, too."""
        before = table.state_of(number)
        if not before or before == self._state:
            return True
        record = table.record(number)
        if record.whole or self._project.given_state != self._state:
            return False
        own = _short(record.path)
        for name, files in record.asked:
            if files != (self._importers_of(record.path) if name == own else self._guards.get(name, "")):
                return False
        self._view.restate(replace(record, state=self._state))
        return True

    @cached_property
    def _state(self) -> str:
        return self._view.state(set(self._given))

    @cached_property
    def _project(self) -> Project:
        from torchlint.project.project import Project

        return Project(self._given, accounts=True)

    def _importers_of(self, path: str) -> str:
        """The digest of the files that import the file ``path``."""
        return _asked(path, self._project.importers(path))[1]

    @cached_property
    def _guards(self) -> dict[str, str]:
        """For each name that is called with gradients off, by its digest, the digest of the files that do it."""
        return dict(_asked(name, files) for name, files in self._project.guards.items())


def _asked(name: str, files: Sequence[str]) -> tuple[str, str]:
    """A name, or a path, and the files that were told of it, as the cache keeps them; "" for no file."""
    return _short(name), _short("\0".join(files)) if files else ""


def _with_text(result: Checked, job: Job, view: View) -> Checked | None:
    """A result with the text that it speaks of; None when that has just changed."""
    try:
        data = read_bytes(job.path)
        if digest_of(data) != view.digest(os.path.abspath(job.path)):
            return None
        return replace(result, text=decode_source(data, job.path, limit=job.limit).text)
    except Unreadable:
        return None


def _pruned(facts: Facts, options: Set[str]) -> dict[tuple[str, str], Record]:
    """The records to keep: of files that are still there, and of this run's ``options`` and those used before."""
    others = dict.fromkeys(record.job for record in facts.records.values() if record.job not in options)
    wanted = options | set(list(others)[:MOST_JOBS])
    there = {path for path in {record.path for record in facts.records.values()} if os.path.exists(path)}
    return {key: one for key, one in facts.records.items() if one.job in wanted and one.path in there}


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
