"""Modules whose parameters do not require grad, and those of which that changes."""

from __future__ import annotations

import pytest
from programs import Program

HELPER = """
    def requires_grad(model, flag):
        for p in model.parameters():
            p.requires_grad = flag
"""

STEP = """
    generator, judge = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam(judge.parameters())
    for x in DataLoader(dataset):
        {switch}
        loss = judge(generator(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_network_that_a_helper_switches_by_a_flag_is_not_judged() -> None:
    program = Program(HELPER + STEP.format(switch="requires_grad(generator, False)"))
    assert program.facts.untrained_forwards == []


def test_the_same_network_without_the_switch_runs_in_vain() -> None:
    assert len(Program(HELPER + STEP.format(switch="pass")).facts.untrained_forwards) == 1


PAIR = """
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 8)
        def forward(self, x):
            return self.body(x)

    def build():
        return Encoder(), Encoder()

    def encode(encoders, x):
        return encode_one(encoders[{item}], x)

    def encode_one(encoder, x):
        out = encoder(x)
        return out

    sound, sight = build()
    {switch}
    judge = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(judge.parameters())
    for x in DataLoader(dataset):
        loss = judge(encode([sound, sight], x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("switch", "item", "count"),
    [
        ("sight.requires_grad_(False)", 1, 0),
        ("sight.requires_grad_(False)", 0, 1),
        ("sound.requires_grad_(True); sight.requires_grad_(False)", 1, 0),
        ("sound.requires_grad_(False); sight.requires_grad_(True)", 1, 1),
    ],
)
def test_one_of_a_pair_is_frozen_by_itself(switch: str, item: int, count: int) -> None:
    assert len(Program(PAIR.format(switch=switch, item=item)).facts.untrained_forwards) == count


@pytest.mark.parametrize(
    ("switch", "count"),
    [
        ("sound.requires_grad_(False); sight.requires_grad_(False)", 0),
        ("sight.requires_grad_(False)", 1),
    ],
)
def test_all_of_a_list_are_frozen(switch: str, count: int) -> None:
    source = PAIR.format(switch=switch, item=0)
    source = source.replace("return encode_one(encoders[0], x)", "return sum([part(x) for part in encoders])")
    assert len(Program(source).facts.untrained_forwards) == count
