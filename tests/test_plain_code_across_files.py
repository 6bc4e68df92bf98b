"""Plain code in three files that is right: what one does to a value another one has to know, or else to say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NUMBERS = """
    import torch

    def numbers(terms):
        names = sorted(terms)
        found = torch.stack([terms[name].detach() for name in names])
        return dict(zip(names, {values}))
"""

LEARNER = """
    import torch
    from collections import Counter
    from numbers_ import numbers
    from torch import nn

    class Learner:
        def __init__(self, net):
            self.net, self.sums = net, Counter()
            self.optimizer = torch.optim.Adam(net.parameters())

        def learn(self, x, y):
            wrong = self.net(x) - y
            terms = {"near": wrong.abs().mean(), "far": wrong.pow(2).mean()}
            self.optimizer.zero_grad()
            sum(terms.values()).backward()
            self.optimizer.step()
            for name, value in numbers(terms).items():
                self.sums[name] += value

    def main(loader):
        learner = Learner(nn.Linear(3, 3))
        for x, y in loader:
            learner.learn(x, y)
"""


@pytest.mark.parametrize(
    ("values", "grows"),
    [("found.tolist()", False), ("found", False), ("[terms[name] for name in names]", True), ("terms.values()", True)],
)
def test_a_dictionary_of_zipped_sequences_has_the_second_one_under_its_keys(
    tmp_path: Path, values: str, grows: bool
) -> None:
    files = {"numbers_.py": NUMBERS.format(values=values), "learner.py": LEARNER}
    assert any("TLK101" in one for one in Project(tmp_path, files).found()) == grows


SERVING = """
    import functools
    import threading
    import torch

    LOCK = threading.Lock()

    def served(answer):
        @functools.wraps(answer)
        def alone(self, *given):
            with LOCK, {guard}:
                return answer(self, *given)
        return alone
"""

ENGINE = """
    import torch
    from serving import served
    from torch import nn

    class Engine:
        def __init__(self, path):
            self.net = nn.Linear(3, 3)
            self.net.load_state_dict(torch.load(path, map_location="cpu"))
            self.net.eval()

        {decorator}
        def answer(self, rows):
            return self.net(torch.tensor(rows)).argmax(1).tolist()
"""

ASKING = """
    from engine import Engine

    ENGINE = Engine("net.pt")

    def ask(rows):
        return ENGINE.answer(rows)
"""


@pytest.mark.parametrize(
    ("guard", "decorator", "is_told"),
    [
        ("torch.inference_mode()", "@served", False),
        ("torch.no_grad()", "@served", False),
        ("torch.autocast('cuda')", "@served", True),
        ("torch.no_grad()", "", True),
    ],
)
def test_a_decorator_of_a_third_file_guards_for_who_calls(
    tmp_path: Path, guard: str, decorator: str, is_told: bool
) -> None:
    files = {
        "serving.py": SERVING.format(guard=guard),
        "engine.py": ENGINE.format(decorator=decorator),
        "asking.py": ASKING,
    }
    found = Project(tmp_path, files).found()
    assert any("TLK201" in one for one in found) == is_told


BAG = """
    class Bag:
        def __init__(self):
            self.clear()

        def clear(self):
            self.sum, self.count = 0.0, 0

        def add(self, term):
            self.sum = self.sum + {kept}
            self.count += 1

        @property
        def mean(self):
            return self.sum / max(self.count, 1)
"""

DYNAMICS = """
    import torch
    from bag import Bag
    from torch import nn

    class Fitting:
        def __init__(self, width):
            self.cell, self.head = nn.GRUCell(3, width), nn.Linear(width, 3)
            weights = [*self.cell.parameters(), *self.head.parameters()]
            self.optimizer, self.bag = torch.optim.Adam(weights), Bag()

        def unroll(self, rows, h):
            for now, later in zip(rows[:-1], rows[1:]):
                h = self.cell(now, h)
                self.bag.add(nn.functional.mse_loss(self.head(h), later))

        def update(self, rows, h):
            self.bag.clear()
            self.unroll(rows, h)
            {train}

    def main(loader):
        fitting = Fitting(8)
        for rows in loader:
            fitting.update(rows, torch.zeros(4, 8))
"""

TRAIN = "wrong = self.bag.mean; self.optimizer.zero_grad(); wrong.backward(); self.optimizer.step()"


@pytest.mark.parametrize(
    ("kept", "train", "is_told"), [("term", TRAIN, False), ("term.item()", "print(self.bag.mean)", True)]
)
def test_states_of_one_sequence_are_trained_through_what_another_file_sums_up(
    tmp_path: Path, kept: str, train: str, is_told: bool
) -> None:
    files = {"bag.py": BAG.format(kept=kept), "dynamics.py": DYNAMICS.format(train=train)}
    assert any("TLK104" in one for one in Project(tmp_path, files).found()) == is_told
