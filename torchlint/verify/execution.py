"""One task in this process, from its file to its outcome; whatever the program raises stays here."""

from __future__ import annotations

import gc
import traceback
from dataclasses import replace
from pathlib import Path

from torchlint.verify.harness import NotAProgram, fixture, measure
from torchlint.verify.limits import captured_output, limited_memory, scratch_folder
from torchlint.verify.measurement import Ending, Outcome, Task
from torchlint.verify.probes import probes_for
from torchlint.verify.results import flatten
from torchlint.verify.switches import switches_put_back

__all__ = ["execute"]


def execute(task: Task) -> Outcome:
    """Run a task; its time limit is not kept here but by who waits for it.

    What earlier tasks left in this process is frozen first, so that it is not counted again.
    """
    gc.collect()
    gc.freeze()
    with captured_output() as printed, scratch_folder():
        outcome = _run(task)
    return replace(outcome, printed=printed.lines)


def _run(task: Task) -> Outcome:
    try:
        with switches_put_back(task.device), limited_memory(task.memory_limit, task.device):
            found = measure(
                fixture(Path(task.path)),
                probes_for(task.probes, task.device),
                device=task.device,
                steps=task.steps,
                batch_sizes=task.batch_sizes,
            )
        return Outcome(Ending.RAN, "", found.drawn, found.series, flatten(found.result))
    except (NotAProgram, TypeError) as error:
        return Outcome(Ending.RAISED, _headline(error))
    except BaseException as error:
        if _is_exhaustion(error):
            return Outcome(Ending.OUT_OF_MEMORY, f"it needs more than {task.memory_limit / 2**30:.3g} GiB")
        return Outcome(Ending.RAISED, f"{_headline(error)}{_place(error, task.path)}")


def _headline(error: BaseException) -> str:
    """The error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, NotAProgram) else f"{type(error).__name__}: {text[:200]}".rstrip(": ")


def _place(error: BaseException, path: str) -> str:
    """The last line of the program that it came through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" (line {lines[-1]})" if lines else ""


def _is_exhaustion(error: BaseException) -> bool:
    """True for a failed allocation: torch's CPU allocator says it with a RuntimeError."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)
