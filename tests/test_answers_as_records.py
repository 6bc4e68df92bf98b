"""Networks that answer with a record of what they computed: who trains on one field of it trains on the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

RECORDS = [
    "class Answer(NamedTuple):\n    logits: torch.Tensor\n    loss: torch.Tensor",
    "@dataclass\nclass Answer:\n    logits: torch.Tensor\n    loss: torch.Tensor",
    'Answer = namedtuple("Answer", "logits loss")',
]

HEAD = """
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple
import torch
import torch.nn.functional as F
from torch import nn
"""

SCORER = """
class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x, y):
        logits = self.head(torch.relu(self.body(x)))
        return Answer(logits, F.cross_entropy(logits, y))
"""

TRAINING = """
def fit(scorer, optimizer, loader):
    for x, y in loader:
        answer = scorer(x, y)
        answer.loss.backward()
        optimizer.step()
        optimizer.zero_grad()

def main(loader):
    scorer = Scorer()
    fit(scorer, torch.optim.SGD(scorer.parameters(), lr=0.1), loader)
"""

PAIR = """
def fit(scorer, other, optimizer, loader):
    for x, y in loader:
        answer = scorer(x, y)
        beside = other(x, y)
        answer.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(beside.logits.argmax(1))

def main(loader):
    scorer, other = Scorer(), Scorer()
    fit(scorer, other, torch.optim.SGD(scorer.parameters(), lr=0.1), loader)
"""


@pytest.mark.parametrize("record", RECORDS)
def test_a_network_is_trained_on_a_field_of_its_answer(tmp_path: Path, record: str) -> None:
    project = Project(tmp_path, {"run.py": HEAD + record + SCORER + TRAINING})
    assert project.found() == []


@pytest.mark.parametrize("record", RECORDS)
def test_and_so_it_is_where_another_file_defines_it(tmp_path: Path, record: str) -> None:
    project = Project(
        tmp_path, {"run.py": f"{HEAD}from scoring import Scorer\n{TRAINING}", "scoring.py": HEAD + record + SCORER}
    )
    assert project.found() == []


@pytest.mark.parametrize("record", RECORDS)
def test_one_of_whose_answer_no_field_is_trained_on_is_not(tmp_path: Path, record: str) -> None:
    project = Project(tmp_path, {"run.py": HEAD + record + SCORER + PAIR})
    assert [one.rpartition(" ")[0] for one in project.found()] == ["run.py: TLK203"]
