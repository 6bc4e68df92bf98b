"""Methods of other files that add layers to their own object: what calls them in each step, and what only once."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
    from torch import nn

    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.branches, self.scale = nn.ModuleList(), nn.ModuleList([nn.Linear(3, 3)])

        def branch(self, layer=None):
            made = nn.Linear(3, 3)
            {added}
            return made

        def take(self, layer):
            self.branches.append(layer)
"""

NET = """
    from torch import nn
    from branching import Branching

    class Net(Branching):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 3)
            {beginning}

        def forward(self, x):
            {forward}
            return self.first(x)
"""

TRAIN = """
    import torch
    from net import Net

    def train(loader):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(9):
            {epoch}
            for x, y in loader:
                {step}
                loss = model(x).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"forward": "x = self.branch()(x)"}, "net.py"),
        ({"forward": "x = self.branch().to(x.device)(x)"}, "net.py"),
        ({"forward": "super().branch()"}, "net.py"),
        ({"forward": "self.take(nn.Linear(3, 3))"}, "net.py"),
        ({"forward": "self.take(self.first)"}, ""),
        ({"step": "model.branch()"}, "train.py"),
        ({"step": "model.take(torch.nn.Linear(3, 3))"}, "train.py"),
        ({"epoch": "model.branch()"}, ""),
        ({"beginning": "self.branch()"}, ""),
        ({"beginning": "for _ in range(4): self.branch()"}, ""),
        ({"forward": "if len(self.branches) < 4: self.branch()"}, ""),
        ({"forward": "self.branches = nn.ModuleList()\n            self.branch()"}, ""),
        ({"forward": "x = self.branch()(x)\n            del self.branches[-1]"}, ""),
        ({"forward": "self.branch()", "added": "self.latest = made"}, ""),
        ({"forward": "self.branch()", "added": "if len(self.branches) < 4: self.branches.append(made)"}, ""),
        ({"forward": "self.branch()", "added": "self.branches.append(made); self.branches.pop(0)"}, ""),
        ({"forward": "self.branch()", "added": "self.branches = nn.ModuleList([made])"}, ""),
        ({"forward": "self.branch()", "added": "if layer is not None: self.branches.append(made)"}, ""),
        ({"forward": "self.branch()", "added": "self.branches.append(self.scale[0])"}, ""),
    ],
)
def test_a_method_of_a_base_class_in_another_file_adds_a_layer(
    tmp_path: Path, changed: dict[str, str], where: str
) -> None:
    written = {
        "added": "self.branches.append(made)", "beginning": "pass", "forward": "pass", "epoch": "pass", "step": "pass",
        **changed,
    }  # fmt: skip
    files = {
        "branching.py": BASE.format(**written),
        "net.py": NET.format(**written),
        "train.py": TRAIN.format(**written),
    }
    found = [one for one in Project(tmp_path, files).found() if "TLK304" in one]
    assert found == ([f"{where}: TLK304 error"] if where else [])
