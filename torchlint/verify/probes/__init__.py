"""The probes: one module for each thing that can be kept or wasted. Each says what it sees and what it is blind to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from torchlint.verify.measurement import Pass, Series

__all__ = ["Probe", "probes_for"]


class Probe(ABC):
    """Samples one thing between the steps of a program.

    The recorder calls :meth:`before_collection`, collects cyclic garbage, then calls :meth:`sample`; both are told how
    many batches were drawn so far, so that what is new at sample ``n`` was made in step ``n - 1`` (steps count from 0).
    """

    def running(self) -> AbstractContextManager[object]:
        """What has to be entered while the program runs."""
        return nullcontext()

    def before_collection(self, drawn: int) -> None:  # noqa: B027 - most probes have nothing to do here
        """Look while cyclic garbage is still alive."""

    @abstractmethod
    def sample(self, drawn: int) -> None:
        """Look when only what is referenced is alive."""

    @abstractmethod
    def series(self) -> Mapping[str, Series]:
        """The figures so far, by name; the class says which and in which unit."""


def probes_for(kind: Pass, device: str) -> tuple[Probe, ...]:
    """Fresh probes for one run.

    Args:
        kind: which run it is.
        device: "cpu", "cuda" or "cuda:N".
    """
    from torchlint.verify.probes.calls import CallProbe
    from torchlint.verify.probes.cuda import CudaProbe
    from torchlint.verify.probes.heap import HeapProbe
    from torchlint.verify.probes.nodes import NodeProbe
    from torchlint.verify.probes.objects import ObjectProbe
    from torchlint.verify.probes.saved import SavedProbe
    from torchlint.verify.probes.storages import StorageProbe
    from torchlint.verify.probes.workers import WorkerProbe

    if kind is Pass.PLAIN:
        return (NodeProbe(), CudaProbe(device)) if device.startswith("cuda") else (NodeProbe(),)
    if kind is Pass.STORAGE:
        return (StorageProbe(),)
    if kind is Pass.SAVED:
        return (SavedProbe(),)
    if kind is Pass.CALLS:
        return (CallProbe(),)
    return (ObjectProbe(), HeapProbe(), WorkerProbe())
