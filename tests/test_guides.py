"""Networks that a loss is given to look at their answers alone, beside the one that it trains."""

from __future__ import annotations

import pytest

from torchlint.api import check_source
from torchlint.config import Settings
from torchlint.diagnostic import Level

LOSS = """
import torch
from torch import nn
from torch.nn import functional as F
{imports}

class Contrast(nn.Module):
    def __init__(self, student: nn.Module, judge: {kind}):
        super().__init__()
        self.student = student
        self.judge = {given}
        self.last = None

    def compare(self, ours, theirs):
        return F.cosine_similarity(ours.unsqueeze(1), theirs.unsqueeze(0), dim=-1)

    def forward(self, ours, theirs):
        {judged}
        scores = self.compare(self.student(ours), self.student(theirs))
        {masked}
        return F.cross_entropy({scored}, torch.arange(len(scores), device=scores.device))
"""

USUAL = {
    "imports": "",
    "kind": "nn.Module",
    "given": "judge",
    "judged": "judged = self.compare(self.judge(ours), self.judge(theirs))",
    "masked": "scores = scores.masked_fill(judged > judged.diagonal().unsqueeze(-1), -torch.inf)",
    "scored": "scores",
}


def codes(parts: dict[str, str]) -> list[str]:
    """The codes of all findings of the loss with these ``parts``."""
    source = LOSS.format(**{**USUAL, **parts})
    return [found.code for found in check_source(source, settings=Settings(notes=True))]


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"masked": "scores[judged > 0.9] = -torch.inf"},
        {"judged": "left = self.judge(ours)['rows']; judged = left @ left.T"},
        {"judged": "left, right = [self.judge(rows) for rows in (ours, theirs)]; judged = left @ right.T"},
        {"imports": "from sentence_transformers import SentenceTransformer", "kind": "SentenceTransformer"},
    ],
)
def test_what_is_only_compared_trains_no_judge(parts: dict[str, str]) -> None:
    assert codes(parts) == ["TLK201"]


@pytest.mark.parametrize(
    "parts",
    [
        {"scored": "scores + judged"},
        {"masked": "self.last = judged"},
        {"given": "judge.requires_grad_(False)"},
        {"given": "nn.Linear(8, 8)"},
        {"kind": "object"},
        {"judged": "judged = (self.judge(ours) > 0) & (self.judge(theirs) > 0)", "masked": "scores = scores * judged"},
        {"judged": "with torch.no_grad():\n            judged = self.compare(self.judge(ours), self.judge(theirs))"},
        {"judged": "judged = self.compare(self.student(ours), self.student(ours))"},
    ],
)
def test_a_judge_that_is_trained_guarded_frozen_or_its_own_layer_does_not(parts: dict[str, str]) -> None:
    assert codes(parts) == []


def test_whoever_gave_the_judge_may_have_frozen_it() -> None:
    [found] = check_source(LOSS.format(**USUAL), settings=Settings(notes=True))
    assert found.level is Level.NOTE
    assert "unless whoever gave it has frozen it" in found.message


FROZEN = """

def train(loader, judge: nn.Module):
    student = nn.Linear(8, 8)
    judge.requires_grad_(False)
    loss = Contrast(student, judge)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for ours, theirs in loader:
        optimizer.zero_grad()
        loss(ours, theirs).backward()
        optimizer.step()
"""


def test_a_judge_that_its_maker_freezes_has_no_graph() -> None:
    assert check_source(LOSS.format(**USUAL) + FROZEN, settings=Settings(notes=True)) == []
