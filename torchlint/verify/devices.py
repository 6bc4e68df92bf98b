"""Which device to measure on, asked of torch in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

__all__ = ["Device", "NoDevice", "find_device", "has_torch"]

_ASK = """
import json, torch
count = torch.cuda.device_count() if torch.cuda.is_available() else 0
print(json.dumps([torch.__version__, [torch.cuda.get_device_name(n) for n in range(count)]]))
"""


class NoDevice(Exception):
    """The device that was asked for is not there; its text is one line."""


@dataclass(frozen=True)
class Device:
    """Where programs run.

    Attributes:
        place: "cpu" or "cuda:N".
        name: "cpu" or the GPU's own name.
        torch: torch's version, without what stands behind a "+".
    """

    place: str
    name: str
    torch: str


def has_torch() -> bool:
    """Whether torch is installed; it is not imported."""
    return find_spec("torch") is not None


def find_device(wanted: str) -> Device:
    """The device that was asked for.

    Args:
        wanted: "auto" (CUDA where there is one), "cpu", "cuda" or "cuda:N".

    Raises:
        NoDevice: there is no such device, or torch cannot be imported.
    """
    asked = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", wanted)
    if asked is None:
        raise NoDevice(f"{wanted!r} is no device: auto, cpu, cuda or cuda:N")
    if wanted == "cpu":
        return Device("cpu", "cpu", _without_build(version("torch")))
    torch, names = _ask()
    number = int(asked[1] or 0)
    if wanted == "auto" and not names:
        return Device("cpu", "cpu", torch)
    if number >= len(names):
        there = f"there are {len(names)}" if names else "torch sees none"
        raise NoDevice(f"there is no CUDA device {number}: {there}")
    return Device(f"cuda:{number}", names[number], torch)


def _ask() -> tuple[str, list[str]]:
    """Torch's version and the names of its CUDA devices."""
    answer = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        last = answer.stderr.strip().rpartition("\n")[2]
        raise NoDevice(f"torch cannot be imported: {last}")
    torch, names = json.loads(answer.stdout.strip().rpartition("\n")[2])
    return _without_build(torch), names


def _without_build(version: str) -> str:
    """ "2.13.0" of "2.13.0+cu130"."""
    return version.partition("+")[0]
