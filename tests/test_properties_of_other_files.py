"""Properties of objects whose class stands in another file, and what they are set by."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

PROGRESS = """
    class Progress:
        def __init__(self):
            self._losses = []

        @property
        def losses(self):
            return self._losses

        @losses.setter
        def losses(self, losses):
            self._losses = losses

        def reset(self):
            self.losses = []
"""

MAIN = """
    import torch
    from torch import nn
    from progress import Progress

    def main(loader):
        net, progress = nn.Linear(8, 3), Progress()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {each}
        return progress.losses
"""


@pytest.mark.parametrize(
    "each",
    [
        "progress.losses.append(loss.item())",
        "progress.losses = [*progress.losses, loss.item()]",
        "progress.losses.append(loss.detach()); progress.reset()",
    ],
)
def test_what_a_property_is_set_by_is_not_what_gives_it(tmp_path: Path, each: str) -> None:
    assert Project(tmp_path, {"progress.py": PROGRESS, "main.py": MAIN.format(each=each)}).found() == []
