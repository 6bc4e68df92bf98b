"""Caches that a class of another file fills: whether who calls it brings a new key each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TABLES = """
    import torch

    class Tables:
        def __init__(self):
            self.tables = {{}}

        def table(self, x):
            key = {key}
            if key not in self.tables:
                self.tables[key] = torch.zeros(x.shape, device=x.device)
            return self.tables[key]

        def answer(self, x):
            {begin}
            return self.table(x) + x
"""

USER = """
    import torch
    from torch import nn
    from tables import Tables

    @torch.no_grad()
    def main(loader):
        net, tables = nn.Linear(3, 3).eval(), Tables()
        for x, _ in loader:
            print(tables.answer(net(x)).argmax(1).tolist())
"""


@pytest.mark.parametrize(
    ("key", "begin", "is_told"),
    [
        ("x", "pass", True),
        ("str(x.tolist())", "pass", True),
        ("tuple(x.shape)", "pass", False),
        ("'rows:' + x.type()", "pass", False),
        ("(x.dtype, x.device, len(x))", "pass", False),
        ("(x.dtype, str(x.tolist()))", "pass", True),
        ("x", "self.tables = {}", False),
        ("x", "self.tables.clear()", False),
    ],
)
def test_a_shape_is_no_new_key(tmp_path: Path, key: str, begin: str, is_told: bool) -> None:
    files = {"tables.py": TABLES.format(key=key, begin=begin), "user.py": USER}
    found = [one for one in Project(tmp_path, files).found() if "TLK404" in one]
    assert found == (["user.py: TLK404 error"] if is_told else [])
