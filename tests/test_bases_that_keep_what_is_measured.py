"""A base class of one file keeps what a class below it, in another file, makes of what a third file hands over."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
    import torch

    class Metric:
        def __init__(self):
            self.values = []

        {guard}
        def update(self, found, wanted):
            {kept}

        def measure(self, found, wanted):
            {left}

        def compute(self):
            return float(sum(self.values)) / max(len(self.values), 1)
"""

KINDS = """
    import torch
    from base import Metric

    class Gap(Metric):
        def measure(self, found, wanted):
            return {measured}

    class Share(Metric):
        def measure(self, found, wanted):
            return (found > wanted).float().mean()
"""

TRAIN = """
    import torch
    from torch import nn
    from kinds import Gap, Share

    def train(loader):
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        metric = {made}()
        for x, y in loader:
            found = net(x)
            loss = (found - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            metric.update(found, y)
        return metric.compute()
"""

DEFAULTS = {
    "guard": "",
    "kept": "self.values.append(self.measure(found, wanted))",
    "left": "raise NotImplementedError",
    "measured": "(found - wanted).abs().mean()",
    "made": "Gap",
}


@pytest.mark.parametrize(
    ("program", "is_found"),
    [
        ({}, True),
        ({"kept": "self.values.append(self.measure(wanted=wanted, found=found))"}, True),
        ({"left": "pass"}, True),
        ({"measured": "found"}, True),
        ({"measured": "(found - wanted).abs().mean().item()"}, False),
        ({"measured": "(found.detach() - wanted).abs().mean()"}, False),
        ({"made": "Share"}, False),
        ({"guard": "@torch.no_grad()"}, False),
        ({"kept": "with torch.no_grad(): self.values.append(self.measure(found, wanted))"}, False),
        ({"kept": "self.values.append(self.measure(found, wanted).detach())"}, False),
        ({"kept": "self.values.append(float(self.measure(found, wanted)))"}, False),
        ({"kept": "self.values.append(self.measure(found.detach(), wanted))"}, False),
        ({"kept": "self.values = [self.measure(found, wanted)]"}, False),
    ],
)
def test_what_a_class_below_measures(tmp_path: Path, program: dict[str, str], is_found: bool) -> None:
    parts = {**DEFAULTS, **program}
    files = {
        name: text.format(**parts) for name, text in {"base.py": BASE, "kinds.py": KINDS, "train.py": TRAIN}.items()
    }
    told = [one for one in Project(tmp_path, files).found() if "TLK105" in one]
    assert told == (["train.py: TLK105 warning"] if is_found else [])
