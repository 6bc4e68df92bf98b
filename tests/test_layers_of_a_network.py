"""How a network holds its layers and goes through them: what it computes has their graph however it does."""

from __future__ import annotations

import pytest

from torchlint import check_source

NETWORK = """
import functools
import itertools
import torch
import torch.utils.checkpoint as saving
from collections import OrderedDict
from torch import nn
from torch.nn import functional as F

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        return self.lin(x)

class Net(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        {made}
        self.seen = []
        self.head = nn.Linear(3, 3)

    def forward(self, x):
        {run}
        self.seen.append(x)
        return self.head(x.detach())

def train(loader):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LIST = "self.blocks = nn.ModuleList([Block() for _ in range(n)])"
DICTIONARY = "self.blocks = nn.ModuleDict({'a': Block(), 'b': Block()})"


@pytest.mark.parametrize(
    "run",
    [
        "for block in self.blocks[:-1]: x = block(x)",
        "for block in self.blocks[1:]: x = block(x)",
        "for one, other in zip(self.blocks[:-1], self.blocks[1:]): x = other(one(x))",
        "for block in reversed(self.blocks): x = block(x)",
        "for i in range(len(self.blocks)): x = self.blocks[i](x)",
        "for name, block in self.blocks.named_children(): x = block(x)",
        "for block in itertools.chain(self.blocks, self.blocks): x = block(x)",
        "x = functools.reduce(lambda done, block: block(done), self.blocks, x)",
        "x = torch.stack([block(x) for block in self.blocks]).mean(0)",
        "for block in self.blocks: x = saving.checkpoint(block, x, use_reentrant=False)",
        "x = saving.checkpoint_sequential(self.blocks, 2, x, use_reentrant=False)",
    ],
)
def test_a_list_of_layers(run: str) -> None:
    assert [finding.code for finding in check_source(NETWORK.format(made=LIST, run=run))] == ["TLK102"]


@pytest.mark.parametrize(
    "run",
    [
        "for name, block in self.blocks.items(): x = block(x)",
        "for name in sorted(self.blocks): x = self.blocks[name](x)",
        "x = {name: block(x) for name, block in self.blocks.items()}['a']",
    ],
)
def test_a_dictionary_of_layers(run: str) -> None:
    assert [finding.code for finding in check_source(NETWORK.format(made=DICTIONARY, run=run))] == ["TLK102"]


@pytest.mark.parametrize(
    ("made", "run"),
    [
        ("self.add_module('first', Block())", "x = self.first(x)"),
        ("self.register_module('first', Block())", "x = self.first(x)"),
        ("self.body = nn.Sequential(OrderedDict([('a', Block())]))", "x = self.body(x)"),
        ("self.body = nn.Sequential(Block(), Block())", "x = self.body[:1](x)"),
        (
            "self.blocks = nn.ModuleList()\n        self.blocks.extend(Block() for _ in range(n))",
            "x = self.blocks[0](x)",
        ),
    ],
)
def test_ways_to_hold_layers(made: str, run: str) -> None:
    assert [finding.code for finding in check_source(NETWORK.format(made=made, run=run))] == ["TLK102"]


@pytest.mark.parametrize(
    ("base", "run"),
    [
        ("nn.Linear", "super().forward(x)"),
        ("nn.Linear", "super(Layer, self).forward(x)"),
        ("nn.Sequential", "super().forward(x)"),
    ],
)
def test_what_a_layer_of_torch_computes_below(base: str, run: str) -> None:
    text = NETWORK.format(made="self.layer = Layer(3, 3)", run="x = self.layer(x)")
    layer = f"class Layer({base}):\n    def forward(self, x):\n        return {run}\n\nclass Net"
    assert [finding.code for finding in check_source(text.replace("class Net", layer, 1))] == ["TLK102"]
