"""A network of another file that answers several tensors, run by a method that a loop of the same object calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint import check_paths

NETWORK = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 4), nn.Linear(4, 4)

        def forward(self, x):
            hidden = self.first(x).relu()
            return [hidden, self.second(hidden)], hidden.mean()

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(4, 8)

        def forward(self, steps):
            total = 0
            for step in steps:
                total = torch.add(total, step)
            return self.last(total)

    class Rebuilder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = Encoder(), Decoder()

        def forward(self, x):
            {forward}
"""

PAIRS = [
    "steps, norm = self.encoder(x)\n            return self.decoder(steps), norm",
    """steps, norm = self.encoder(x)
            if self.training:
                return self.decoder(steps), norm, torch.rand(8) > 0.5
            return self.decoder(steps), norm, torch.ones(8)""",
]

PROGRAM = """
    import torch
    from torch import nn
    from network import Rebuilder

    class Program:
        def __init__(self):
            self.network = Rebuilder()
            self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.1)

        def fit(self, loader):
            for x in loader:
                loss = (self.network(x)[0] - x).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

        {guard}
        def rebuild_all(self, loader):
            self.network.eval()
            rows = []
            for x in loader:
                rebuilt, *_ = self.rebuild(x)
                rows.append(rebuilt.detach().numpy())
            return rows

        def rebuild(self, x):
            return self.network(x)
"""


@pytest.mark.parametrize("forward", PAIRS)
@pytest.mark.parametrize(("guard", "is_told"), [("", True), ("@torch.no_grad()", False)])
def test_an_evaluation_by_a_method_that_gives_them_on(tmp_path: Path, forward: str, guard: str, is_told: bool) -> None:
    files = {"network.py": NETWORK.format(forward=forward), "program.py": PROGRAM.format(guard=guard)}
    Project(tmp_path, files)
    lines = (tmp_path / "program.py").read_text().splitlines()
    told = [lines[one.line - 1].strip() for one in check_paths([tmp_path]) if one.code == "TLK201"]
    assert told == (["def rebuild_all(self, loader):"] if is_told else [])


def test_but_not_of_what_has_no_weights(tmp_path: Path) -> None:
    network = NETWORK.format(forward="return x * 2, x").replace("= Encoder(), Decoder()", "= None, None")
    program = PROGRAM.format(guard="")
    assert [
        one for one in Project(tmp_path, {"network.py": network, "program.py": program}).found() if "201" in one
    ] == []
