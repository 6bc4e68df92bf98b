"""Worker processes of a DataLoader: how much of their memory is their own by now."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Mapping
from pathlib import Path

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe

__all__ = ["WorkerProbe"]

_PRIVATE = re.compile(r"^Private_Dirty:\s*(\d+) kB", re.MULTILINE)


class WorkerProbe(Probe):
    """Adds up ``Private_Dirty`` of the processes that the program has started.

    Series:
        workers.private: bytes at each sample; the series is missing where the kernel does not tell (not Linux).

    A forked worker shares its parent's pages until it writes to them, and counting a reference is a write: what grows
    here is what each worker copies. Sees: children started through ``multiprocessing``. Blind to: their children.
    Figures are whole pages and differ between runs.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._private: list[int] = []

    def sample(self, drawn: int) -> None:
        """Read what the children have for themselves."""
        if Path("/proc/self/smaps_rollup").exists():
            pids = (child.pid for child in multiprocessing.active_children())
            self._private.append(sum(private_bytes(pid) for pid in pids if pid is not None))

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        return {"workers.private": tuple(self._private)} if self._private else {}


def private_bytes(pid: int) -> int:
    """The bytes that a process shares with no other and has written to; 0 when it is gone."""
    try:
        account = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    found = _PRIVATE.search(account)
    return int(found[1]) * 1024 if found else 0
