"""Mixins of another file that keep what their hosts set: the graph is the host's, the sum is the mixin's."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

MIXIN = """
    class Ledger:
        {begins}

        def book(self):
            {books}

        def close(self):
            {closes}
"""


@pytest.mark.parametrize(
    ("changes", "leaks"),
    [
        ({}, True),
        ({"books": "self.total += self.loss * self.weight"}, True),
        ({"books": "self.rows.append(self.loss)"}, True),
        ({"books": "self.total = 0.9 * self.total + 0.1 * self.loss"}, True),
        ({"books": "self.total = self.total + self.loss.item()"}, False),
        ({"books": "self.total = self.total + self.loss.detach()"}, False),
        ({"books": "self.total = self.loss"}, False),
        ({"books": "self.loss = self.loss.detach(); self.total = self.total + self.loss"}, False),
        ({"books": "self.total = self.total + self.weight"}, False),
        ({"after": "self.loss = self.loss.detach()"}, False),
        ({"after": "self.loss = float(self.loss)"}, False),
        ({"after": "self.total = 0.0"}, False),
        ({"after": "self.close()", "closes": "self.total = 0.0"}, False),
        ({"trains": "pass", "after": "if y: self.total.backward(); self.total = 0.0"}, False),
        ({"mode": "with torch.no_grad():"}, False),
    ],
)
def test_a_mixin_adds_up_what_its_host_sets(tmp_path: Path, changes: dict[str, str], leaks: bool) -> None:
    pieces = {
        "begins": "rows = []",
        "books": "self.total = self.total + self.loss",
        "closes": "print(self.total)",
        "mode": "if True:",
        "trains": "self.loss.backward()",
        "after": "pass",
    } | changes
    host = f"""
        import torch
        from ledger import Ledger

        class Coach(Ledger):
            def __init__(self, weight: float):
                self.net = torch.nn.Linear(3, 1)
                self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
                self.total, self.weight, self.loss = 0.0, 0.5, None

            def fit(self, loader):
                for x, y in loader:
                    self.optimizer.zero_grad()
                    {pieces["mode"]}
                        self.loss = (self.net(x) - y).square().mean()
                    {pieces["trains"]}
                    self.optimizer.step()
                    {pieces["after"]}
                    self.book()
    """
    found = Project(tmp_path, {"ledger.py": MIXIN.format(**pieces), "host.py": host}).found()
    assert any(one.startswith(("host.py: TLK103", "host.py: TLK105")) for one in found) == leaks
