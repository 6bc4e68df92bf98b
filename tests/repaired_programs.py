"""Programs that are run before and after their repair: what one computes is told in plain numbers."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from projects import Project

pytest.importorskip("torch", reason="the programs need torch, and it is not installed")

import torch

from torchlint.config import Settings
from torchlint.plan import plan
from torchlint.run import Job, Repairs, check_files

__all__ = ["HEAD", "checked", "outcome", "repair_and_compare", "written"]

HEAD = """
import copy
import torch
import torch.nn.functional as F
from torch import nn

def batches(steps=3):
    return [torch.randn(5, 4) for _ in range(steps)]

"""


def written(folder: Path, files: dict[str, str]) -> Path:
    Project(folder, {f"{name}.py": text for name, text in files.items()})
    return folder


def checked(folder: Path, repairs: Repairs) -> list[str]:
    """Check a folder, and repair it; what was found before that, each with how it is repaired."""
    jobs = [
        Job(one.path, one.selection, repairs=repairs) for one in plan([str(folder)], settings=Settings(notes=True)).jobs
    ]
    results = check_files(jobs)
    assert [result.failure for result in results if result.failure is not None] == []
    safety = {None: "none", True: "safe", False: "unsafe"}
    return sorted(
        f"{one.code} {safety[one.repair and one.repair.safe]}" for result in results for one in result.diagnostics
    )


def outcome(folder: Path) -> object:
    """What the program's ``main`` returns, as plain numbers."""
    names = [path.stem for path in folder.glob("*.py")]
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    torch.manual_seed(0)
    try:
        return plain(importlib.import_module("main").main())
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)


def plain(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return repr(value.tolist())
    if isinstance(value, torch.nn.Module):
        return plain(dict(value.state_dict()))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def repair_and_compare(files: dict[str, str], folder: Path) -> list[str]:
    """Run a program before and after its safe repairs, which must not change what it returns.

    Args:
        files: the texts of its files, by the name of the module; ``main`` of the module ``main`` is run.
        folder: where they are written.

    Returns:
        what is found before, each with how it is repaired: ``TLK102 safe``.
    """
    before, after = written(folder / "before", files), written(folder / "after", files)
    found = checked(before, Repairs.NONE)
    checked(after, Repairs.SAFE)
    assert outcome(after) == outcome(before)
    return found
