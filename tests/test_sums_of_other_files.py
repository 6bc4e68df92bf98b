"""A loss of another file that gives its sum and what it is the sum of: who trains on the one has the graph of both."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TERMS = """
    from torch import nn

    TERMS = {{}}

    def register(name):
        def decorate(function):
            TERMS[name] = function
            return function
        return decorate

    def compare(out, y, weights):
        {parts}
        {total}
        return {given}

    class Comparing(nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.weights = weights

        def forward(self, out, y):
            weights = self.weights
            {parts}
            {total}
            return {given}
"""

TRAIN = """
    import torch
    from collections import defaultdict
    from torch import nn
    from terms import Comparing, compare

    def main(loader, weights):
        net = nn.Linear(8, 8)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        comparing, sums = Comparing(weights), defaultdict(float)
        for x, y in loader:
            {taken} = {called}
            optimizer.zero_grad()
            {trained}.backward()
            optimizer.step()
            for name, part in parts.items():
                sums[name] += {added}
        print({{name: float(value) for name, value in sums.items()}})
"""

WRITTEN = {
    "parts": "parts = {name: weight * TERMS[name](out, y) for name, weight in weights.items()}",
    "total": "total = sum(parts.values())",
    "given": "total, parts",
    "taken": "total, parts",
    "called": "compare(net(x), y, weights)",
    "trained": "total",
    "added": "part",
}
LEAK = ["train.py: TLK101 warning"]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, LEAK),
        ({"called": "comparing(net(x), y)"}, LEAK),
        ({"given": "parts, total", "taken": "parts, total"}, LEAK),
        ({"added": "part.detach()"}, []),
        ({"added": "part.item()"}, []),
        ({"given": "total, {name: part.detach() for name, part in parts.items()}"}, []),
        ({"given": "total, {name: part.item() for name, part in parts.items()}"}, []),
        ({"parts": "parts = {name: len(TERMS[name]) for name in weights}; total = out.mean()", "total": "pass"}, []),
        ({"trained": "torch.stack([part * 2 for part in (net(x).mean(),)]).sum()"}, []),
    ],
)
def test_the_sum_and_its_parts(tmp_path: Path, changed: dict[str, str], found: list[str]) -> None:
    written = {**WRITTEN, **changed}
    files = {"terms.py": TERMS.format(**written), "train.py": TRAIN.format(**written)}
    assert Project(tmp_path, files).found() == found
