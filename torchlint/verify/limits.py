"""Keeps one program from taking the machine with it: memory, output, working folder."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["captured_output", "limited_memory", "scratch_folder"]

_CUDA_HOST_ALLOWANCE = 8 << 30
"""Bytes of host memory that CUDA's libraries may map lazily, on top of the limit."""


@contextmanager
def limited_memory(extra: int, device: str) -> Iterator[None]:
    """Let this process allocate ``extra`` bytes more than it has now; beyond that, allocation fails.

    Host memory is limited by ``RLIMIT_DATA`` (Linux 4.7 and later; elsewhere there is no limit), device memory by
    torch's own allocator.

    Args:
        extra: bytes.
        device: "cpu", "cuda" or "cuda:N".
    """
    on_cuda = device.startswith("cuda")
    restore = _limit_host(extra + (_CUDA_HOST_ALLOWANCE if on_cuda else 0))
    if on_cuda:
        _limit_device(extra, device)
    try:
        yield
    finally:
        restore()


def _limit_host(extra: int) -> Callable[[], None]:
    """Sets the limit and returns what takes it back."""
    used = _data_bytes()
    if used is None:
        return _nothing
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + extra
    if hard != resource.RLIM_INFINITY and wanted > hard:
        return _nothing
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _nothing() -> None:
    """There was no limit to take back."""


def _limit_device(extra: int, device: str) -> None:
    """Torch takes the limit as a share of the whole device."""
    import torch

    free, total = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device)
    torch.cuda.set_per_process_memory_fraction(min(1.0, (held + min(extra, free)) / total), device)


def _data_bytes() -> int | None:
    """What ``RLIMIT_DATA`` counts of this process; None where nobody tells."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")]
    return found[0] if found else None


class Printed:
    """What a program wrote while its output was captured.

    Attributes:
        lines: how many lines went to standard output; a line without an end counts.
    """

    lines: int = 0


@contextmanager
def captured_output() -> Iterator[Printed]:
    """Keep what this process writes, C code's included: standard output is counted, standard error is dropped."""
    printed = Printed()
    with tempfile.TemporaryFile() as output, open(os.devnull, "wb") as nowhere:
        kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
        _flush()
        os.dup2(output.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield printed
        finally:
            _flush()
            for descriptor, original in kept.items():
                os.dup2(original, descriptor)
                os.close(original)
            output.seek(0)
            printed.lines = sum(1 for _ in output)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


@contextmanager
def scratch_folder() -> Iterator[None]:
    """Work in a new folder, so that a program which saves files saves them nowhere."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
