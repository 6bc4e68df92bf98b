"""Tensor storages: bytes alive, who survives, the peak inside a step, and what only the cyclic collector frees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType, ref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe
from torchlint.verify.threads import in_every_thread

__all__ = ["StorageProbe"]


class StorageProbe(Probe):
    """Follows every storage that an operation makes or reads, by weak reference.

    Series:
        storages.live: bytes alive at each sample, after collection.
        storages.survivors: bytes alive at the last sample, by step of birth.
        storages.live_off_host, storages.survivors_off_host: the same without what lies in the host's memory.
        storages.cyclic: bytes that the collection at each sample freed.
        storages.peak: the most bytes alive at once in the host's memory, by step; a device's allocator tells its own.
        storages.made: storages made, by step.
        storages.operations: operations dispatched, by step.

    Sees: storages on every device but ``meta``, in every thread, in backward as well; a storage counts with its whole
    size however small the view that keeps it. Blind to: what torch's allocators add by rounding and caching (the CUDA
    probe sees that), scratch memory inside one operation, memory that is not torch's, sparse tensors' parts.
    """

    def __init__(self) -> None:
        """Nothing is followed yet."""
        self._ledger = _Ledger()
        self._live: list[int] = []
        self._live_off_host: list[int] = []
        self._cyclic: list[int] = []
        self._before = 0

    def running(self) -> AbstractContextManager[object]:
        """A dispatch mode in every thread."""
        return in_every_thread(lambda: _Mode(self._ledger))

    def before_collection(self, drawn: int) -> None:
        """Read what is alive with the garbage."""
        self._before = self._ledger.live

    def sample(self, drawn: int) -> None:
        """Read what is alive without it; from here on step ``drawn`` runs."""
        self._live.append(self._ledger.live)
        self._live_off_host.append(self._ledger.live_off_host)
        self._cyclic.append(self._before - self._live[-1])
        self._ledger.begin(drawn)

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        steps = range(len(self._live) - 1)
        ledger = self._ledger
        survivors, off_host = ledger.by_step, ledger.by_step_off_host
        return {
            "storages.live": tuple(self._live),
            "storages.survivors": tuple(survivors.get(step, 0) for step in steps),
            "storages.live_off_host": tuple(self._live_off_host),
            "storages.survivors_off_host": tuple(off_host.get(step, 0) for step in steps),
            "storages.cyclic": tuple(self._cyclic),
            "storages.peak": tuple(ledger.peaks.get(step, 0) for step in steps),
            "storages.made": tuple(ledger.made.get(step, 0) for step in steps),
            "storages.operations": tuple(ledger.operations.get(step, 0) for step in steps),
        }


@dataclass
class _Entry:
    """One living storage: what says that it died, bytes, step of birth, and whether it lies in the host's memory."""

    death: ReferenceType[torch.UntypedStorage]
    size: int
    step: int
    on_host: bool


class _Ledger:
    """The storages of one run; step -1 is what comes before the first batch.

    torch keeps the Python object of a storage as long as the storage itself, whoever in C++ holds it, so a weak
    reference to it tells of the storage's death.
    """

    def __init__(self) -> None:
        self.step = -1
        self.live = 0
        self.live_off_host = 0
        self.peaks: dict[int, int] = {}
        self.made: dict[int, int] = {}
        self.operations: dict[int, int] = {}
        self.by_step: Mapping[int, int] = {}
        self.by_step_off_host: Mapping[int, int] = {}
        self._entries: dict[int, _Entry] = {}

    def begin(self, step: int) -> None:
        """From here on ``step`` runs; the two mappings tell the bytes that are alive now, by step of birth."""
        self.step = step
        self.by_step = _by_step(self._entries.values())
        self.by_step_off_host = _by_step(entry for entry in self._entries.values() if not entry.on_host)

    def note(self, tensors: Iterable[torch.Tensor]) -> None:
        """An operation that read and made ``tensors`` has just run."""
        step = self.step
        self.operations[step] = self.operations.get(step, 0) + 1
        for tensor in tensors:
            self._follow(tensor)
        self.peaks[step] = max(self.peaks.get(step, 0), self.live - self.live_off_host)

    def _follow(self, tensor: torch.Tensor) -> None:
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            # A sparse or wrapped tensor has no storage of its own.
            return
        if storage.device.type == "meta":
            return
        address, size = storage._cdata, storage.nbytes()
        known = self._entries.get(address)
        if known is None:
            death = ref(storage, lambda _: self._forget(address))
            known = self._entries[address] = _Entry(death, 0, self.step, storage.device.type == "cpu")
            self.made[self.step] = self.made.get(self.step, 0) + 1
        # resize_() changes a storage in place.
        self._resize(known, size)

    def _forget(self, address: int) -> None:
        self._resize(self._entries.pop(address), 0)

    def _resize(self, entry: _Entry, size: int) -> None:
        more = size - entry.size
        entry.size = size
        self.live += more
        if not entry.on_host:
            self.live_off_host += more


def _by_step(entries: Iterable[_Entry]) -> Mapping[int, int]:
    """Their bytes by step of birth."""
    counted: dict[int, int] = {}
    for entry in entries:
        counted[entry.step] = counted.get(entry.step, 0) + entry.size
    return counted


class _Mode(TorchDispatchMode):
    """Tells the ledger of every operation."""

    def __init__(self, ledger: _Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        made = func(*args, **named)
        self._ledger.note(_tensors((args, tuple(named.values()), made)))
        return made


def _tensors(values: Iterable[object]) -> Iterator[torch.Tensor]:
    """The tensors in nested tuples and lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)
