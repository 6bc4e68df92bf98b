"""The C heap of the process, as glibc accounts for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe

__all__ = ["HeapProbe"]


class HeapProbe(Probe):
    """Reads ``mallinfo2`` (glibc 2.33 and later): bytes in use by malloc, mapped blocks included.

    Series:
        heap.bytes: bytes in use at each sample; the series is missing where there is no glibc.

    Sees: C++ objects (autograd nodes, profiler events), torch's CPU tensors, Python objects over 512 bytes. Blind to:
    small Python objects, which Python's own allocator keeps in arenas. Figures differ by some KB between runs.
    """

    def __init__(self) -> None:
        """Looks up the C function."""
        self._read = _reader()
        self._bytes: list[int] = []

    def sample(self, drawn: int) -> None:
        """Read."""
        if self._read is not None:
            self._bytes.append(self._read())

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        return {} if self._read is None else {"heap.bytes": tuple(self._bytes)}


class _Account(ctypes.Structure):
    """``struct mallinfo2``, from malloc.h."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


def _reader() -> Callable[[], int] | None:
    """Reads the bytes in use; None where the C library has no such account."""
    try:
        account = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return None
    account.restype = _Account
    account.argtypes = ()

    def read() -> int:
        now = account()
        return int(now.uordblks + now.hblkhd)

    return read
