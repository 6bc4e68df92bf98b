"""Zeros that ``functools.partial`` of an optimizer's method asks for, and where that is called."""

from __future__ import annotations

import pytest
from programs import Program

TRAINER = """
import torch
from functools import partial
from torch import nn
from torch.nn import functional as F

class Trainer:
    def __init__(self, net, loader):
        self.net = net
        self.loader = loader
        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)
        {made}

    def train(self, sizes):
        {before}
        for x, y in self.loader:
            {zeroed}
            loss = F.mse_loss(self.net(x), y)
            loss.backward()
            {after}
            self.optimizer.step()

Trainer(nn.Linear(3, 1), load()).train(3)
"""
TRAINING = {
    "made": "self.clear = partial(self.optimizer.zero_grad, set_to_none=False)",
    "before": "pass",
    "zeroed": "self.clear()",
    "after": "pass",
}
ACTIONS = "self.actions = {'clear': partial(self.optimizer.zero_grad, set_to_none=False), 'step': self.optimizer.step}"
BEFORE = "clear = partial(self.optimizer.zero_grad, set_to_none=False)"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"made": ACTIONS, "zeroed": "self.actions['clear']()"},
        {"made": "pass", "before": BEFORE, "zeroed": "clear()"},
    ],
)
def test_zeros_that_a_partial_asks_for(changed: dict[str, str]) -> None:
    facts = Program(TRAINER.format(**{**TRAINING, **changed})).facts
    assert [facts.called(one.call).rpartition(".")[2] for one in facts.zeroings] == ["partial"]


@pytest.mark.parametrize(
    "changed",
    [
        {"made": "self.clear = partial(self.optimizer.zero_grad)"},
        {"made": "self.clear = partial(self.optimizer.zero_grad, set_to_none=True)"},
        {"made": "self.clear = partial(net.double, set_to_none=False)"},
        {"made": "self.clear = partial([loader].zero_grad, set_to_none=False)"},
        {"made": ACTIONS, "zeroed": "self.actions['step']()"},
        {"zeroed": "pass", "before": "self.clear()"},
        {"zeroed": "self.clear()\n            print(self.net.weight.grad.norm())"},
        {"before": "sizes = given()", "made": "self.clear = partial(self.optimizer.zero_grad, set_to_none=net.keeps)"},
    ],
)
def test_a_partial_that_leaves_no_zeros_in_each_step(changed: dict[str, str]) -> None:
    assert Program(TRAINER.format(**{**TRAINING, **changed})).facts.zeroings == []
