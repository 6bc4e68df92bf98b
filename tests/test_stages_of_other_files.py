"""A loop of steps that a function of another file runs: who calls it in a loop has a loop of stages, not of steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

STAGES = """
    import torch
    from torch import nn
    from stage import run

    def main(loader):
        net, head = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        batches = iter(loader)
        for stage in range(len(loader)):
            block = nn.Linear(8, 8)
            net.append(block)
            optimizer.add_param_group({"params": block.parameters()})
            run(net, head, optimizer, batches)
"""

STAGE = """
    from torch import nn

    def run(net, head, optimizer, batches):
        {loop}:
            x, y = next(batches)
            loss = nn.functional.cross_entropy(head(net(x)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("loop", "is_told"), [("for _ in range(4)", False), ("for _ in range(len(net))", False), ("if head", True)]
)
def test_what_grows_by_stage_does_not_grow_by_step(tmp_path: Path, loop: str, is_told: bool) -> None:
    found = Project(tmp_path, {"stages.py": STAGES, "stage.py": STAGE.format(loop=loop)}).found()
    assert (found == ["stages.py: TLK304 error", "stages.py: TLK304 error"]) is is_told
    assert bool(found) is is_told
