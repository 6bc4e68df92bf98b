"""The loader that a program is handed: it is the probe. The program itself is not touched."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence

import torch

from torchlint.verify.probes import Probe

__all__ = ["Batches", "Recorder"]

_FEATURES = 16
_CLASSES = 4


class Recorder:
    """Lets the probes look between two steps.

    Attributes:
        drawn: how many steps have begun.
    """

    def __init__(self, probes: Sequence[Probe]) -> None:
        """Nothing has begun yet."""
        self.drawn = 0
        self._probes = probes
        self._closed = False

    def step(self) -> None:
        """A step begins."""
        if not self._closed:
            self._sample()
            self.drawn += 1

    def close(self) -> None:
        """The last step has ended; what comes after it is not looked at, so calling again does nothing."""
        if not self._closed:
            self._sample()
            self._closed = True

    def _sample(self) -> None:
        for probe in self._probes:
            probe.before_collection(self.drawn)
        gc.collect()
        for probe in self._probes:
            probe.sample(self.drawn)


class Batches:
    """A loader of (x, y) on the host: x float32 [rows, 16], y int64 [rows] in 0..3, the same numbers in every run.

    It can be iterated again and has ``steps`` batches in all, over as many epochs as are asked for; then it is empty.

    Attributes:
        recorder: is told of every step.
    """

    def __init__(self, recorder: Recorder, steps: int, batch_sizes: Sequence[int]) -> None:
        """Draw nothing yet.

        Args:
            recorder: is told of every step.
            steps: batches in all.
            batch_sizes: rows of the batches, in turn.
        """
        self.recorder = recorder
        self._rows = [batch_sizes[step % len(batch_sizes)] for step in range(steps)]
        self._generator = torch.Generator().manual_seed(7)
        self._next = 0

    def __len__(self) -> int:
        """Batches in all."""
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """What is left."""
        return _Remaining(self)

    def draw(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The next batch, as new tensors.

        Raises:
            StopIteration: there is none left.
        """
        if self._next == len(self._rows):
            self.recorder.close()
            raise StopIteration
        self.recorder.step()
        rows = self._rows[self._next]
        self._next += 1
        # Made now and not before, so that the program alone decides how long a batch lives.
        x = torch.randn(rows, _FEATURES, generator=self._generator)
        return x, torch.randint(0, _CLASSES, (rows,), generator=self._generator)


class _Remaining:
    """An iterator that keeps nothing but its loader: a generator's frame would keep the batch."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __iter__(self) -> _Remaining:
        return self

    def __next__(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self._batches.draw()
