"""Models that a derived class gives up, and that an attribute of its base in another file still holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
    import torch

    class Host:
        def __init__(self, lr):
            self.lr = lr
            self.net = None
            self.tuner = None

        def open(self, build):
            self.net = build().cuda()
            self.tuner = {tuner}

        def fit(self, x, y):
            loss = (self.net(x) - y).pow(2).mean()
            loss.backward()
            self.tuner.step()

        {more}
"""

DERIVED = """
    import torch
    from host import Host

    class Lent(Host):
        {before}

        def give_back(self):
            del self.net
            {after}
            torch.cuda.empty_cache()
            self.net = None
"""

USER = """
    from lent import Lent

    def work(jobs):
        lent = Lent(0.1)
        for job in jobs:
            lent.open(job.build)
            lent.fit(job.x, job.y)
            {line}
            lent.give_back()
"""


ADAM = "torch.optim.Adam(self.net.parameters(), self.lr)"
REST = "def rest(self):\n            self.tuner = None"
CLOSE = "def close(self):\n            del self.tuner"
OPEN = "def open(self, build):\n            self.net = build().eval()"
OPEN_AS_WELL = "def open(self, build):\n            super().open(build)\n            print(self.lr)"


@pytest.mark.parametrize(
    ("base", "derived", "line", "is_held"),
    [
        ((ADAM, "pass"), ("pass", "pass"), "pass", True),
        (("torch.nn.DataParallel(self.net)", "pass"), ("pass", "pass"), "pass", True),
        ((ADAM, "pass"), (OPEN_AS_WELL, "pass"), "pass", True),
        (("torch.optim.Adam([torch.zeros(3, requires_grad=True)])", "pass"), ("pass", "pass"), "pass", False),
        (("sum(p.numel() for p in self.net.parameters())", "pass"), ("pass", "pass"), "pass", False),
        ((ADAM, "pass"), ("pass", "self.tuner = None"), "pass", False),
        ((ADAM, "pass"), ("pass", "pass"), "lent.tuner = None", False),
        ((ADAM, REST), ("pass", "self.rest()"), "pass", False),
        ((ADAM, CLOSE), ("pass", "pass"), "pass", False),  # who closes it is not seen, and somebody may
        ((ADAM, "pass"), (OPEN, "pass"), "pass", False),  # the method that makes the optimizer never runs
    ],
)
def test_an_attribute_of_the_base_holds_what_is_given_up(
    tmp_path: Path, base: tuple[str, str], derived: tuple[str, str], line: str, is_held: bool
) -> None:
    files = {
        "host.py": BASE.format(tuner=base[0], more=base[1]),
        "lent.py": DERIVED.format(before=derived[0], after=derived[1]),
        "user.py": USER.format(line=line),
    }
    found = [one for one in Project(tmp_path, files).found() if "TLK408" in one]
    assert found == (["lent.py: TLK408 warning"] if is_held else [])
