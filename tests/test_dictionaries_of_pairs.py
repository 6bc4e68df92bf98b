"""Dictionaries that are made of pairs: what is under their keys is what is second in each pair."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

METERS = """
    from collections import OrderedDict

    class Meter:
        def __init__(self, name=""):
            self.name, self.total, self.n = name, 0.0, 0

        def update(self, value, n=1):
            self.total += {value} * n
            self.n += n

    class Meters:
        def __init__(self, *names):
            self.meters = {made}

        def update(self, n=1, **values):
            for name, value in values.items():
                self.meters[name].update(value, n)

        def summary(self):
            return {{name: float(meter.total) / meter.n for name, meter in self.meters.items()}}
"""

ENGINE = """
    import torch
    from torch import nn

    class Engine:
        def __init__(self, net: nn.Module, optimizer, meters):
            self.net, self.optimizer, self.meters = net, optimizer, meters

        def train_epoch(self, loader):
            for x, y in loader:
                loss = nn.functional.mse_loss(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.meters.update(loss={given}, n=len(x))
            return self.meters.summary()
"""

RUN = """
    import torch
    from torch import nn
    from engine import Engine
    from meters import Meters

    def main(loader, epochs):
        net = nn.Linear(8, 1)
        engine = Engine(net, torch.optim.SGD(net.parameters(), lr=0.1), Meters("loss", "error"))
        for epoch in range(epochs):
            print(engine.train_epoch(loader))
"""

LISTED = [
    "OrderedDict((name, Meter(name)) for name in names)",
    "OrderedDict([(name, Meter(name)) for name in names])",
    "dict((name, Meter(name)) for name in names)",
    'OrderedDict([("loss", Meter("loss")), ("error", Meter("error"))])',
    'dict([["loss", Meter("loss")]], error=Meter("error"))',
]


@pytest.mark.parametrize("made", LISTED)
@pytest.mark.parametrize(("value", "given", "leaks"), [
    ("value", "loss", True),
    ("value", "loss.detach()", False),
    ("float(value)", "loss", False),
])  # fmt: skip
def test_meters_under_names_that_an_object_of_another_file_has(
    tmp_path: Path, made: str, value: str, given: str, leaks: bool
) -> None:
    files = {
        "meters.py": METERS.format(made=made, value=value),
        "engine.py": ENGINE.format(given=given),
        "run.py": RUN,
    }
    assert Project(tmp_path, files).found() == (["engine.py: TLK105 warning"] if leaks else [])


@pytest.mark.parametrize("made", [
    'dict({"loss": (0, Meter("loss"))})',
    'dict([("loss", (0, Meter("loss")))])',
    'OrderedDict([("loss", 0, Meter("loss"))])',
])  # fmt: skip
def test_what_is_in_a_pair_under_a_key_is_not_under_the_key(tmp_path: Path, made: str) -> None:
    files = {
        "meters.py": METERS.format(made=made, value="value"),
        "engine.py": ENGINE.format(given="loss"),
        "run.py": RUN,
    }
    assert Project(tmp_path, files).found() == []
