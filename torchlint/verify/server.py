"""The process that measures: reads tasks as lines of JSON, answers each with one line, and survives every program.

Where programs are forked, torch is imported and warmed once and each task gets a child of its own. On CUDA, and where
there is no fork, tasks run in this process one after the other, and who sent them watches over it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

from torchlint.verify.measurement import Ending, Outcome, Pass, Task

__all__ = ["ready", "serve"]

_POLL = 0.02
"""Seconds between two looks at whether a child is still there."""


def serve(device: str, forked: bool, modules: Sequence[str] = ()) -> None:
    """Say with an empty line that torch is warm, then answer tasks from standard input until it ends.

    Args:
        device: "cpu", "cuda" or "cuda:N".
        forked: give each task a child of its own.
        modules: what programs import, imported once for all of them.
    """
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    sys.dont_write_bytecode = True
    answer = ready(device, modules)
    answers.write(b"\n")
    run: Callable[[Task], Outcome] = (lambda task: _fork(task, answer, requests)) if forked else answer
    for line in iter(requests.readline, b""):
        outcome = run(Task.from_json(json.loads(line)))
        answers.write(_line(outcome))


def ready(device: str, modules: Sequence[str] = ()) -> Callable[[Task], Outcome]:
    """Import torch, let it make what it makes once in a process, and freeze that; returns what runs a task."""
    import torch

    from torchlint.verify.execution import execute
    from torchlint.verify.probes import probes_for
    from torchlint.verify.warming import warm

    if not device.startswith("cuda"):
        torch.set_num_threads(1)
    for module in modules:
        # What cannot be imported here is the program's own mishap, and is told of there.
        with suppress(Exception):
            import_module(module)
    warm(device)
    for kind in Pass:
        probes_for(kind, device)  # what they import, each child would import again
    gc.collect()
    gc.freeze()
    return execute


def _line(outcome: Outcome) -> bytes:
    return json.dumps(outcome.to_json()).encode() + b"\n"


def _fork(task: Task, execute: Callable[[Task], Outcome], requests: BinaryIO) -> Outcome:
    """Run a task in a child; returns when the child has answered, died or used up its time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        try:
            _write_all(writing, _line(execute(task)))
        finally:
            os._exit(0)
    os.close(writing)
    try:
        return _await(child, reading, task.time_limit, requests)
    finally:
        _end(child)
        os.close(reading)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _await(child: int, reading: int, time_limit: float, requests: BinaryIO) -> Outcome:
    """What the child answers. An end of file is no sign of its death: worker processes hold the pipe as well."""
    deadline = time.monotonic() + time_limit
    received = b""
    died: Outcome | None = None
    while not received.endswith(b"\n"):
        waiting = select.select([reading, requests.fileno()], [], [], 0 if died else _POLL)[0]
        if requests.fileno() in waiting and not requests.read(1):
            # Whoever asked is gone.
            _end(child)
            os._exit(0)
        if reading in waiting and (piece := os.read(reading, 1 << 20)):
            received += piece
        elif died is not None:
            return died
        elif time.monotonic() > deadline:
            return Outcome(Ending.TIMED_OUT, f"it was still running after {time_limit:g} s")
        else:
            died = _death(child)
    return Outcome.from_json(json.loads(received))


def _death(child: int) -> Outcome | None:
    """How the child died; None while it lives. It is not reaped yet, so its number stays taken."""
    found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    if found.si_code == os.CLD_EXITED:
        return Outcome(Ending.KILLED, f"its process ended by itself with exit code {found.si_status}")
    return Outcome(Ending.KILLED, f"its process was killed by {signal.Signals(found.si_status).name}")


def _end(child: int) -> None:
    """Kill the child with all that it started, and reap it."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        # It has not become the leader of a group yet, or everything in the group is gone.
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
