"""Hooks that a factory of another file makes, and the lists of a dictionary that they fill."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import FIT, Project

FACTORY = """
    import torch

    def recorder(rows, name):
        def hook(part, args, out):
            {keep}
        return hook
"""

FILLS = "rows.setdefault(name, []).append(out)"


@pytest.mark.parametrize(
    ("keep", "rows", "each", "told"),
    [
        (FILLS, "{}", "pass", True),
        (FILLS.replace("(out)", "(out[1])"), "{}", "pass", True),
        (FILLS.replace("(out)", "((name, out))"), "{}", "pass", True),
        ("rows[name].append(out)", '{"a": []}', "pass", True),
        ("rows[name].append(out)", "defaultdict(list)", "pass", True),
        ("rows.append(out)", "[]", "pass", True),
        (FILLS.replace("(out)", "(out.detach())"), "{}", "pass", False),
        (FILLS.replace("(out)", "(out.shape)"), "{}", "pass", False),
        ("rows[name] = out", "{}", "pass", False),
        (FILLS, "{}", "rows.clear()", False),
        (FILLS, "{}", 'rows.pop("a")', False),
        (FILLS, "{}", 'rows["a"] = []', False),
        (FILLS, "{}", "for name in rows: rows[name] = []", False),
        (FILLS, "{}", 'if "a" not in rows: rows["a"] = []', True),
    ],
)
def test_lists_of_a_dictionary(tmp_path: Path, keep: str, rows: str, each: str, told: bool) -> None:
    before = f"rows = {rows}; net.register_forward_hook(recorder(rows, 'a'))"
    imports = "from collections import defaultdict; from recorders import recorder"
    fit = FIT.format(imports=imports, before=before, each=each, after="return None")
    found = Project(tmp_path, {"recorders.py": FACTORY.format(keep=keep), "fit.py": fit}).found()
    assert [one for one in found if "TLK106" in one] == ["fit.py: TLK106 warning"] * told
