"""Objects that Python's cyclic collector tracks."""

from __future__ import annotations

import gc
from collections.abc import Mapping

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe

__all__ = ["ObjectProbe"]


class ObjectProbe(Probe):
    """Counts tracked objects after a collection.

    Series:
        objects.live: objects at each sample; those from before ``gc.freeze()`` are not among them.

    Sees: containers, instances, functions, tensors' Python halves, autograd nodes that Python named. Blind to: numbers,
    strings and bytes, which no collector tracks, and everything that lives in C++ alone.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._live: list[int] = []

    def sample(self, drawn: int) -> None:
        """Count."""
        self._live.append(len(gc.get_objects()))

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        return {"objects.live": tuple(self._live)}
