"""Terms of an objective that one file adds to an object, and another file trains on or only writes down."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TERMS = """
    class Terms:
        def __init__(self, weights):
            self.weights = weights
            self.open()

        def open(self):
            self.total = 0.0
            self.parts = []
            self.named = {{}}

        def add(self, name, term):
            {put}

        def objective(self):
            return {objective}

        def __call__(self):
            return {objective}

        def line(self):
            return " ".join(f"{{k}} {{float(v):.3f}}" for k, v in self.named.items())
"""

LAWS = """
    import torch

    class Laws:
        def __init__(self, terms):
            self.terms = terms

        def drift(self, u, x):
            slope = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            self.terms.add("drift", slope.pow(2).mean())

    def drift(u, x, terms):
        slope = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        terms.add("drift", slope.pow(2).mean())
"""

SOLVE = """
    import torch
    from torch import nn
    from laws import Laws, drift
    from terms import Terms

    def main(steps):
        net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(net.parameters())
        terms = Terms({{"drift": 2.0}})
        laws = Laws(terms)
        for step in range(steps):
            x = torch.rand(64, 2, requires_grad=True)
            u = net(x)
            {call}
            optimizer.zero_grad()
            {train}
            optimizer.step()
            if step % 100 == 0:
                print(step, terms.line(), float(terms.total))
"""

SUM = "self.total = self.total + self.weights.get(name, 1.0) * term"
LIST = "self.parts.append(term)"
DICT = "self.named[name] = term"
TRAINED = [
    (SUM, "self.total", "terms.total.backward()"),
    (SUM, "self.total", "terms.objective().backward()"),
    (SUM, "self.total", "loss = terms(); loss.backward()"),
    ("self.total += term", "self.total", "loss = terms.total; loss.backward()"),
    (LIST, "sum(self.parts)", "sum(terms.parts).backward()"),
    (LIST, "sum(self.parts)", "torch.stack(terms.parts).sum().backward()"),
    (LIST, "sum(self.parts)", "terms.objective().backward()"),
    (DICT, "sum(self.named.values())", "sum(terms.named.values()).backward()"),
    (DICT, "sum(self.named.values())", "terms.objective().backward()"),
]
CALLS = ["drift(u, x, terms)", "drift(u, x, terms=terms)", "laws.drift(u, x)"]


def found(folder: Path, put: str, objective: str, call: str, train: str) -> list[str]:
    files = {
        "terms.py": TERMS.format(put=put, objective=objective),
        "laws.py": LAWS,
        "solve.py": SOLVE.format(call=call, train=train),
    }
    return Project(folder, files).found()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("put", "objective", "train"), TRAINED)
def test_what_a_third_file_trains_on_is_to_be_kept(
    tmp_path: Path, put: str, objective: str, train: str, call: str
) -> None:
    assert not found(tmp_path, put, objective, f"terms.open(); {call}", train)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("put", "objective"), [(SUM, "float(self.total)"), (LIST, "len(self.parts)")])
def test_what_nobody_trains_on_is_not(tmp_path: Path, put: str, objective: str, call: str) -> None:
    told = found(tmp_path, put, objective, call, "u.pow(2).mean().backward()")
    assert any(one.startswith("laws.py: TLK105") for one in told)
