"""Objects that scale a loss and run its backward: who makes them, who calls them and what they do stands in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

SCALER = """
    import torch

    class Scaling:
        def __init__(self):
            self.scaler = torch.amp.GradScaler("cuda")

        def __call__(self, loss, optimizer, weights):
            self.scaler.scale(loss).backward(retain_graph=True)
            self.scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(weights, 1.0)
            self.scaler.step(optimizer)
            self.scaler.update()
            return {given}
"""

METER = """
    class Meter:
        def __init__(self):
            self.total = 0.0

        def update(self, value):
            self.total += value
"""

EPOCH = """
    from meter import Meter

    def epoch(net, loader, optimizer, scaling):
        norms = Meter()
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            norm = scaling(loss, optimizer, net.parameters())
            norms.update({kept})
        return norms.total
"""

MAIN = """
    import torch
    from epoch import epoch
    from scaler import Scaling
    from torch import nn

    def main(loader):
        net = nn.Linear(3, 1)
        optimizer = torch.optim.AdamW(net.parameters())
        scaling = Scaling()
        return epoch(net, loader, optimizer, scaling)
"""


@pytest.mark.parametrize(
    ("given", "kept", "is_vain"),
    [
        ("norm.item()", "norm", True),
        ("norm.item()", "norm + loss.item()", True),
        ("norm.item()", "norm + loss", False),  # told where it is summed
        ("loss", "norm", False),
    ],
)
def test_a_scaler_that_is_handed_over_keeps_a_graph_that_only_its_own_number_leaves(
    tmp_path: Path, given: str, kept: str, is_vain: bool
) -> None:
    files = {
        "scaler.py": SCALER.format(given=given),
        "meter.py": METER,
        "epoch.py": EPOCH.format(kept=kept),
        "main.py": MAIN,
    }
    found = Project(tmp_path, files).found()
    assert any("TLK107" in one for one in found) == is_vain
