"""Objects that are filled after they are made, and then kept in a list."""

from __future__ import annotations

import pytest

from torchlint import check_source

TRAINING = """
from dataclasses import dataclass, field
import torch
from torch import nn

@dataclass
class Row:
    step: int
    loss: object = None
    terms: dict = field(default_factory=dict)

class Note:
    def __init__(self, step):
        self.step, self.loss, self.terms, self.many = step, None, {{}}, []

def train(loader, Tracker=None):
    net = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    rows, once = [], Note(0)
    for step, x in enumerate(loader):
        loss = net(x).sum()
        terms = {{"loss": loss}}
        optimizer.zero_grad()
        {trained}
        optimizer.step()
        {kept}
    return len(rows)
"""


def told(*kept: str, trained: str = "loss.backward()") -> list[str]:
    """What is found where each step ends with these lines."""
    text = TRAINING.format(kept="\n        ".join(kept), trained=trained)
    return [finding.code for finding in check_source(text)]


@pytest.mark.parametrize("made", ["Row(step)", "Note(step)"])
@pytest.mark.parametrize(
    "filled",
    [
        "row.loss = loss",
        "row.terms.update(terms)",
        'row.terms["loss"] = loss',
        "row.terms = terms",
        'setattr(row, "loss", loss)',
    ],
)
def test_an_object_is_filled_and_kept(made: str, filled: str) -> None:
    assert told(f"row = {made}", filled, "rows.append(row)") == ["TLK102"]
    assert told(f"row = {made}", "rows.append(row)", filled) == ["TLK102"]


@pytest.mark.parametrize(
    "kept",
    [
        ["row = Row(step)", "row.loss = loss.item()", "rows.append(row)"],
        ["row = Row(step)", "row.terms.update({k: float(v) for k, v in terms.items()})", "rows.append(row)"],
        [
            "row = Row(step)",
            "row.loss = loss",
            "print(row.loss.item())",
            "row.loss = row.loss.item()",
            "rows.append(row)",
        ],
        ["once.loss = loss", "once.loss = None"],
    ],
)
def test_an_object_is_filled_with_numbers(kept: list[str]) -> None:
    assert told(*kept) == []


def test_an_object_whose_loss_is_trained_on_later() -> None:
    text = """
import torch
from torch import nn

class Move:
    def __init__(self, action):
        self.action, self.chance, self.reward = action, None, 0.0

def play(env, episodes):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(episodes):
        state, moves, done = env.reset(), [], False
        while not done:
            choice = torch.distributions.Categorical(logits=net(state))
            action = choice.sample()
            move = Move(action.item())
            move.chance = choice.log_prob(action)
            state, move.reward, done = env.step(move.action)
            moves.append(move)
        loss = -sum(move.chance * move.reward for move in moves)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert check_source(text) == []
