"""A class of another file that keeps the last few of what it is given, by a slice of its own list."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

KEEPER = """
    import copy

    class Keeper:
        def __init__(self, size):
            self.size, self.kept = size, []

        def add(self, model):
            {add}
"""

MAIN = """
    import torch
    from torch import nn
    from keeper import Keeper

    def main(loader):
        net, keeper = nn.Linear(8, 3), Keeper(3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            keeper.add(net)
"""


@pytest.mark.parametrize(
    ("add", "found"),
    [
        ("self.kept.append(copy.deepcopy(model)); self.kept = self.kept[-self.size:]", []),
        ("self.kept = self.kept[1 - self.size:] + [copy.deepcopy(model)]", []),
        ("self.kept.append(copy.deepcopy(model))", ["main.py: TLK405 error"]),
    ],
)
def test_a_slice_of_a_list_is_no_sum_of_what_is_in_it(tmp_path: Path, add: str, found: list[str]) -> None:
    told = Project(tmp_path, {"keeper.py": KEEPER.format(add=add), "main.py": MAIN}).found()
    assert [one for one in told if "TLK301" not in one] == found
