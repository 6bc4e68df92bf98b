"""A network that a function inside of another one runs, as the outer function's variable."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

GAN = """
import torch
from torch import nn

def train(images, size=100):
    painter, critic = nn.Linear(size, 30), nn.Linear(30, 1)
    painting = torch.optim.RMSprop(painter.parameters(), lr=5e-5)
    judging = torch.optim.RMSprop(critic.parameters(), lr=5e-5)

    {guard}
    def draw(n):
        return painter(torch.randn(n, size)){cut}

    for real in images:
        fake = draw(len(real))
        gap = critic(fake).mean() - critic(real).mean(){also}
        judging.zero_grad()
        gap.backward()
        judging.step()
        painting.zero_grad()
        (-critic(painter(torch.randn(64, size))).mean()).backward()
        painting.step()
"""
PLAIN = {"guard": "", "cut": "", "also": ""}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, ["TLK203"]),
        ({"cut": ".detach()"}, []),
        ({"guard": "@torch.no_grad()"}, []),
        ({"also": "\n        (-critic(fake).mean()).backward(retain_graph=True)"}, []),
    ],
)
def test_a_painter_that_runs_to_train_its_critic(changed: dict[str, str], told: list[str]) -> None:
    found = diagnose(Source("gan.py", GAN.format(**{**PLAIN, **changed})))
    assert [one.code for one in found if one.code == "TLK203"] == told
