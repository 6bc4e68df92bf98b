"""JSON in ruff's shape, so that what reads ruff's reads ours, and the one key ``severity`` besides."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from torchlint.report.lines import Lines

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic, Repair
    from torchlint.run import Run

__all__ = ["render"]

STDIN = "-"


def render(run: Run) -> str:
    """A list of objects, one a finding; ASCII only, so that no code page can spoil it."""
    found = [_object(diagnostic, Lines(file.text)) for file in run.in_order for diagnostic in file.diagnostics]
    return json.dumps(found, indent=2) + "\n"


def _object(diagnostic: Diagnostic, lines: Lines) -> dict[str, Any]:
    """One finding; rows and columns count from 1, file names are absolute, all as ruff has it."""
    return {
        "cell": None,
        "code": diagnostic.code,
        "end_location": _place(diagnostic.end_line, diagnostic.end_column),
        "filename": STDIN if diagnostic.path == STDIN else os.path.abspath(diagnostic.path),
        "fix": None if diagnostic.repair is None else _fix(diagnostic.repair, lines),
        "location": _place(diagnostic.line, diagnostic.column),
        "message": diagnostic.message,
        "noqa_row": diagnostic.line,
        "severity": diagnostic.level.value,
        "url": None,
    }


def _fix(repair: Repair, lines: Lines) -> dict[str, Any]:
    """A repair as ruff's fix."""
    return {
        "applicability": "safe" if repair.safe else "unsafe",
        "edits": [
            {
                "content": edit.text,
                "location": _place(*lines.position(edit.start)),
                "end_location": _place(*lines.position(edit.end)),
            }
            for edit in repair.replacements
        ],
        "message": repair.title,
    }


def _place(row: int, column: int) -> dict[str, int]:
    """A position as ruff writes it."""
    return {"column": column, "row": row}
