"""What ``with manager() as name`` binds: what a context manager of the project yields, or is entered as."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import HEAD, TRAINING, Program
from projects import Project

IMPORTS = f"{HEAD}from contextlib import contextmanager\n"

SWITCHED = """
@contextmanager
def resting(net):
    before = net.training
    net.train(False)
    try:
        yield net
    finally:
        net.train(before)
"""

AFTER_COUNTING = """
@contextmanager
def resting(net):
    net.eval()
    yield sum(p.numel() for p in net.parameters()), net
    net.train()
"""

OBJECT = """
class resting:
    def __init__(self, net):
        self.net = net

    def __enter__(self):
        self.net.eval()
        return self.net

    def __exit__(self, *args):
        self.net.train()
"""

METHOD = """
class Modes:
    @contextmanager
    def resting(self, net):
        net.eval()
        yield net
        net.train()

resting = Modes().resting
"""

ANSWER = """
def answer(loader):
    net = nn.Linear(3, 3)
    found = []
    with resting(net) as {name}:
        for x in loader:
            found.append(seen(x).argmax(1).tolist())
    return found
"""

MANAGERS = {"a generator": SWITCHED, "a pair": AFTER_COUNTING, "an object": OBJECT}


def answers(manager: str) -> str:
    return ANSWER.format(name="(size, seen)" if manager is AFTER_COUNTING else "seen")


@pytest.mark.parametrize("manager", MANAGERS.values(), ids=MANAGERS)
def test_a_network_is_known_by_the_name_that_a_block_gives_it(manager: str) -> None:
    assert Program(manager + answers(manager), head=IMPORTS).infers() == ["answer"]


def test_that_of_another_file_is_as_good(tmp_path: Path) -> None:
    files = {"modes.py": IMPORTS + SWITCHED, "main.py": f"{HEAD}from modes import resting\n{answers(SWITCHED)}"}
    assert "TLK201" in " ".join(Project(tmp_path, files).found())


def test_what_yields_under_a_guard_guards() -> None:
    guarded = SWITCHED.replace("        yield net", "        with torch.no_grad():\n            yield net")
    assert Program(guarded + answers(guarded), head=IMPORTS).infers() == []


def test_what_gives_an_array_gives_no_network() -> None:
    counted = SWITCHED.replace("yield net", "yield lambda x: np.asarray(x)")
    assert Program(f"import numpy as np\n{counted}{answers(counted)}", head=IMPORTS).infers() == []


@pytest.mark.parametrize(
    ("manager", "kind"),
    [
        ("@contextmanager\ndef counting():\n    yield torch.zeros(3)\n", {"without graph"}),
        ("@contextmanager\ndef counting():\n    yield 3\n", {"no tensor"}),
        ("class counting:\n    def __enter__(self):\n        return torch.zeros(3)\n", {"without graph"}),
        ("class counting:\n    def __enter__(self):\n        return self\n", {"no tensor"}),
        ("class counting(Base):\n    pass\n", {"no tensor"}),
        ("def counting():\n    return open(1)\n", {"no tensor"}),
    ],
)
def test_the_name_stands_for_what_is_entered(manager: str, kind: set[str]) -> None:
    program = Program(f"{manager}\nwith counting() as counts:\n    print(counts)\n", head=IMPORTS)
    assert program.kinds(program.shown()) == kind


PROBE = """
class Probe:
    def __init__(self, net):
        self.net, self.shapes, self.handles = net, [], []

    def __enter__(self):
        {enters}
        return self

    def note(self, module, given, out):
        self.shapes.append(out.shape)

    def __exit__(self, *error):
        {leaves}

def probed(net, x):
    with Probe(net):
        {block}

def main(loader, net):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(probed(net, x), y).backward()
        optimizer.step()
"""

REGISTERS = "self.handle = self.net.register_forward_hook(self.note)"
"""What leaves one more hook with each block, unless it is removed."""


@pytest.mark.parametrize(
    ("enters", "leaves", "block", "count"),
    [
        (REGISTERS, "pass", "return net(x)", 1),
        ("self.net.register_forward_hook(self.note)", "print(self.shapes)", "out = net(x)\n    return out", 1),
        (REGISTERS, "self.handle.remove()", "return net(x)", 0),
        (REGISTERS, "self.close()\n\n    def close(self):\n        self.handle.remove()", "return net(x)", 0),
        ("self.handles.append(self.net.register_forward_hook(self.note))",
         "while self.handles:\n            self.handles.pop().remove()", "out = net(x)\n    return out", 0),
        ("pass", "pass", "return net(x)", 0),
    ],
)  # fmt: skip
def test_a_block_enters_and_leaves_its_object(enters: str, leaves: str, block: str, count: int) -> None:
    program = Program(f"{TRAINING}{PROBE.format(enters=enters, leaves=leaves, block=block)}main(loader, model)\n")
    assert len(program.facts.piled_hooks) == count
