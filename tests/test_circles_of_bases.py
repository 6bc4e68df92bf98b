"""Circles that the ``__init__`` of a base class closes, of objects whose own ``__init__`` calls that."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from projects import Project

HEAD = "import weakref\nimport torch\nfrom torch import nn\n"

BASE = """
    class Many(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.head = nn.Linear(width, 3)
            {kept}

        def forward(self, x):
            return self.ways["a"](self.encode(x))
"""

MIDDLE = """
    class Sound(Many):
        def __init__(self, width):
            {above}
            self.body = nn.Linear(8, width)

        def encode(self, x):
            return self.body(x)
"""

SEARCH = """
    MADE = Sound(32)

    def attempt(width, loader, kept):
        net = {made}
        optimizer = torch.optim.Adam(net.parameters())
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {after}
        return loss.item()

    def main(loader):
        kept = []
        print(min([attempt(width, loader, kept) for width in (32, 64)]))
        for trial in range(80):
            print(attempt(trial, loader, kept))
"""


@pytest.mark.parametrize("files", [1, 2, 3])
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, True),
        ({"kept": "self.ways = [lambda x: self.head(x)]"}, True),
        ({"kept": "self.ways = lambda x: self.head(x)"}, True),
        ({"kept": "self.prepare()\n\n    def prepare(self):\n        self.ways = lambda x: self.head(x)"}, True),
        ({"kept": "self.ways = {'a': lambda x: x.relu()}"}, False),
        ({"kept": "own = weakref.ref(self); self.ways = {'a': lambda x: own().head(x)}"}, False),
        ({"kept": "self.ways = {'a': self.head}"}, False),
        ({"above": "nn.Module.__init__(self)"}, False),
        ({"above": "super().__init__(width) if width > 3 else nn.Module.__init__(self)"}, False),
        ({"made": "MADE"}, False),
        ({"after": "kept.append(net)"}, False),
    ],
)
def test_the_object_is_in_the_circles_of_its_base(
    tmp_path: Path, changed: dict[str, str], told: bool, files: int
) -> None:
    usual = {"kept": "self.ways = {'a': lambda x: self.head(x)}", "above": "super().__init__(width)",
             "made": "Sound(width)", "after": "pass"}  # fmt: skip
    if files == 1 and "above" in changed:
        return  # one file tells it of the class that closes the circle, whoever is made of it
    base, middle, search = (dedent(text).format(**{**usual, **changed}) for text in (BASE, MIDDLE, SEARCH))
    written = {
        1: {"search.py": HEAD + base + middle + search},
        2: {"sound.py": HEAD + base + middle, "search.py": f"{HEAD}from sound import Sound\n{search}"},
        3: {"many.py": HEAD + base, "sound.py": f"{HEAD}from many import Many\n{middle}",
            "search.py": f"{HEAD}from sound import Sound\n{search}"},
    }  # fmt: skip
    found = [one for one in Project(tmp_path, written[files]).found() if "TLK407" in one]
    assert found == ["search.py: TLK407 note"] * told


ASKED = """
    class Traced(nn.Module):
        def __init__(self, width, tracer=None, deep=False):
            super().__init__()
            self.body, self.head = nn.Linear(8, width), nn.Linear(width, 3)
            {kept}

        def forward(self, x):
            return self.head(self.body(x).relu())

    Sound = Traced
"""


@pytest.mark.parametrize(
    ("test", "made", "told"),
    [
        ("if tracer is None:", "Traced(width)", True),
        ("if tracer is not None:", "Traced(width)", False),
        ("if tracer is not None:", "Traced(width, print)", True),
        ("if not tracer: print(width)\n        else:", "Traced(width)", False),
        ("if deep and width > 8:", "Traced(width)", False),
        ("if deep and width > 8:", "Traced(width, deep=True)", True),
        ("if deep or width > 8:", "Traced(width)", True),
        ("if tracer or deep:", "Traced(width)", False),
        ("if tracer or deep:", "Traced(width, deep=width > 8)", True),
        ("tracer = tracer or print\n        if tracer is not None:", "Traced(width)", True),
        ("if deep is None:", "Traced(width)", True),
    ],
)
def test_a_circle_for_those_who_ask_for_it(tmp_path: Path, test: str, made: str, told: bool) -> None:
    kept = f"{test} self.ways = lambda x: self.head(x)"
    search = dedent(SEARCH.replace("MADE = Sound(32)", "")).format(made=made, after="pass")
    found = Project(tmp_path, {"search.py": HEAD + dedent(ASKED).format(kept=kept) + search}).found()
    assert [one for one in found if "TLK407" in one] == ["search.py: TLK407 note"] * told
