"""Lists and dictionaries that one file makes and passes, and another fills."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

EPOCH = """
    from torch.nn import functional as F


    def fit(net, loader, optimizer, curve):
        for x, y in loader:
            loss = F.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve{filling}
"""

STEP = """
    from torch.nn import functional as F


    def advance(net, x, y, optimizer, curve):
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss)
"""

PROGRAM = """
    from collections import defaultdict, deque

    import torch
    from torch import nn

    from work import {name}


    def main(loader):
        net = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
{body}
"""


def told(folder: Path, work: str, body: str, name: str = "fit") -> list[str]:
    """What is found in a program of two files."""
    indented = "\n".join("        " + line for line in body.strip("\n").splitlines())
    return Project(folder, {"work.py": work, "main.py": PROGRAM.format(name=name, body=indented)}).found()


@pytest.mark.parametrize(
    ("making", "filling", "leaks"),
    [
        ("[]", ".append(loss)", True),
        ("list()", ".append(loss)", True),
        ("deque()", ".append(loss)", True),
        ("deque(maxlen=50)", ".append(loss)", False),
        ("[]", ".append(loss.item())", False),
        ("[]", ".append(loss.detach())", False),
        ("{'fit': []}", "['fit'].append(loss)", True),
        ("{'fit': []}", "['fit'].append(float(loss))", False),
        ("defaultdict(list)", "['fit'].append(loss)", True),
        ("dict()", ".setdefault('fit', []).append(loss)", True),
        ("{}", "['fit'] = loss", False),
    ],
)
def test_what_another_file_passes_keeps_the_losses_of_an_epoch(
    tmp_path: Path, making: str, filling: str, leaks: bool
) -> None:
    body = f"""
curve = {making}
for epoch in range(9):
    fit(net, loader, optimizer, curve)
"""
    found = told(tmp_path, EPOCH.format(filling=filling), body)
    assert found == (["work.py: TLK102 warning"] if leaks else [])


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("curve = []\nfor x, y in loader:\n    advance(net, x, y, optimizer, curve)", True),
        ("curve = []\nfor x, y in loader:\n    advance(net, x, y, optimizer, curve=curve)", True),
        (
            "for e in range(9):\n    curve = []\n    for x, y in loader:\n        advance(net, x, y, optimizer, curve)",
            True,
        ),
        ("for x, y in loader:\n    curve = []\n    advance(net, x, y, optimizer, curve)", False),
        ("for x, y in loader:\n    advance(net, x, y, optimizer, [])", False),
        ("curve = []\nfor x, y in loader:\n    advance(net, x, y, optimizer, curve)\n    curve.clear()", False),
        ("curve = []\nfor x, y in loader:\n    advance(net, x, y, optimizer, curve)\n    del curve[:-10]", False),
        ("curve = []\nfor x, y in loader:\n    advance(net, x, y, optimizer, curve)\n    curve[:] = []", False),
        ("curve = make(loader)\nfor x, y in loader:\n    advance(net, x, y, optimizer, curve)", False),
    ],
)
def test_what_a_step_is_passed_is_as_old_as_where_it_is_made(tmp_path: Path, body: str, leaks: bool) -> None:
    found = told(tmp_path, STEP, body, "advance")
    assert found == (["work.py: TLK102 warning"] if leaks else [])


RUNNER = """
    import torch
    from torch import nn

    from work import advance


    class Runner:
        def __init__(self, loader):
            self.net = nn.Linear(8, 1)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            self.loader = loader
            self.curve = []

        def run(self):
{before}            for x, y in self.loader:
                advance(self.net, x, y, self.optimizer, self.curve)
"""


BEGUN = "            self.curve = []\n"
UNKNOWN = """            self.open()

        def open(self):
            self.curve = make()
"""


@pytest.mark.parametrize(("before", "leaks"), [("", True), (BEGUN, True), (UNKNOWN, False)])
def test_an_attribute_is_what_the_methods_make_it(tmp_path: Path, before: str, leaks: bool) -> None:
    found = Project(tmp_path, {"work.py": STEP, "main.py": RUNNER.format(before=before)}).found()
    assert found == (["work.py: TLK102 warning"] if leaks else [])
