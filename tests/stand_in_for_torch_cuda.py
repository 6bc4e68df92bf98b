"""A stand-in for the statistics of ``torch.cuda``, for machines without a GPU: nothing here was measured on one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["StandInForTorchCuda"]

BLOCK = 512
"""Bytes to which the caching allocator rounds; pytorch, c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize."""

TOTAL = 8 << 30
"""Bytes that the device has."""


class StandInForTorchCuda:
    """Counts as the caching allocator would what a test says is allocated and freed."""

    def __init__(self) -> None:
        self.fraction = 1.0
        self.requested = self.allocated = self.peak = self.retries = self.synchronized = self.taken = 0

    def allocate(self, size: int) -> None:
        self.requested += size
        self.allocated += _rounded(size)
        self.peak = max(self.peak, self.allocated)
        self.taken += 1

    def free(self, size: int) -> None:
        self.requested -= size
        self.allocated -= _rounded(size)

    def synchronize(self, device: Any = None) -> None:
        self.synchronized += 1

    def memory_stats(self, device: Any = None) -> Mapping[str, Any]:
        return {
            "requested_bytes.all.current": self.requested,
            "allocated_bytes.all.current": self.allocated,
            "segment.all.current": -(-self.allocated // (2 << 20)),
            "segment.all.allocated": self.taken,
            "num_alloc_retries": self.retries,
        }

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        return TOTAL - self.allocated, TOTAL

    def memory_reserved(self, device: Any = None) -> int:
        return self.allocated

    def set_per_process_memory_fraction(self, fraction: float, device: Any = None) -> None:
        self.fraction = fraction

    def max_memory_allocated(self, device: Any = None) -> int:
        return self.peak

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        self.peak = self.allocated


def _rounded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
