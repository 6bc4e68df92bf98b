"""What layers leave on themselves only to be looked at, by their own methods or by those of a base in another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

POOLING = """
import torch
from torch import nn
from .encodings import Sines

class Pooling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.sines = Sines(width)
        self.key, self.value, self.side = nn.Linear(width, 1), nn.Linear(width, width), nn.Linear(width, 1)
        self._shares = None
    def forward(self, x):
        x = x + self.sines(x.size(1))
        shares = self.key(x).softmax(dim=1)
        self._shares = {kept}
        return (shares * self.value(x)).sum(1)
    {reads}
"""

SHOWN = "def shown(self):\n        return self._shares[0].detach().cpu().numpy()"


def left(source: str) -> list[tuple[str, bool]]:
    """What is left: its holder, and whether nobody is seen to train it."""
    return [(one.name, one.is_looked_at) for one in Program(source).facts.leftovers]


@pytest.mark.parametrize(
    ("kept", "reads", "is_left"),
    [
        ("shares", SHOWN, True),
        ("self.side(x)", SHOWN, True),
        ("shares", SHOWN.replace("self._shares[0].detach()", "self._shares.data.mean(0)"), True),
        ("shares.detach()", SHOWN, False),
        ("shares.argmax(1)", SHOWN, False),
        ("shares", "", False),  # nobody is seen to look at it
        ("shares", SHOWN.replace(".detach().cpu().numpy()", ""), False),
        ("shares", SHOWN + "\n    def spread(self):\n        return self._shares.var(1).mean()", False),
        ("shares", SHOWN + "\n    def forget(self):\n        self._shares = None", True),
        ("shares", SHOWN.replace("return", "shares = self._shares; self.kept = shares; return"), False),
    ],
    ids=[
        "an array", "of its own branch", "a mean", "cut", "positions", "unread", "given on", "a penalty", "forgotten",
        "kept on",
    ],
)  # fmt: skip
def test_what_a_private_attribute_is_read_for_tells_whether_its_graph_is_wanted(
    kept: str, reads: str, is_left: bool
) -> None:
    assert left(POOLING.format(kept=kept, reads=reads)) == ([("self._shares", True)] if is_left else [])


def test_a_public_attribute_may_be_read_by_who_is_not_seen() -> None:
    assert left(POOLING.replace("_shares", "shares").format(kept="shares", reads=SHOWN.replace("_sh", "sh"))) == []


def test_what_is_no_layer_may_leave_what_it_trains_on_later() -> None:
    source = POOLING.replace("(nn.Module)", "").replace("def forward", "def scores")
    assert left(source.format(kept="shares", reads=SHOWN)) == []


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        ("def use(net, x):\n    return net(x)", True),
        ("def penalty(net):\n    return net._shares.mean()", False),
    ],
)
def test_another_file_that_names_a_private_attribute_may_want_its_graph(
    tmp_path: Path, other: str, is_found: bool
) -> None:
    layer = POOLING.format(kept="shares", reads=SHOWN)
    project = Project(tmp_path, {"pooling.py": layer, "use.py": f"from pooling import Pooling\n{other}\n"})
    assert project.found() == (["pooling.py: TLK111 note"] if is_found else [])


TRAINING = """
from pooling import Pooling

def train(loader, optimizer):
    net = Pooling(4)
    for x, y in loader:
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        ("def picture(net):\n    return net.pooling.shares.detach().cpu()", True),
        (
            "def picture(net):\n    shares = net.pooling.shares\n    return shares.numel() and shares.mean().item()",
            True,
        ),
        ("def picture(net):\n    return net.pooling.shares", False),
        ("def picture(net):\n    return net.pooling.shares.shape", True),
        ("def picture(net):\n    return net.pooling.shares.detach(), net.pooling.shares.var().mean()", False),
    ],
    ids=["a picture", "a number", "given on", "only its size", "a penalty beside a picture"],
)
@pytest.mark.parametrize("is_imported", [False, True], ids=["imports it", "is beside it"])
def test_another_file_may_read_only_the_numbers_of_a_public_attribute(
    tmp_path: Path, other: str, is_imported: bool, *, is_found: bool
) -> None:
    layer = POOLING.replace("_shares", "shares").format(kept="shares", reads="")
    importing = "from pooling import Pooling\n" if is_imported else ""
    project = Project(tmp_path, {"pooling.py": layer, "use.py": f"{importing}{other}\n", "train.py": TRAINING})
    assert project.found() == (["pooling.py: TLK111 note"] if is_found else [])


BASE = """
    import torch
    from torch import nn

    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.all = None, []

        def watch(self, value):
            {watches}
            return value

        {more}
"""

GATE = """
    import torch
    from torch import nn
    from watched import Watched

    class Gate(Watched):
        def __init__(self, width):
            super().__init__()
            self.open, self.way, self.side = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)

        def forward(self, x):
            gate = torch.sigmoid(self.open(x))
            {call}
            return gate * self.way(x)
"""

TRAIN = """
    import torch
    from torch import nn
    from gate import Gate

    def train(loader):
        net = nn.Sequential(Gate(8), Gate(8), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y){term}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {after}
"""


def files(**given: str) -> dict[str, str]:
    """A base that watches, a layer that derives from it, and a training of another file."""
    told = {"watches": "self.last = value", "more": "", "call": "gate = self.watch(gate)", "term": "", "after": "pass"}
    told |= given
    return {"watched.py": BASE.format(**told), "gate.py": GATE.format(**told), "train.py": TRAIN.format(**told)}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, ["note"]),
        ({"call": "self.watch(gate)"}, ["note"]),
        ({"call": "super().watch(gate)"}, ["note"]),
        ({"call": "self.watch(self.side(x))"}, ["warning"]),
        ({"more": "def number(self):\n            return self.last.detach().mean().item()"}, ["note"]),
        ({"after": "print(float(net[0].last.mean()))"}, ["note"]),
        ({"watches": "self.last = value.detach()"}, []),
        ({"call": "self.watch(gate.detach())"}, []),
        ({"call": "with torch.no_grad(): self.watch(torch.sigmoid(self.open(x)))"}, []),
        ({"more": "def close(self):\n            self.last = None"}, []),
        ({"term": " + sum(part.last.mean() for part in net[:2])"}, []),
        ({"more": "def term(self):\n            return self.last.mean()", "term": " + net[0].term()"}, []),
        ({"after": "net[0].last = None"}, []),
    ],
    ids=[
        "given on", "beside", "by the base", "its own branch", "a number of it", "printed", "cut by the base", "cut",
        "no gradients", "taken away by the base", "in the loss", "in the loss by a method", "taken away later",
    ],
)  # fmt: skip
def test_a_layer_leaves_what_it_hands_to_a_method_of_a_base_in_another_file(
    tmp_path: Path, given: dict[str, str], found: list[str]
) -> None:
    assert Project(tmp_path, files(**given)).found() == [f"gate.py: TLK111 {level}" for level in found]


NOTES = """
    import torch
    from torch import nn

    seen = None

    def note(value):
        global seen
        seen = {noted}

    def number():
        return 0.0 if seen is None else float(seen.mean())

    {more}
"""

MIXED = """
    import torch
    from torch import nn
    from notes import note

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.share, self.way, self.side = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

        def error(self, x, y):
            share = self.share(x).softmax(-1)
            {call}
            return (share * self.way(x) - y).pow(2).mean()
"""

STEPS = """
    import torch
    import notes
    from mixed import Mixed

    def train(loader):
        net = Mixed()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = net.error(x, y){term}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(notes.number())
"""


@pytest.mark.parametrize(
    ("given", "is_left"),
    [
        ({}, True),
        ({"call": "note(share.mean(0))"}, True),
        ({"noted": "value.detach()"}, False),
        ({"call": "note(share.detach())"}, False),
        ({"call": "with torch.no_grad(): note(self.share(x).softmax(-1))"}, False),
        ({"call": "note(self.side(x))"}, False),  # of no loss that is seen: who calls may differentiate it
        ({"more": "def last():\n        return seen", "term": " + notes.last().mean()"}, False),
        ({"more": "def last():\n        return seen.mean()", "term": " + notes.last()"}, False),
        ({"term": " + notes.seen.mean()"}, False),
    ],
    ids=["told", "a sum", "cut there", "cut", "no gradients", "another branch", "asked for", "a term", "in the loss"],
)
def test_a_global_of_another_file_that_is_only_looked_at(tmp_path: Path, given: dict[str, str], is_left: bool) -> None:
    told = {"noted": "value", "more": "", "call": "note(share)", "term": ""} | given
    texts = {"notes.py": NOTES, "mixed.py": MIXED, "steps.py": STEPS}
    project = Project(tmp_path, {name: text.format(**told) for name, text in texts.items()})
    assert project.found() == (["mixed.py: TLK111 note"] if is_left else [])
