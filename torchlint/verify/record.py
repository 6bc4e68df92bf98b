"""``measured.json`` beside the programs of a rule: what was measured, on which device, with which torch."""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchlint.rewrite import write_atomic
from torchlint.verify.programs import Kind
from torchlint.verify.verification import Row, Verdict

__all__ = ["FILE", "Place", "record", "refusal"]

FILE = "measured.json"


@dataclass(frozen=True)
class Place:
    """Where it was measured.

    Attributes:
        device: "cpu" or a GPU's own name.
        torch: torch's version.
        steps: batches of each run.
    """

    device: str
    torch: str
    steps: int


def refusal(folder: Path) -> str:
    """Why nothing is recorded in a folder, in one line; "" when it can be."""
    installed = (Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib"))
    if any(folder.resolve().is_relative_to(place) for place in installed):
        return f"{folder} is installed, not yours: copy it, or use a checkout, to record figures"
    return "" if os.access(folder, os.W_OK) else f"{folder} cannot be written to"


def record(folder: Path, rows: Sequence[Row], place: Place) -> str:
    """Write the figures of a folder's programs; those of other devices stay.

    Args:
        folder: holds the programs.
        rows: theirs, all of them.
        place: where they were measured.

    Returns:
        "" when it is written, else why not, in one line: figures of a folder that does not hold are none.

    Raises:
        OSError: the file cannot be written.
    """
    failing = [row.program.path.name for row in rows if row.verdict is Verdict.FAILS]
    if failing:
        return f"{folder}: nothing recorded, since {failing[0]} is not what its name says"
    kept = [block for block in _recorded(folder / FILE) if block.get("device") != place.device]
    block = {"device": place.device, "torch": place.torch, "steps": place.steps, "rows": [*map(_figures, rows)]}
    blocks = sorted([*kept, block], key=lambda block: str(block.get("device")))
    write_atomic(str(folder / FILE), (json.dumps({"measured": blocks}, indent=1) + "\n").encode())
    return ""


def _recorded(file: Path) -> list[dict[str, Any]]:
    """The blocks of an earlier record; none where it cannot be read."""
    try:
        blocks = json.loads(file.read_text(encoding="utf-8"))["measured"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [block for block in blocks if isinstance(block, dict)]


def _figures(row: Row) -> dict[str, Any]:
    """One program's figures, without those that it has not."""
    found = row.foremost
    if found is None:
        return {"program": row.program.name, "verdict": row.verdict.value, "measured": row.sentence}
    kind = "leaking" if row.program.kind is Kind.LEAK else "clean"
    named = {"measured": found.unit, kind: found.figure, "fixed": row.fixed_figure(found), "results": row.results}
    return {"program": row.program.name, **{name: value for name, value in named.items() if value not in (None, "")}}
