"""Sums that functions of other files keep in a dictionary which they are given: of what they are given, or of what is
in it under another name.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

COUNT = """
    def count(totals, loss):
        {kept}
        totals["seen"] += 1
        return totals
"""

TALLY = """
    def tally(state):
        state["seen"] += state["wanted"].numel()
        {kept}
        return state
"""

TRAIN = """
    import torch
    import torch.nn.functional as F
    from {file} import {name}

    def train(loader, net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        state = {{"seen": 0, "total": 0.0}}
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            state["loss"], state["wanted"] = loss, y
            {each}
            optimizer.zero_grad()
            {trained}.backward()
            optimizer.step()
        return {given}
"""

DEFAULTS = {"each": "{name}(state, loss)", "trained": "loss", "given": "float(state['total'])"}


@pytest.mark.parametrize(
    ("kept", "train", "is_found"),
    [
        ('totals["total"] = totals["total"] + loss', {}, True),
        ('totals["total"] = loss + totals["total"]', {}, True),
        ('totals["total"] += loss', {}, True),
        ('totals["total"] = totals["total"] + loss.detach()', {}, False),
        ('totals["total"] = loss', {}, False),
        ('totals["total"] = totals["seen"] * loss', {}, False),
        ('totals["total"] = totals["total"] + loss', {"each": "{name}({{'seen': 0, 'total': 0.0}}, loss)"}, False),
        ('totals["total"] = totals["total"] + loss', {"trained": 'state["total"]'}, False),
    ],
)
def test_of_what_they_are_given(tmp_path: Path, kept: str, train: dict[str, str], is_found: bool) -> None:
    assert found(tmp_path, "count", COUNT.format(kept=kept), train) == (
        ["train.py: TLK105 warning"] if is_found else []
    )


@pytest.mark.parametrize(
    ("kept", "train", "is_found"),
    [
        ('state["total"] = state["total"] + state["loss"]', {}, True),
        ('state["total"] += len(state["wanted"]) * state["loss"]', {}, True),
        ('state["total"] = state["total"] + state["loss"]', {"each": "state = {name}(state)"}, True),
        ('state["total"] = state["total"] + state["loss"].item()', {}, False),
        ('state["total"] = state["total"] + state["wanted"].sum()', {}, False),
        ('state["last"] = state["loss"]', {}, False),
        ('state["loss"] = state["loss"] + 1', {}, False),
        ('state["total"] = state["total"] + state["loss"]', {"trained": 'state["total"]'}, False),
        # Over a graph that is freed nobody runs a backward.
        ('state["total"] = state["total"] + state["loss"]', {"given": 'state["total"]'}, True),
        ('state["total"] = state["total"] + state["loss"]', {"given": 'state["total"]', "trained": "net(x).mean()"},
         False),
    ],
)  # fmt: skip
def test_of_what_is_in_it(tmp_path: Path, kept: str, train: dict[str, str], is_found: bool) -> None:
    train = {"each": "{name}(state)", **train}
    assert found(tmp_path, "tally", TALLY.format(kept=kept), train) == (
        ["train.py: TLK105 warning"] if is_found else []
    )


def found(folder: Path, name: str, helper: str, train: dict[str, str]) -> list[str]:
    parts = {**DEFAULTS, **train}
    parts["each"] = parts["each"].format(name=name)
    files = {f"{name}s.py": helper, "train.py": TRAIN.format(file=f"{name}s", name=name, **parts)}
    return Project(folder, files).found()
