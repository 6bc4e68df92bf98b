"""Running states of layers that a base class or a part, of another file, updates from what a layer hands to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TRACKER = """
    import torch
    from torch import nn

    class Tracker(nn.Module):
        def __init__(self, width, rate=0.05):
            super().__init__()
            self.rate = rate
            self.register_buffer("centre", torch.zeros(width))
            self.register_buffer("seen", torch.zeros(()))

        def follow(self, batch):
            self.centre = {follow}
            self.seen += 1

        @torch.no_grad()
        def follow_guarded(self, batch):
            self.centre = (1 - self.rate) * self.centre + self.rate * batch.mean(0)

        def apart(self, batch):
            return (batch - self.centre).norm(dim=-1)
"""

FOLLOW = "(1 - self.rate) * self.centre + self.rate * batch.mean(0)"

ENCODER = """
    import torch
    from torch import nn
    from tracker import Tracker

    class Encoder(nn.Module):
        def __init__(self, width=12, classes=4):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(20, width), nn.Tanh())
            self.tracker = Tracker(width)
            self.head = nn.Linear(width, classes)

        def forward(self, x):
            inner = self.body(x)
            if self.training:
                {call}
            return self.head(inner)

        {guard}
        def novelty(self, x):
            return self.tracker.apart(self.body(x))
"""

RUN = """
    import torch
    from torch import nn
    from encoder import Encoder

    def main(loader):
        net = Encoder()
        optimizer = torch.optim.Adam(net.parameters())
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        return net.novelty(x)
"""


@pytest.mark.parametrize(
    ("parts", "leaks"),
    [
        ({}, True),
        ({"follow": "self.centre.lerp(batch.mean(0), self.rate)"}, True),
        ({"call": "with torch.enable_grad(): self.tracker.follow(inner)"}, True),
        ({"follow": "self.centre + self.rate * (batch.mean(0) - self.centre).detach()"}, False),
        ({"follow": FOLLOW.replace("batch", "batch.detach()")}, False),
        ({"call": "self.tracker.follow(inner.detach())"}, False),
        ({"call": "self.tracker.follow(self.tracker.apart(x))"}, False),
        ({"call": "self.tracker.follow_guarded(inner)"}, False),
        ({"call": "with torch.no_grad(): self.tracker.follow(inner)"}, False),
        ({"guard": ""}, False),  # others may train on how far it is from the centre
    ],
)
def test_a_part_of_another_file_that_averages_activations(tmp_path: Path, parts: dict[str, str], leaks: bool) -> None:
    filled = {"follow": FOLLOW, "call": "self.tracker.follow(inner)", "guard": "@torch.no_grad()", **parts}
    files = {
        "tracker.py": TRACKER.format(follow=filled["follow"]),
        "encoder.py": ENCODER.format(**filled),
        "run.py": RUN,
    }
    assert Project(tmp_path, files).found() == (["encoder.py: TLK103 error"] if leaks else [])


CENTRED = """
    from tracker import Tracker

    class Centred(Tracker):
        def forward(self, x):
            {first}
            if {test}:
                middle = x.mean(dim=1)
                self.{call}
                return x - middle.mean(0)
            return x - self.centre
"""


@pytest.mark.parametrize(
    ("parts", "leaks"),
    [
        ({}, True),
        ({"call": "follow(2 * middle)"}, True),
        ({"test": "x.dim() > 1", "first": "if not self.training: return x - self.centre"}, True),
        ({"test": "not self.training"}, False),
        ({"test": "x.dim() > 1"}, False),
        ({"call": "follow(middle.detach())"}, False),
        ({"call": "follow_guarded(middle)"}, False),
        ({"follow": FOLLOW.replace("batch", "batch.detach()")}, False),
        ({"follow": "batch.mean(0)"}, False),
    ],
)
def test_a_layer_that_inherits_its_average(tmp_path: Path, parts: dict[str, str], leaks: bool) -> None:
    filled = {"follow": FOLLOW, "first": "pass", "test": "self.training", "call": "follow(middle)", **parts}
    files = {"tracker.py": TRACKER.format(follow=filled["follow"]), "centred.py": CENTRED.format(**filled)}
    assert Project(tmp_path, files).found() == (["centred.py: TLK103 note"] if leaks else [])
