"""What a forward leaves in lists of its network, where a backward elsewhere starts from that."""

from __future__ import annotations

from textwrap import dedent

import pytest
from rule_programs import diagnose

from torchlint.source import Source

TOUR = """
    import torch
    from torch import nn
    {imports}

    class Tour(nn.Module):
        def __init__(self):
            super().__init__()
            self.pick = {part}
            self.chances = []

        def forward(self, x):
            length = 0
            for _ in range(9):
                chance = self.pick(x).log_softmax(1)
                {kept}
                length = length + chance.max(1)[0]
            return length

    class Yardstick:
        def __init__(self, tour):
            self.adopt(tour)

        @torch.no_grad()
        def measure(self, tour, x):
            return tour(x)

        def adopt(self, tour):
            self.known = self.measure(tour, torch.rand(9, 8))

    def objective(tour, yardstick, x):
        length = tour(x)
        with torch.no_grad():
            gain = length - yardstick.measure(tour, x)
        return (gain * {read}).mean(), length.mean().item()

    def train(batches):
        tour = Tour()
        yardstick = Yardstick(tour)
        optimizer = torch.optim.Adam(tour.parameters())
        for x in batches:
            loss, cost = objective(tour, yardstick, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tour.chances.clear()
            print(cost)
"""


@pytest.mark.parametrize(("imports", "part"), [("", "nn.Linear(8, 4)"), ("from parts import Pick", "Pick()")])
@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ("self.chances.append(chance)", "torch.stack(tour.chances).sum(0)"),
        ("self.chances += [chance]", "sum(tour.chances)"),
        ("self.chance = chance", "tour.chance"),
    ],
)
def test_a_forward_is_run_for_what_it_leaves(imports: str, part: str, kept: str, read: str) -> None:
    text = TOUR.format(imports=imports, part=part, kept=kept, read=read)
    assert [one.code for one in diagnose(Source("tour.py", dedent(text))) if one.code == "TLK201"] == []


def test_one_that_leaves_nothing_is_not() -> None:
    text = TOUR.format(imports="", part="nn.Linear(8, 4)", kept="pass", read="1.0")
    assert "TLK201" in [one.code for one in diagnose(Source("tour.py", dedent(text)))]
