"""What functions of other files write into the objects that they are given is what these hold from then on."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

HEAD = """
    import torch
    from torch import nn
    from dataclasses import dataclass, field
    from types import SimpleNamespace
"""

NOTING = (
    HEAD
    + """
    def note(seen, loss):
        {write}
"""
)

TRAINING = (
    HEAD
    + """
    from noting import note

    class Seen:
        def __init__(self):
            self.last = None

    @dataclass
    class Noted:
        last: object = None

    def train(loader, net: nn.Module, optimizer):
        seen = {made}
        total = 0.0
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            note(seen, loss)
            total += {read}
        print(total)
"""
)

WRITES = [
    ("Seen()", "seen.last = loss{ending}", "seen.last"),
    ("Noted()", "seen.last = loss{ending}", "seen.last"),
    ("SimpleNamespace(last=None)", "seen.last = loss{ending}", "seen.last"),
    ("{}", "seen['last'] = loss{ending}", "seen['last']"),
    ("{'last': 0.0}", "seen.update(last=loss{ending})", "seen['last']"),
    ("[]", "seen.append(loss{ending})", "seen.pop()"),
    ("Seen()", "keep(seen, loss{ending})\n\n    def keep(seen, loss):\n        seen.last = loss", "seen.last"),
]


@pytest.mark.parametrize(("made", "write", "read"), WRITES)
def test_a_sum_of_what_is_written_there_keeps_its_graph(tmp_path: Path, made: str, write: str, read: str) -> None:
    files = {
        "noting.py": NOTING.format(write=write.format(ending="")),
        "run.py": TRAINING.format(made=made, read=read),
    }
    assert Project(tmp_path, files).found() == ["run.py: TLK101 warning"]


@pytest.mark.parametrize("ending", [".item()", ".detach()"])
@pytest.mark.parametrize(("made", "write", "read"), WRITES)
def test_a_sum_of_numbers_that_are_written_there_does_not(
    tmp_path: Path, made: str, write: str, read: str, ending: str
) -> None:
    files = {
        "noting.py": NOTING.format(write=write.format(ending=ending)),
        "run.py": TRAINING.format(made=made, read=read),
    }
    assert Project(tmp_path, files).found() == []
