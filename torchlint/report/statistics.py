"""How often each rule found something."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from torchlint.report.summary import summary

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic
    from torchlint.run import Run

__all__ = ["render", "render_json"]


def render(run: Run) -> str:
    """A line a code, the most frequent first, ``[*]`` where ``--fix`` repairs some; then the summary."""
    counts = _counts(run)
    digits = max((len(str(count)) for _, count, _ in counts), default=1)
    any_fixable = any(fixable for _, _, fixable in counts)
    rows = [
        f"{count:>{digits}}  {one.code}  {_mark(fixable) if any_fixable else ''}{one.name}"
        for one, count, fixable in counts
    ]
    return "".join(f"{row}\n" for row in [*rows, summary(run)])


def render_json(run: Run) -> str:
    """The same as a list of objects, in ruff's shape."""
    listed = [
        {
            "code": one.code,
            "name": one.name,
            "count": count,
            "fixable": fixable > 0,
            "fixable_count": fixable,
        }
        for one, count, fixable in _counts(run)
    ]
    return json.dumps(listed, indent=2) + "\n"


def _counts(run: Run) -> list[tuple[Diagnostic, int, int]]:
    """For each code: one finding of it, how many there are, and how many of them have a safe repair."""
    examples = {diagnostic.code: diagnostic for diagnostic in run.diagnostics}
    found = Counter(diagnostic.code for diagnostic in run.diagnostics)
    safe = Counter(one.code for one in run.diagnostics if one.repair is not None and one.repair.safe)
    ordered = sorted(found, key=lambda code: (-found[code], code))
    return [(examples[code], found[code], safe[code]) for code in ordered]


def _mark(fixable: int) -> str:
    """ruff's sign for what can be repaired."""
    return "[*] " if fixable else "    "
