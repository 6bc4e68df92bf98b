"""What a function of another file keeps in a global of its own: under a name that is written, or in what it empties."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

BOARD = """
    _rows, _last = {{}}, {{}}

    def note(name, value):
        {kept}

    def note_all(prefix, values):
        for name, value in values.items():
            note(prefix + name, value)

    def note_loss(value):
        note("loss", value)

    {more}
"""

LEAK = ["fit.py: TLK105 warning"]
ADDS, REPLACES = "_rows.setdefault(name, []).append(value)", "_last[name] = value"
EMPTIES = "def begin():\n        _rows.clear()"


def found(folder: Path, kept: str, each: str, more: str = "") -> list[str]:
    board = BOARD.format(kept=kept, more=more)
    return Project(folder, {"board.py": board, "fit.py": fit("import board", "step = 0", each)}).found()


@pytest.mark.parametrize(
    ("kept", "each"),
    [
        (ADDS, 'board.note("loss", loss)'),
        (ADDS, "board.note_loss(loss)"),
        (REPLACES, 'step += 1; board.note(f"loss {step}", loss)'),
        (REPLACES, "step += 1; board.note(step, loss)"),
        ("_last[name] = _last.get(name, 0) + value", 'board.note("loss", loss)'),
    ],
)
def test_what_is_added_grows(tmp_path: Path, kept: str, each: str) -> None:
    assert found(tmp_path, kept, each) == LEAK


@pytest.mark.parametrize(
    ("kept", "each", "more"),
    [
        (REPLACES, 'board.note("loss", loss)', ""),
        (REPLACES, 'board.note(name="loss", value=loss)', ""),
        (REPLACES, "board.note_loss(loss)", ""),
        (ADDS, 'board.note("loss", loss.item())', ""),
        (ADDS, 'board.note("loss", loss); board.begin()', EMPTIES),
        (ADDS, 'board.note("loss", loss)', EMPTIES),  # who empties it, and when, is not seen
    ],
)
def test_what_is_replaced_or_emptied_does_not(tmp_path: Path, kept: str, each: str, more: str) -> None:
    assert found(tmp_path, kept, each, more) == []
