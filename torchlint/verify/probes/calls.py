"""Calls: what a program does again in every step, counted and never timed."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FrameType
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe

__all__ = ["CallProbe"]

_LASTING = (torch.nn.Module, torch.optim.Optimizer, LRScheduler, DataLoader, _BaseDataLoaderIter, torch.amp.GradScaler)
"""What is built once and used in every step."""


class CallProbe(Probe):
    """Counts calls through the interpreter's profiling hook.

    Series:
        calls.made: calls of Python and C functions, by step.
        calls.built: modules, optimizers, schedulers, scalers, loaders and their iterators built, by step.

    Sees: every thread that Python starts. Blind to: what C++ calls by itself, and time.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._building = frozenset(_constructors())
        self._made = self._built = 0
        self._made_by_step: list[int] = []
        self._built_by_step: list[int] = []

    def running(self) -> AbstractContextManager[object]:
        """The profiling hook, in this thread and in those it starts."""
        return self._profiling()

    def before_collection(self, drawn: int) -> None:
        """Close step ``drawn`` - 1."""
        if drawn > 0:
            self._made_by_step.append(self._made)
            self._built_by_step.append(self._built)

    def sample(self, drawn: int) -> None:
        """Step ``drawn`` begins with nothing counted."""
        self._made = self._built = 0

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        return {"calls.made": tuple(self._made_by_step), "calls.built": tuple(self._built_by_step)}

    @contextmanager
    def _profiling(self) -> Iterator[None]:
        threading.setprofile(self._count)
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._made += 1
            if frame.f_code in self._building:
                self._built += 1
        elif event == "c_call":
            self._made += 1


def _constructors() -> Iterator[CodeType]:
    """The code of the constructors of what lasts."""
    for kind in _LASTING:
        yield inspect.unwrap(kind.__init__).__code__
