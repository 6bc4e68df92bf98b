"""Runs one program under probes, in this process: any callable that takes a loader and a device, or a script."""

from __future__ import annotations

import gc
import importlib.util
import random
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchlint.verify.batches import Batches, Recorder
from torchlint.verify.measurement import DEFAULT_STEPS, Series
from torchlint.verify.probes import Probe

__all__ = ["Measured", "NotAProgram", "fixture", "measure", "script"]

Program = Callable[[Batches, torch.device], object]


class NotAProgram(Exception):
    """A file that has no ``main``; its text is one line."""


@dataclass(frozen=True)
class Measured:
    """What a run gave.

    Attributes:
        result: what the program returned.
        drawn: how many steps it began.
        series: the figures of all probes, by name.
    """

    result: object
    drawn: int
    series: dict[str, Series]


def measure(
    program: Program,
    probes: Sequence[Probe],
    *,
    device: str = "cpu",
    steps: int = DEFAULT_STEPS,
    batch_sizes: Sequence[int] = (32,),
) -> Measured:
    """Run a program and let the probes look between its steps.

    Automatic collection is off while it runs, so that garbage is counted at the same places in every run; it is
    collected between steps.

    Args:
        program: called once with a loader and a device.
        probes: fresh ones.
        device: "cpu", "cuda" or "cuda:N".
        steps: how many batches the loader has.
        batch_sizes: rows of the batches, in turn.

    Raises:
        BaseException: whatever the program raises.
    """
    recorder = Recorder(probes)
    batches = Batches(recorder, steps, batch_sizes)
    random.seed(0)
    torch.manual_seed(0)
    with ExitStack() as entered:
        entered.enter_context(_without_automatic_collection())
        for probe in probes:
            entered.enter_context(probe.running())
        result = program(batches, torch.device(device))
        recorder.close()
    return Measured(result, recorder.drawn, {name: s for probe in probes for name, s in probe.series().items()})


def fixture(path: Path) -> Program:
    """The ``main`` of a file, which is imported only when it is called; it may import what lies beside it.

    Raises:
        NotAProgram: when called: the file defines no ``main``.
    """

    def run(loader: Batches, device: torch.device) -> object:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise NotAProgram(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        # By its name, since dataclasses, pickle and worker processes look a class's module up.
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
            main: Any = getattr(module, "main", None)
            if main is None:
                raise NotAProgram("it defines no main(loader, device)")
            result: object = main(loader, device)
            return result
        finally:
            sys.path.remove(str(path.parent))
            sys.modules.pop(path.stem, None)

    return run


def script(path: Path, arguments: Sequence[str] = ()) -> Program:
    """A whole script, run as ``python PATH ARGUMENTS``; its own DataLoaders are the probe.

    A step begins whenever any DataLoader of it is asked for a batch. What it leaves in its global variables is the
    result.
    """

    def run(loader: Batches, device: torch.device) -> object:
        given = sys.argv
        sys.argv = [str(path), *arguments]
        try:
            with _every_loader_tells(loader.recorder):
                return runpy.run_path(str(path), run_name="__main__")
        finally:
            sys.argv = given

    return run


@contextmanager
def _without_automatic_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _every_loader_tells(recorder: Recorder) -> Iterator[None]:
    """While this lasts, each batch that any DataLoader gives is a step."""
    draw = _BaseDataLoaderIter.__next__

    def step_and_draw(iterator: _BaseDataLoaderIter) -> Any:
        recorder.step()
        return draw(iterator)

    _BaseDataLoaderIter.__next__ = step_and_draw  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        _BaseDataLoaderIter.__next__ = draw  # type: ignore[method-assign]
