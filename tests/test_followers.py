"""Networks that only follow another one, in modules whose training stands in another file."""

from __future__ import annotations

import pytest

from torchlint import check_source

LEARNER = """
import copy
import torch
from torch import nn
from torch.nn import functional as F

class Learner(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.online = nn.Sequential(encoder, nn.Linear(8, 8))
        self.slow = {made}
        {after}

    def forward(self, a, b):
        {target}
        return {returned}

    {guard}
    def follow(self):
        for mine, theirs in zip(self.slow.parameters(), self.online.parameters()):
            {update}
"""

USUAL = {
    "made": "copy.deepcopy(self.online)",
    "after": "pass",
    "target": "target = self.slow(b)",
    "returned": "F.mse_loss(self.online(a), target)",
    "guard": "@torch.no_grad()",
    "update": "mine.lerp_(theirs, 0.01)",
}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"guard": "", "update": "mine.data.mul_(0.99).add_(theirs.data, alpha=0.01)"},
        {"update": "mine.copy_(0.99 * mine + 0.01 * theirs)"},
        {"returned": "{'loss': F.mse_loss(self.online(a), target), 'size': len(a)}"},
    ],
)
def test_a_loss_over_both_runs_the_backward_through_the_copy(parts: dict[str, str]) -> None:
    assert _codes({**USUAL, **parts}) == ["TLK203"]


@pytest.mark.parametrize(
    "parts",
    [
        {"target": "target = self.slow(b).detach()"},
        {"target": "with torch.no_grad():\n            target = self.slow(b)"},
        {"after": "self.slow.requires_grad_(False)"},
        {"made": "nn.Linear(8, 8)"},
        {"returned": "self.online(a), target"},
        {"returned": "target"},
        {"update": "print(mine, theirs)"},
        {"guard": "", "update": "mine.clamp(0, 1)"},
    ],
)
def test_a_copy_that_is_guarded_or_trained_or_whose_answer_is_handed_out_does_not(parts: dict[str, str]) -> None:
    assert _codes({**USUAL, **parts}) == []


def _codes(parts: dict[str, str]) -> list[str]:
    return [found.code for found in check_source(LEARNER.format(**parts))]
