"""Numbers of examples that stand beside a loss: what their sum divides says that they count."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint import check_source
from torchlint.facts.values.counts import is_count

EPOCH = """
def epoch(model, loader):
    total, seen = 0.0, 0
    for x in loader:
        out = model(x)
        total += out["loss"]
        seen += out["size"]
    {end}
"""


@pytest.mark.parametrize(
    ("end", "counts"),
    [
        ("return total / seen", True),
        ("return total / max(seen, 1)", True),
        ("return total / float(seen)", True),
        ("return total / (seen + 1)", True),
        ("return seen / 2", False),
        ("return total / min(seen, 1)", False),
        ("return total, seen", False),
    ],
)
def test_what_divides_a_total_is_a_count(end: str, counts: bool) -> None:
    program = Program(EPOCH.format(end=end))
    assert is_count(program.value('out["size"]')) == counts
    assert not is_count(program.value('out["loss"]'))


PASS = """
import torch

def fit(network: torch.nn.Module, loader, optimizer, wide):
    total, seen = 0.0, 0
    for x in loader:
        {asked}
        total += loss.item()
        seen += other
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {end}
"""

ASKED = "loss, other = network(x)"

BRANCHES = "if wide:\n            loss, other = network(x, x)\n        else:\n            loss, other = network(x)"


@pytest.mark.parametrize(
    ("asked", "end", "told"),
    [
        (ASKED, "total / seen", False),
        (BRANCHES, "total / seen", False),
        ("other, loss = network(x)", "total / seen", False),
        (ASKED, "total, seen", True),
        (BRANCHES, "total, seen", True),
        (ASKED, "total, seen / len(loader)", True),
    ],
)
def test_what_a_network_gives_beside_its_loss_may_count(asked: str, end: str, told: bool) -> None:
    found = check_source(PASS.format(asked=asked, end=end))
    assert [f.code for f in found] == ["TLK101"] * told
