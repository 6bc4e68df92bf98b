"""Bases that are written with types, and bases of which it is known that they train nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import HEAD, Program
from projects import Project

from torchlint import check_source

ASKING = """
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
    def forward(self, x):
        return self.body(x)

class Scorer({bases}):
    def __init__(self):
        self.net = Net()
    def rank(self, rows):
        self.net.eval()
        return self.net(rows)
"""


@pytest.mark.parametrize(
    ("imports", "bases", "codes"),
    [
        ("", "", ["TLK201"]),
        ("from typing import Generic, TypeVar\nT = TypeVar('T')", "Generic[T]", ["TLK201"]),
        ("from typing import Protocol", "Protocol", ["TLK201"]),
        ("from sklearn.base import BaseEstimator, ClassifierMixin", "BaseEstimator, ClassifierMixin", ["TLK201"]),
        ("from strange.base import Estimator", "Estimator", []),
        ("from strange.base import Estimator", "Estimator[int]", []),
        ("from sklearn.base import BaseEstimator\nfrom strange import Fit", "BaseEstimator, Fit", []),
    ],
)
def test_a_base_that_is_known_asks_for_no_graph(imports: str, bases: str, codes: list[str]) -> None:
    source = HEAD + ASKING.format(imports=imports, bases=bases)
    assert [found.code for found in check_source(source)] == codes


@pytest.mark.parametrize("base", ["Base", "Base[int]", "Base[Net, dict[str, int]]"])
def test_a_class_has_what_its_generic_base_has(base: str) -> None:
    program = Program(f"""
class Base(Generic[T, S]):
    def __init__(self):
        self.net = nn.Linear(3, 3)
    def run(self, x):
        return self.step(x)
class Below({base}):
    def step(self, x):
        return self.net(x)
print(Below().run(torch.rand(2, 3)))
""")
    assert program.kinds(program.shown()) == {"live"}


@pytest.mark.parametrize("base", ["Runner", "Runner[int]"])
@pytest.mark.parametrize(
    ("body", "is_told"), [("return self.ask(rows).argmax(1)", True), ("return self.ask(rows).sum().backward()", False)]
)
def test_a_generic_base_of_another_file_is_read(tmp_path: Path, base: str, body: str, *, is_told: bool) -> None:
    files = {
        "runner.py": f"""
            from typing import Generic, TypeVar
            T = TypeVar("T")
            class Runner(Generic[T]):
                def run(self, rows):
                    {body}
        """,
        "asking.py": f"""
            from torch import nn
            from runner import Runner
            class Asking({base}):
                def __init__(self):
                    self.net = nn.Linear(3, 3)
                def ask(self, rows):
                    self.net.eval()
                    return self.net(rows)
        """,
    }
    found = Project(tmp_path, files).found()
    assert [one for one in found if one.startswith("asking.py")] == (["asking.py: TLK201 warning"] if is_told else [])
