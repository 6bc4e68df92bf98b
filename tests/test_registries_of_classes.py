"""Classes that a decorator of another file puts into a table, and what a function there makes of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

REGISTRY = """
    KNOWN = {{}}

    def register(name):
        def add(cls):
            {added}
            return cls
        return add

    def build(name):
        return {built}
"""

KINDS = """
    import torch
    from registry import register

    class Base:
        def __init__(self):
            self.rows = []

    {decorated}
    class Gaps(Base):
        def update(self, found, wanted):
            self.rows.append({kept})

        def compute(self):
            return torch.stack(self.rows).median().item()
"""

TRAIN = """
    import kinds
    import torch
    from torch import nn
    from registry import build

    def train(loader, name):
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        metric = build(name){item}
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
    "added": "KNOWN[name] = cls",
    "built": "KNOWN[name]()",
    "decorated": '@register("gaps")',
    "kept": "(found - wanted).abs().mean()",
    "item": "",
}


@pytest.mark.parametrize(
    ("program", "is_found"),
    [
        ({}, True),
        ({"built": "[KNOWN[one]() for one in name]", "item": "[0]"}, True),
        ({"kept": "(found - wanted).abs().mean().detach()"}, False),
        ({"decorated": "pass"}, False),
        # A decorator that only marks what it decorates puts it nowhere.
        ({"added": "cls.name = name"}, False),
        # What is called is what the caller gives.
        ({"built": "name()"}, False),
        ({"built": "KNOWN[name]"}, False),
    ],
)
def test_an_object_of_a_registered_class(tmp_path: Path, program: dict[str, str], is_found: bool) -> None:
    assert found(tmp_path, KINDS, {**DEFAULTS, **program}) == (["train.py: TLK105 warning"] if is_found else [])


HANDED = """
    import kinds
    import torch
    from torch import nn
    from registry import build
    from loop import Loop

    def main(loader):
        net = nn.Linear(8, 3)
        Loop(net, torch.optim.SGD(net.parameters(), lr=0.1), build("gaps")).run(loader)
"""

LOOP = """
    class Loop:
        def __init__(self, net, optimizer, metric):
            self.net, self.optimizer, self.metric = net, optimizer, metric

        def run(self, loader):
            for x, y in loader:
                found = self.net(x)
                loss = (found - y).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.metric.update(found, y)
            return self.metric.compute()
"""


@pytest.mark.parametrize(
    ("program", "is_found"),
    [
        ({}, True),
        ({"kept": "(found - wanted).abs().mean().detach()"}, False),
        ({"decorated": "pass"}, False),
        ({"built": "name()"}, False),
    ],
)
def test_who_is_handed_an_object_of_a_registered_class(tmp_path: Path, program: dict[str, str], is_found: bool) -> None:
    parts = {**DEFAULTS, **program}
    files = {"registry.py": REGISTRY.format(**parts), "kinds.py": KINDS.format(**parts), "main.py": HANDED}
    told = Project(tmp_path, {**files, "loop.py": LOOP}).found("main.py", "loop.py", "kinds.py", "registry.py")
    assert ("loop.py: TLK105 warning" in told) is is_found


def test_of_many_classes_it_may_be_any(tmp_path: Path) -> None:
    others = "".join(f'\n    @register("{one}")\n    class Other{one}(Base):\n        pass\n' for one in range(9))
    assert found(tmp_path, KINDS + others, DEFAULTS) == []


def found(folder: Path, kinds: str, parts: dict[str, str]) -> list[str]:
    texts = {"registry.py": REGISTRY, "kinds.py": kinds, "train.py": TRAIN}
    files = {name: text.format(**parts) for name, text in texts.items()}
    return [one for one in Project(folder, files).found() if "TLK105" in one]
