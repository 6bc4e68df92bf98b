"""Tensor storages: bytes alive, who survives, the peak inside a step, and what only the cyclic collector frees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
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
        storages.cyclic: bytes that the collection at each sample freed.
        storages.peak: the most bytes alive at once, by step.
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
        self._cyclic: list[int] = []
        self._before = 0

    def running(self) -> AbstractContextManager[object]:
        """A dispatch mode in every thread."""
        return in_every_thread(lambda: _Mode(self._ledger))

    def before_collection(self, drawn: int) -> None:
        """Read what is alive with the garbage."""
        self._before = self._ledger.live()

    def sample(self, drawn: int) -> None:
        """Read what is alive without it; from here on step ``drawn`` runs."""
        self._live.append(self._ledger.live())
        self._cyclic.append(self._before - self._live[-1])
        self._ledger.begin(drawn)

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        steps = range(len(self._live) - 1)
        ledger = self._ledger
        survivors = ledger.by_step()
        return {
            "storages.live": tuple(self._live),
            "storages.survivors": tuple(survivors.get(step, 0) for step in steps),
            "storages.cyclic": tuple(self._cyclic),
            "storages.peak": tuple(ledger.peaks.get(step, 0) for step in steps),
            "storages.made": tuple(ledger.made.get(step, 0) for step in steps),
            "storages.operations": tuple(ledger.operations.get(step, 0) for step in steps),
        }


@dataclass
class _Entry:
    """One storage: its weak reference, bytes and step of birth."""

    reference: StorageWeakRef
    size: int
    step: int


class _Ledger:
    """The storages of one run; step -1 is what comes before the first batch."""

    def __init__(self) -> None:
        self.step = -1
        self.peaks: dict[int, int] = {}
        self.made: dict[int, int] = {}
        self.operations: dict[int, int] = {}
        self._entries: dict[int, _Entry] = {}
        self._closed: dict[int, int] | None = None

    def begin(self, step: int) -> None:
        """From here on ``step`` runs."""
        self.step = step
        self._closed = self._count()

    def note(self, tensors: Iterable[torch.Tensor]) -> None:
        """An operation that read and made ``tensors`` has just run."""
        step = self.step
        self.operations[step] = self.operations.get(step, 0) + 1
        for tensor in tensors:
            self._follow(tensor)
        self.peaks[step] = max(self.peaks.get(step, 0), self.live())

    def live(self) -> int:
        """Bytes alive now. The address of a storage that died is free again only when its weak reference is dropped."""
        entries = self._entries
        for key in [key for key, entry in entries.items() if entry.reference.expired()]:
            del entries[key]
        return sum(entry.size for entry in entries.values())

    def by_step(self) -> Mapping[int, int]:
        """Bytes that were alive when the last step began, by step of birth."""
        return self._closed or {}

    def _count(self) -> dict[int, int]:
        counted: dict[int, int] = {}
        for entry in self._entries.values():
            counted[entry.step] = counted.get(entry.step, 0) + entry.size
        return counted

    def _follow(self, tensor: torch.Tensor) -> None:
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            # A sparse or wrapped tensor has no storage of its own.
            return
        if storage.device.type == "meta":
            return
        known = self._entries.get(storage._cdata)
        if known is None:
            self._entries[storage._cdata] = _Entry(StorageWeakRef(storage), storage.nbytes(), self.step)
            self.made[self.step] = self.made.get(self.step, 0) + 1
        else:
            # resize_() changes a storage in place.
            known.size = storage.nbytes()


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
