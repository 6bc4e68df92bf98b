"""The caching allocator of a CUDA device, as it accounts for itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Protocol

import torch

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe

__all__ = ["CudaProbe", "Statistics"]


class Statistics(Protocol):
    """The part of ``torch.cuda`` that is asked; tests give a stand-in where there is no GPU."""

    def synchronize(self, device: Any = None) -> None:
        """Wait until the device has done what it was given."""

    def memory_stats(self, device: Any = None) -> Mapping[str, Any]:
        """The allocator's counters by name."""

    def max_memory_allocated(self, device: Any = None) -> int:
        """The most bytes allocated at once since the last reset."""

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Begin anew with what is allocated now."""


class CudaProbe(Probe):
    """Reads the allocator's counters, after the device has come to rest.

    Series:
        cuda.requested: bytes asked for and alive (``requested_bytes.all.current``), at each sample.
        cuda.allocated: the same, each block rounded to 512 (``allocated_bytes.all.current``), at each sample.
        cuda.segments: segments taken from the driver (``segment.all.current``), at each sample.
        cuda.taken: segments taken from the driver (``segment.all.allocated``), by step.
        cuda.retries: allocations that had to empty the cache first (``num_alloc_retries``), at each sample.
        cuda.peak: the most bytes allocated at once, by step.

    Bytes are above what the process held when the probe was made. Sees: everything that goes through torch's allocator,
    cuBLAS workspaces included. Blind to: CUDA contexts, libraries with allocators of their own, graph nodes (they
    are host memory: ``total += loss`` after backward allocates nothing here).
    """

    def __init__(self, device: str, statistics: Statistics = torch.cuda) -> None:
        """Take the baseline.

        Args:
            device: "cuda" or "cuda:N".
            statistics: who is asked.
        """
        self._device = device
        self._statistics = statistics
        self._requested: list[int] = []
        self._allocated: list[int] = []
        self._segments: list[int] = []
        self._taken: list[int] = []
        self._retries: list[int] = []
        self._peaks: list[int] = []
        statistics.synchronize(device)
        self._baseline = statistics.memory_stats(device)
        statistics.reset_peak_memory_stats(device)

    def before_collection(self, drawn: int) -> None:
        """Close step ``drawn`` - 1: its peak is read before anything is freed."""
        self._statistics.synchronize(self._device)
        if drawn > 0:
            peak = self._statistics.max_memory_allocated(self._device)
            self._peaks.append(peak - self._baseline.get("allocated_bytes.all.current", 0))

    def sample(self, drawn: int) -> None:
        """Read the counters; from here on step ``drawn`` runs."""
        counters = self._statistics.memory_stats(self._device)
        self._requested.append(self._above("requested_bytes.all.current", counters))
        self._allocated.append(self._above("allocated_bytes.all.current", counters))
        self._segments.append(counters.get("segment.all.current", 0))
        self._taken.append(counters.get("segment.all.allocated", 0))
        self._retries.append(counters.get("num_alloc_retries", 0))
        self._statistics.reset_peak_memory_stats(self._device)

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        return {
            "cuda.requested": tuple(self._requested),
            "cuda.allocated": tuple(self._allocated),
            "cuda.segments": tuple(self._segments),
            "cuda.taken": tuple(after - before for before, after in pairwise(self._taken)),
            "cuda.retries": tuple(self._retries),
            "cuda.peak": tuple(self._peaks),
        }

    def _above(self, name: str, counters: Mapping[str, Any]) -> int:
        return int(counters.get(name, 0) - self._baseline.get(name, 0))
