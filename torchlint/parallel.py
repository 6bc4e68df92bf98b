"""Many jobs on several processes, of which any may die: that costs the one job it held, and nothing else.

``concurrent.futures`` gives up all that is left when one process dies. Here every worker has a pipe of its own, and the
process that waits for them knows which jobs each one holds. It is the only one that writes files: a worker can be ended
at any time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

__all__ = ["results_of", "shares"]

Job = TypeVar("Job")
Result = TypeVar("Result")

_AHEAD = 2
"""How many jobs a worker holds: it begins the second while the result of the first is on its way."""


def results_of(
    jobs: Sequence[Job],
    begin: Callable[[], Callable[[Job], Result]],
    lost: Callable[[Job], Result],
    workers: int,
    context: BaseContext | None = None,
) -> list[Result]:
    """Do all jobs and return their results in the order of the jobs.

    Args:
        jobs: what is to be done; they travel to other processes, and their results travel back.
        begin: called once in each process, before its first job; gives what does a job there. It travels as well, and
            what it gives must not raise.
        lost: gives the result of a job whose process died.
        workers: how many processes, from 1; no more are started than there are jobs.
        context: how processes are started; the way of this system when None.

    Raises:
        Exception: what ``begin`` raises, where no process can be started and the jobs are done in this one.
    """
    parts = shares(len(jobs), min(workers, len(jobs)))
    run = _Run(jobs, parts, begin, lost, context or multiprocessing.get_context())
    try:
        for share in parts:
            run.start(share)
        return run.finish()
    finally:
        run.end()


def shares(jobs: int, workers: int) -> list[deque[int]]:
    """The numbers of so many jobs, in as many parts as there are workers, each of neighbours.

    Files that stand side by side import much the same: what one of them had to know of others serves the next.
    """
    ends = [jobs * number // workers for number in range(1, workers + 1)]
    return [deque(range(first, end)) for first, end in zip([0, *ends], ends, strict=False)]


@dataclass
class _Worker(Generic[Job, Result]):
    """A process and what the one that waits knows of it.

    Attributes:
        process: the process itself.
        pipe: this side's end of its pipe.
        share: the numbers of the jobs that it takes one after the other, as long as there are any.
        is_ready: whether it has come as far as its first job.
        held: the numbers of the jobs that it holds, the one that it works on first.
    """

    process: BaseProcess
    pipe: Connection
    share: deque[int]
    is_ready: bool = False
    held: deque[int] = field(default_factory=deque)


class _Run(Generic[Job, Result]):
    """The side of the process that waits."""

    def __init__(
        self,
        jobs: Sequence[Job],
        parts: Sequence[deque[int]],
        begin: Callable[[], Callable[[Job], Result]],
        lost: Callable[[Job], Result],
        context: BaseContext,
    ) -> None:
        """Start nothing yet."""
        self._jobs = jobs
        self._begin = begin
        self._lost = lost
        self._context = context
        self._shares = parts
        self._done: dict[int, Result] = {}
        self._workers: list[_Worker[Job, Result]] = []

    def start(self, share: deque[int]) -> None:
        """Start one more process; where the system gives none, the others do its work."""
        with suppress(OSError), _uninterrupted():
            own, other = self._context.Pipe()
            with other:
                process = self._context.Process(target=_work, args=(other, self._begin), daemon=True)  # type: ignore[attr-defined]
                process.start()
            self._workers.append(_Worker(process, own, share))

    def finish(self) -> list[Result]:
        """Wait for the results of all jobs."""
        while len(self._done) < len(self._jobs) and self._workers:
            self._attend()
        if left := [number for share in self._shares for number in share]:
            do = self._begin()
            self._done.update((number, do(self._jobs[number])) for number in left)
        return [self._done[number] for number in range(len(self._jobs))]

    def end(self) -> None:
        """End all processes at once, whatever they do: none of them writes anything."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()

    def _attend(self) -> None:
        """Wait until a worker answers or dies, take what there is, and hand out what comes next."""
        ready = wait([end for worker in self._workers for end in (worker.pipe, worker.process.sentinel)])
        for worker in list(self._workers):
            self._take_answers(worker)
            if worker.process.sentinel in ready:
                self._bury(worker)
        for worker in self._workers:
            self._hand_out(worker)

    def _take_answers(self, worker: _Worker[Job, Result]) -> None:
        """Take the results that are there; of one that was broken off by the end of its process there is nothing."""
        with suppress(EOFError, OSError):
            while worker.pipe.poll():
                answer = worker.pipe.recv()
                if worker.is_ready:
                    self._done[worker.held.popleft()] = answer
                worker.is_ready = True

    def _hand_out(self, worker: _Worker[Job, Result]) -> None:
        """Give a worker its next jobs; that it has died in the meantime is noticed when it is attended to."""
        while worker.is_ready and any(self._shares) and len(worker.held) < _AHEAD:
            number = worker.share.popleft() if worker.share else max(self._shares, key=len).pop()
            worker.held.append(number)
            with suppress(OSError):
                worker.pipe.send(self._jobs[number])

    def _bury(self, worker: _Worker[Job, Result]) -> None:
        """Part with a dead worker, and start another in its place where jobs are left."""
        self._workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        if worker.held:
            # It worked on the first; the others it had not begun.
            number = worker.held.popleft()
            self._done[number] = self._lost(self._jobs[number])
            worker.share.extendleft(reversed(worker.held))
        # One that did not even begin shows that processes do not work here, and another would end like it.
        if worker.is_ready and any(self._shares):
            self.start(worker.share)


def _work(pipe: Connection, begin: Callable[[], Callable[[Job], Result]]) -> None:
    """What a worker process does: say that it is there, then answer each job with its result."""
    # Ctrl-C reaches every process of the terminal: only the one that waits for the others is to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        do = begin()
        pipe.send(None)
        while True:
            pipe.send(do(pipe.recv()))
    except Exception:
        # The process that waits says which file this cost; a traceback would say it in twenty lines.
        os._exit(1)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, also in the middle of a job."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put off an interruption, where the system can: a process that has just begun would answer it with a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
