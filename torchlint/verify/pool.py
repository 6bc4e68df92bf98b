"""Sends tasks to measuring processes and collects what comes back; torch is not imported here."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import torchlint
from torchlint.verify.measurement import Ending, Outcome, Task

__all__ = ["Runs", "can_fork", "measure_all"]

Runs = tuple[Task, ...]
"""The tasks of one program, in order; what follows a run that did not end by itself is left out."""

_START_LIMIT = 300.0
"""Seconds that a process may take to import and warm torch."""

_START = "import sys; sys.path[0] = sys.argv.pop(1); from torchlint.verify.server import serve; "


def can_fork(device: str) -> bool:
    """True where each task gets a forked child: not on CUDA, which survives no fork, and not on Windows."""
    return hasattr(os, "fork") and not device.startswith("cuda")


def measure_all(
    groups: Sequence[Sequence[Runs]],
    device: str,
    jobs: int,
    on_done: Callable[[], None],
    modules: Sequence[str] = (),
) -> dict[Task, Outcome]:
    """Run all tasks.

    Args:
        groups: programs that share a process where programs are not forked.
        device: "cpu", "cuda" or "cuda:N".
        jobs: how many processes measure at the same time.
        on_done: called after each program, from any thread.
        modules: what the programs import; where they are forked it is imported once for all.

    Returns:
        The outcomes; a task that was left out has none.
    """
    forked = can_fork(device)
    shares = [[runs] for group in groups for runs in group] if forked else [list(group) for group in groups]
    waiting: queue.SimpleQueue[list[Runs]] = queue.SimpleQueue()
    for share in shares:
        waiting.put(share)
    outcomes: dict[Task, Outcome] = {}
    stopped = threading.Event()

    def work() -> None:
        with _process(device, forked, modules if forked else ()) as process:
            while not stopped.is_set():
                try:
                    share = waiting.get_nowait()
                except queue.Empty:
                    return
                if not forked:
                    process.stop()
                for runs in share:
                    outcomes.update(_run_program(process, runs))
                    on_done()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(max(1, min(jobs, len(shares))))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
    finally:
        stopped.set()
    return outcomes


def _run_program(process: _Process, runs: Runs) -> dict[Task, Outcome]:
    outcomes = {}
    for task in runs:
        outcomes[task] = process.run(task)
        if outcomes[task].ending is not Ending.RAN:
            break
    return outcomes


@contextmanager
def _process(device: str, forked: bool, modules: Sequence[str]) -> Iterator[_Process]:
    process = _Process(device, forked, modules)
    try:
        yield process
    finally:
        process.stop()


class _Process:
    """One measuring process, started when it is first needed and again when it has died."""

    def __init__(self, device: str, forked: bool, modules: Sequence[str]) -> None:
        self._device = device
        self._forked = forked
        self._modules = tuple(modules)
        self._running: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def run(self, task: Task) -> Outcome:
        """Send a task and wait for its outcome."""
        running = self._running or self._start()
        # Where programs are forked, the process keeps their time itself.
        patience = task.time_limit + (_START_LIMIT if self._forked else 0)
        try:
            assert running.stdin is not None
            running.stdin.write(json.dumps(task.to_json()).encode() + b"\n")
            running.stdin.flush()
            answer = self._answers.get(timeout=patience)
        except queue.Empty:
            self.stop()
            return Outcome(Ending.TIMED_OUT, f"it was still running after {task.time_limit:g} s")
        except OSError:
            answer = b""
        if answer:
            return Outcome.from_json(json.loads(answer))
        code = running.wait()
        self.stop()
        return Outcome(Ending.KILLED, f"the measuring process {_how_it_ended(code)}")

    def stop(self) -> None:
        """End the process; the next task starts a new one."""
        if self._running is None:
            return
        self._running.kill()
        self._running.wait()
        self._running = None

    def _start(self) -> subprocess.Popen[bytes]:
        root = str(Path(torchlint.__file__).parent.parent)
        call = f"serve({self._device!r}, {self._forked!r}, {self._modules!r})"
        self._running = running = subprocess.Popen(
            [sys.executable, "-c", _START + call, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(self._device),
            start_new_session=True,
        )
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(running, self._answers), daemon=True).start()
        with suppress(queue.Empty):
            # One that does not start is found out by the first task.
            if not (greeting := self._answers.get(timeout=_START_LIMIT)):
                self._answers.put(greeting)
        return running


def _listen(running: subprocess.Popen[bytes], answers: queue.SimpleQueue[bytes]) -> None:
    """Pass on each answer; an empty one says that there will be no more."""
    assert running.stdout is not None
    for line in running.stdout:
        answers.put(line)
    answers.put(b"")


def _environment(device: str) -> dict[str, str]:
    """One thread and no chance: what differs between two runs is the program's."""
    fixed = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    # A CUDA build starts threads as soon as it sees a device, and they do not survive a fork.
    cuda = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"} if device.startswith("cuda") else {"CUDA_VISIBLE_DEVICES": ""}
    return {**os.environ, **fixed, **cuda}


def _how_it_ended(code: int) -> str:
    with suppress(ValueError):
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
