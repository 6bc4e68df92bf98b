"""What the methods of one object are given tells nothing of another object of its class."""

from __future__ import annotations

import libcst as cst
import pytest

from torchlint.facts import Facts

PROGRAM = """
import torch
from torch import nn
model = nn.Linear(3, 3)

class Meter:
    def __init__(self, first=0.0):
        self.value = first

    def tell(self, number):
        self.value = number * 2

def told(meter, number):
    meter.tell(number)

def f(x):
    costs, hits = Meter(), Meter()
    costs.tell(model(x).sum())
    with torch.no_grad():
        hits.tell(model(x).sum())
    {more}
    z = [costs.value, hits.value]
"""


@pytest.mark.parametrize(
    ("more", "has_graph"),
    [
        ("pass", False),
        ("other = Meter(model(x)); told(other, 3)", False),
        ("hits.tell(model(x).sum())", True),
        ("told(hits, model(x).sum())", True),
        ("[m.tell(model(x).sum()) for m in (costs, hits)]", True),
        ("hits = Meter(model(x))", True),
    ],
)
def test_each_object_holds_what_it_is_told(more: str, has_graph: bool) -> None:
    facts = Facts(cst.parse_module(PROGRAM.format(more=more)))
    kept = [value for value in facts.graph.values if isinstance(value.syntax, cst.List)][-1]
    costs, hits = kept.inputs
    assert facts.flows.live(costs) is not None
    assert (facts.flows.live(hits) is not None) is has_graph


TABLE = """
import torch
from collections import defaultdict
from torch import nn
from torchmetrics import MeanMetric
model = nn.Linear(3, 3)

class Cutting:
    def __init__(self, first=0.0):
        self.value = first

    def update(self, number):
        self.value += float(number)

class Keeping(Cutting):
    def update(self, number):
        self.value += number

def train(loader, optimizer):
    table = defaultdict({factory})
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        {tell}
"""


@pytest.mark.parametrize("tell", ["table['x'].update(loss)", "table[len(x)].update(loss)"])
@pytest.mark.parametrize(
    ("factory", "accumulates", "stores"),
    [
        ("Cutting", False, False),
        ("lambda: Cutting(2.0)", False, False),
        ("MeanMetric", False, False),
        ("Keeping", True, False),
        ("lambda: Keeping(2.0)", True, False),
        ("set", False, True),
    ],
)
def test_an_item_of_a_table_is_what_its_factory_makes(tell: str, factory: str, accumulates: bool, stores: bool) -> None:
    facts = Facts(cst.parse_module(TABLE.format(factory=factory, tell=tell)))
    assert bool(facts.accumulations) is accumulates
    assert bool(facts.insertions) is stores
