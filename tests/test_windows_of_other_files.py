"""Lists that functions of other files keep at a length: what goes in there makes room for itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

KEEPING = """
    def keep(rows, value):
        {lines}
"""

AT_A_LENGTH = [
    "rows.append(value)\n        if len(rows) > 3:\n            rows.pop(0)",
    "rows.append(value)\n        del rows[:-3]",
    "rows.append(value)\n        while len(rows) > 3:\n            del rows[0]",
    "if len(rows) >= 3:\n            rows.pop(0)\n        rows.append(value)",
]

GROWING = [
    "rows.append(value)",
    "rows.append(value)\n        if rows:\n            print(rows[0])",
    "rows.append(value)\n        if len(rows) > 3:\n            print(rows[0])",
]


@pytest.mark.parametrize("lines", AT_A_LENGTH)
def test_the_last_few_copies_of_a_model_are_no_growing_list(tmp_path: Path, lines: str) -> None:
    run = fit("import copy\n    from keeping import keep", "rows = []", "keep(rows, copy.deepcopy(net.state_dict()))")
    files = {"keeping.py": KEEPING.format(lines=lines), "run.py": run}
    assert Project(tmp_path, files).found() == []


@pytest.mark.parametrize("lines", GROWING)
def test_all_of_them_are(tmp_path: Path, lines: str) -> None:
    run = fit("import copy\n    from keeping import keep", "rows = []", "keep(rows, copy.deepcopy(net.state_dict()))")
    files = {"keeping.py": KEEPING.format(lines=lines), "run.py": run}
    assert Project(tmp_path, files).found() == ["run.py: TLK405 error"]


@pytest.mark.parametrize("lines", AT_A_LENGTH)
def test_the_last_few_losses_are_a_note(tmp_path: Path, lines: str) -> None:
    files = {
        "keeping.py": KEEPING.format(lines=lines),
        "run.py": fit("from keeping import keep", "rows = []", "keep(rows, loss)"),
    }
    assert Project(tmp_path, files).found() == ["run.py: TLK105 note"]
