"""What goes to the process that measures and what comes back: plain data, so that a crash loses one run and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

__all__ = ["DEFAULT_STEPS", "Ending", "Outcome", "Pass", "Series", "Task", "warm_up_steps"]

DEFAULT_STEPS = 16
"""Steps of a run, its warm-up included."""

Series = tuple[int, ...]
"""One number a sample or a step; which of the two, the probe that made it says."""


def warm_up_steps(device: str) -> int:
    """Steps that are not judged: optimizers make their state, caches fill, cuBLAS and cuDNN take workspaces.

    Args:
        device: "cpu", "cuda" or "cuda:N".
    """
    return 8 if device.startswith("cuda") else 4


class Pass(Enum):
    """One run of a program under probes that do not disturb each other."""

    PLAIN = "plain"
    """Autograd nodes, and the result; on CUDA the allocator's figures too."""
    STORAGE = "storage"
    """Every tensor storage, through a dispatch mode."""
    SAVED = "saved"
    """What is saved for backward, through hooks."""
    CALLS = "calls"
    """Calls and constructions, through the interpreter's profiling hook."""
    HOST = "host"
    """Collected objects, the C heap, worker processes."""


@dataclass(frozen=True)
class Task:
    """One run of one program.

    Attributes:
        path: the file that defines ``main(loader, device)``.
        probes: which probes run with it.
        device: "cpu", "cuda" or "cuda:N".
        steps: how many batches the loader has in all.
        batch_sizes: rows of each batch, in turn.
        time_limit: seconds after which the run is stopped.
        memory_limit: bytes it may allocate beyond what the process has when it starts.
    """

    path: str
    probes: Pass
    device: str = "cpu"
    steps: int = DEFAULT_STEPS
    batch_sizes: tuple[int, ...] = (32,)
    time_limit: float = 30.0
    memory_limit: int = 2 << 30

    def to_json(self) -> dict[str, Any]:
        """Itself as what :mod:`json` can write."""
        return {**asdict(self), "probes": self.probes.value}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Task:
        """The inverse of :meth:`to_json`."""
        batch_sizes = tuple(fields["batch_sizes"])
        return cls(**{**fields, "probes": Pass(fields["probes"]), "batch_sizes": batch_sizes})


class Ending(Enum):
    """How a run came to its end."""

    RAN = "ran"
    RAISED = "raised"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    Attributes:
        ending: how it ended.
        detail: one line on an ending that is not RAN; "" otherwise.
        drawn: how many batches the program drew.
        series: figures by name; empty where the program did not end by itself.
        result: what the program returned, as :func:`torchlint.verify.results.flatten` gives it.
        printed: how many lines it wrote to its standard output.
    """

    ending: Ending
    detail: str = ""
    drawn: int = 0
    series: Mapping[str, Series] = field(default_factory=dict)
    result: tuple[tuple[str, Any], ...] = ()
    printed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Itself as what :mod:`json` can write."""
        return {**asdict(self), "ending": self.ending.value}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Outcome:
        """The inverse of :meth:`to_json`."""
        return cls(
            ending=Ending(fields["ending"]),
            detail=fields["detail"],
            drawn=fields["drawn"],
            series={name: tuple(values) for name, values in fields["series"].items()},
            result=tuple((place, value) for place, value in fields["result"]),
            printed=fields["printed"],
        )
