"""Functions that compute with nothing but what they are given: each call has a graph where it gives one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from projects import Project, loop

HELPERS = {
    "the sum": "return sum(xs) / len(xs)",
    "a loop": "total = 0\n    for x in xs:\n        total = total + x\n    return total",
    "pairs": "return sum(x * y for x, y in zip(xs, xs))",
    "by another": "return halved([x + x for x in xs])",
    "a stack": "return torch.stack(list(xs)).mean()",
}
"""How a helper makes one value of several."""

HEAD = """
import torch

def halved(xs):
    return sum(xs) / 2

def combined(xs):
    {body}
"""

TRAINING = """
from torch import nn

def train(loader, optimizer, net: nn.Module):
    kept, total = [], 0.0
    for x in loader:
        losses = [net(part).mean() for part in x]
        loss = combined(losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {each}
    return kept, total
"""


def found(folder: Path, body: str, each: str) -> list[str]:
    """What is found where one helper is used for a loss and for what is kept."""
    return Project(folder, {"main.py": HEAD.format(body=body) + TRAINING.format(each=each)}).found()


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize(
    "each",
    [
        "total += combined([one.detach() for one in losses])",
        "kept.append(combined([one.detach() for one in losses]))",
        "kept.append(combined([torch.tensor(one.item()) for one in losses]))",
    ],
)
def test_what_is_made_of_numbers_has_no_graph(tmp_path: Path, helper: str, each: str) -> None:
    assert "TLK101" not in str(told := found(tmp_path, HELPERS[helper], each))
    assert "TLK102" not in str(told)


@pytest.mark.parametrize("helper", HELPERS)
def test_what_is_made_of_losses_has_one(tmp_path: Path, helper: str) -> None:
    assert "TLK102" in str(found(tmp_path, HELPERS[helper], "kept.append(combined(losses))"))


@pytest.mark.parametrize("helper", ["xs = [*xs, LOSS[-1]]\n    return sum(xs)", "return sum(xs) + sum(LOSS)"])
def test_what_reads_something_else_may_bring_its_own(tmp_path: Path, helper: str) -> None:
    source = (
        HEAD.format(body=helper) + "LOSS = []\n" + dedent(loop(each="LOSS.append(loss); kept.append(combined([1.0]))"))
    )
    assert "main.py: TLK102 warning" in Project(tmp_path, {"main.py": source}).found()
