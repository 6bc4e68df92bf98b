"""Objects that a class is given and keeps, of which an annotation alone says what they are."""

from __future__ import annotations

import pytest

from torchlint import check_source

SESSION = """
from dataclasses import dataclass, field
import torch
from torch import nn

@dataclass
class Context:
    layers: list = None

    def advance(self, layers, count):
        self.layers = {kept}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3, batch_first=True)

    def forward(self, x, state):
        y, state = self.rnn(x, state)
        return y, [state]

class Session:
    def __init__(self, net: Net, context: Context{default}):
        self.net, self.context = net, context

    def push(self, x):
        scores, layers = self.net(x, self.context.layers)
        self.context.advance(layers, scores.shape[1])
        return scores.argmax(-1).tolist()

def serve(source, net: Net, context: Context):
    session = Session(net, context)
    while (x := source.read()) is not None:
        print(session.push(x))
"""


@pytest.mark.parametrize("default", ["", " = None"])
@pytest.mark.parametrize("kept", ["layers", "[(h, c) for h, c in layers]"])
def test_a_state_that_a_method_of_such_an_object_keeps(kept: str, default: str) -> None:
    found = [finding.code for finding in check_source(SESSION.format(kept=kept, default=default))]
    assert sorted(found) == ["TLK104", "TLK201"]


def test_or_keeps_without_its_graph() -> None:
    found = check_source(SESSION.format(kept="[(h.detach(), c.detach()) for h, c in layers]", default=""))
    assert [finding.code for finding in found] == ["TLK201"]


def test_a_method_of_a_base_may_train_where_it_is_overridden() -> None:
    text = """
import torch
from torch import nn

class Learner:
    def learn(self, loss): ...

class Loop:
    def __init__(self, net: nn.Module, learner: Learner):
        self.net, self.learner = net, learner

    def run(self, loader):
        for x in loader:
            self.learner.learn(self.net(x).sum())
"""
    assert check_source(text) == []
