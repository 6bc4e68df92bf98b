"""What autograd saves for a backward that never comes: the direct proof that a forward needed no gradients."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch.autograd.graph import saved_tensors_hooks

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe
from torchlint.verify.threads import in_every_thread

__all__ = ["SavedProbe"]


class SavedProbe(Probe):
    """Counts the bytes that were saved for backward and that no backward had read when the program ended.

    Series:
        saved.unused: those bytes, by the step in which they were saved.

    Parameters are not counted: they are alive anyhow. What the last steps saved may still be read, so those are not
    judged. Sees: every operation that saves tensors, ``ctx.save_for_backward`` among them, in every thread. Blind to:
    what a custom function keeps on ``ctx`` by hand; programs under ``torch.func``, where torch allows no such hooks.
    """

    def __init__(self) -> None:
        """Nothing was saved yet."""
        self._saved: list[_Saved] = []
        self._step = -1
        self._samples = 0

    def running(self) -> AbstractContextManager[object]:
        """Hooks in every thread."""
        return in_every_thread(lambda: saved_tensors_hooks(self._pack, _unpack))

    def sample(self, drawn: int) -> None:
        """From here on step ``drawn`` runs."""
        self._step = drawn
        self._samples += 1

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        unused = [0] * max(self._samples - 1, 0)
        for saved in self._saved:
            if not saved.read and 0 <= saved.step < len(unused):
                unused[saved.step] += saved.size
        return {"saved.unused": tuple(unused)}

    def _pack(self, tensor: torch.Tensor) -> tuple[_Saved, torch.Tensor]:
        counted = not (tensor.is_leaf and tensor.requires_grad)
        record = _Saved(self._step, tensor.numel() * tensor.element_size() if counted else 0)
        self._saved.append(record)
        # Detached, since an output that its own node holds would be a cycle that nothing frees.
        return record, tensor.detach()


@dataclass
class _Saved:
    """One saved tensor: its step, its bytes, and whether a backward has read it."""

    step: int
    size: int
    read: bool = False


def _unpack(packed: tuple[_Saved, torch.Tensor]) -> torch.Tensor:
    record, tensor = packed
    record.read = True
    return tensor
