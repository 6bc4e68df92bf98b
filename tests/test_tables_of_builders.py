"""Builders that a decorator puts into a table: what is taken out of it and called makes another network each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

ZOO = """
    from torch import nn

    ZOO = {{}}
    {shared}

    {decorator}

    @{applied}
    def thin(inputs, outputs):
        {thin}

    @{applied}
    def wide(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, 512), nn.ReLU(), nn.Linear(512, outputs))

    def make(name, inputs, outputs, at_rest=False):
        net = ZOO[name](inputs, outputs)
        return net.eval() if at_rest else net
"""

PLAIN = """
    def entry(builder):
        ZOO[builder.__name__] = builder
        return builder
"""

NAMED = """
    def entry(prefix):
        def put(builder):
            name = prefix + builder.__name__
            ZOO[name] = builder
            return builder
        return put
"""

SHOWN = """
    def entry(builder):
        print(builder.__name__)
        return builder
"""

TARGETS = """
    from torch import nn

    class Hints:
        def __init__(self, guide):
            self.guide = guide

        def __call__(self, net, x, y):
            aim = self.aim(x)
            return nn.functional.mse_loss(net(x), aim) + nn.functional.mse_loss(net(x), y)

        def aim(self, x):
            return self.guide(x){ending}
"""

TRAIN = """
    import torch
    from targets import Hints
    from zoo import make

    def run(loader):
        guide = make("wide", 4, 2, at_rest=True)
        net = make("thin", 4, 2)
        hints = Hints(guide)
        optimizer = torch.optim.SGD({trained}, lr=0.1)
        for x, y in loader:
            loss = hints(net, x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

LINEAR = "return nn.Linear(inputs, outputs)"
KEPT = {"shared": "SHARED = nn.Linear(4, 2)", "thin": "return SHARED"}
BOTH = "[*net.parameters(), *guide.parameters()]"


@pytest.mark.parametrize(
    ("changed", "leaks"),
    [
        ({}, True),
        ({"decorator": NAMED, "applied": "entry('')"}, True),
        ({"decorator": SHOWN}, False),  # who fills the table is not seen
        (KEPT, False),  # what the table gives may be one network
        ({"ending": ".detach()"}, False),
        ({"trained": BOTH}, False),
    ],
)
def test_what_a_table_of_builders_makes_is_another_network_each_time(
    tmp_path: Path, changed: dict[str, str], leaks: bool
) -> None:
    plain = {"shared": "", "decorator": PLAIN, "applied": "entry", "thin": LINEAR, "ending": ""}
    told = plain | {"trained": "net.parameters()"} | changed
    files = {"zoo.py": ZOO, "targets.py": TARGETS, "train.py": TRAIN}
    project = Project(tmp_path, {name: text.format(**told) for name, text in files.items()})
    found = [one for one in project.found() if "TLK203" in one]
    assert found == (["train.py: TLK203 warning"] if leaks else [])
