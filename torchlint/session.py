"""The check for a host that hands over one file after the other and says of none that it is the last: flake8.

Its worker processes know nothing of each other, nor of what else is checked. So a file is checked as if it were the
only one of its run, and what was learnt is kept when the process ends.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING

from torchlint.project.project import Project
from torchlint.run import Checked, Job, Look, look
from torchlint.source import Source, Unreadable

if TYPE_CHECKING:
    from torchlint.cache import Cache
    from torchlint.diagnostic import Diagnostic

__all__ = ["Session"]


class Session:
    """The files that one process of the host checks: what they import is read once, and a cache may know them."""

    def __init__(self, cache: Cache | None = None) -> None:
        """Begin; with a ``cache`` what is learnt is kept at the end of the process, or by :meth:`close`."""
        self._cache = cache
        self._project = Project(accounts=cache is not None, kept=None if cache is None else cache.summaries())
        self._learnt: list[tuple[Job, Checked]] = []
        if cache is not None:
            # The workers of a pool end without the functions that atexit knows; this they run as well.
            Finalize(None, self.close, exitpriority=1)

    def check(self, source: Source, job: Job, tree: ast.Module | None = None) -> Sequence[Diagnostic]:
        """The findings in a text, by line, column and code.

        Args:
            source: the text that the host has, which need not be the file's.
            job: what is to be done with the file.
            tree: the text's syntax tree, where the host has it.

        Raises:
            Unreadable: the text cannot be parsed.
        """
        cache = self._cache if self._is_saved(source, job) else None
        if cache is None or not self._concerns_torch(source):
            return self._look(source, job, tree).shown
        [known] = cache.known([job], given=())
        if known is not None:
            return known.diagnostics
        found = self._look(source, job, tree)
        consulted, made = self._project.consulted(), self._project.summaries_made()
        result = Checked(job.path, found.shown, found.hidden_notes, found.uses_torch, consulted=consulted, made=made)
        self._learnt.append((job, result))
        return found.shown

    def close(self) -> None:
        """Keep what was learnt."""
        learnt, self._learnt = self._learnt, []
        if self._cache is not None and learnt:
            self._cache.learn([job for job, _ in learnt], [result for _, result in learnt])

    def _is_saved(self, source: Source, job: Job) -> bool:
        """Whether a text is what lies on disk; the account of what its check looks at begins here."""
        if self._cache is None:
            return False
        try:
            saved = self._project.open(job.path, limit=job.limit).text
        except Unreadable:
            return False
        return _with_one_newline(saved) == _with_one_newline(source.text)

    def _concerns_torch(self, source: Source) -> bool:
        # Imported here, as in a run: the screen is all that most files need.
        from torchlint.engine import concerns_torch

        return concerns_torch(source, self._project)

    def _look(self, source: Source, job: Job, tree: ast.Module | None) -> Look:
        return look(source, job.selection, tree=tree, heed_noqa=job.heed_noqa, project=self._project)


def _with_one_newline(text: str) -> str:
    """A text as a host may hand it over, which reads all ends of lines as one."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
