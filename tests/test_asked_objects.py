"""Of which class a parameter is that nobody in the file passes: of the one that has all that is asked of it."""

from __future__ import annotations

import pytest

from torchlint import check_source

AGENTS = """
import torch
from torch import nn

class Agent:
    def __init__(self):
        self.net = nn.GRUCell(4, 4)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.hidden = torch.zeros(1, 4)

    def choose(self, seen):
        self.hidden = self.net(seen, self.hidden)
        return int(self.hidden.argmax())

    def improve(self, seen):
        loss = self.net(seen).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

{others}

def drive({parameter}, plant):
    for turn in range(1_000_000):
        action = {name}.choose(plant.read())
        {asked}
        plant.move(action)
{end}
"""

ANOTHER = "class Guide:\n    def choose(self, seen):\n        return 0\n\n    def improve(self, seen):\n        pass\n"


def is_told(
    parameter: str = "agent", asked: str = "agent.improve(plant.read())", others: str = "", end: str = ""
) -> bool:
    name = parameter.partition(":")[0]
    text = AGENTS.format(parameter=parameter, name=name, asked=asked, others=others, end=end)
    return any(found.code == "TLK104" for found in check_source(text))


def test_the_one_class_with_all_methods_that_are_asked_for_is_meant() -> None:
    assert is_told()


@pytest.mark.parametrize(
    "changed",
    [
        {"asked": "print(turn)"},
        {"asked": "agent.rest()"},
        {"asked": "agent.improve(agent.memory)"},
        {"others": ANOTHER},
        {"parameter": "agent: object"},
        {"end": "def both(first, plant):\n    drive(first, plant)\n"},
    ],
)
def test_unknown_stays_unknown(changed: dict[str, str]) -> None:
    assert not is_told(**changed)
