"""A network of another file that answers several tensors, run by a method that a loop of the same object calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NETWORK = """
    import torch
    from torch import nn

    class Rebuilder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(4, 8)

        def forward(self, x):
            {forward}
"""

PAIRS = [
    "code = self.encoder(x)\n            return self.decoder(code), code",
    """code = self.encoder(x)
            if self.training:
                return self.decoder(code), code, torch.rand(8) > 0.5
            return self.decoder(code), code, torch.ones(8)""",
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
    assert Project(tmp_path, files).found() == (["program.py: TLK201 warning"] if is_told else [])


def test_but_not_of_what_has_no_weights(tmp_path: Path) -> None:
    network = NETWORK.format(forward="return x * 2, x").replace(", nn.Linear(4, 8)", ", None").replace(
        "nn.Linear(8, 4)", "None"
    )  # fmt: skip
    program = PROGRAM.format(guard="")
    assert [
        one for one in Project(tmp_path, {"network.py": network, "program.py": program}).found() if "201" in one
    ] == []
