"""Trainings whose backward is called by other ways than ``loss.backward()``: the network is trained all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

HEAD = """
    import torch
    import torch.nn.functional as F
    from torch import nn
"""

TRAINING = """
    def fit(loader, net: nn.Module, optimizer):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            {backward}
            optimizer.step()

    def main(loader):
        net = nn.Linear(8, 2)
        fit(loader, net, torch.optim.SGD(net.parameters(), lr=0.1))
"""


@pytest.mark.parametrize(
    "backward",
    [
        "torch.autograd.backward([loss])",
        "torch.Tensor.backward(loss)",
        "differentiate = loss.backward; differentiate()",
        "getattr(loss, 'backward')()",
        "[one.backward() for one in (loss,)]",
    ],
)
def test_a_network_is_trained(tmp_path: Path, backward: str) -> None:
    assert Project(tmp_path, {"run.py": HEAD + TRAINING.format(backward=backward)}).found() == []


STEP = """
    def step(optimizer):
        def decorate(objective):
            def run(*args):
                optimizer.zero_grad()
                loss = objective(*args)
                {backward}
                optimizer.step()
                return loss.item()
            return run
        return decorate
"""

DECORATED = """
    def fit(loader):
        net = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        @step(optimizer)
        def objective(x, y):
            return F.cross_entropy(net(x), y)

        for x, y in loader:
            print(objective(x, y))
"""


@pytest.mark.parametrize("is_imported", [False, True])
def test_a_decorator_may_train_on_what_a_function_returns(tmp_path: Path, is_imported: bool) -> None:
    step = STEP.format(backward="loss.backward()")
    files = {"run.py": HEAD + step + DECORATED}
    if is_imported:
        files = {"run.py": f"{HEAD}    from steps import step\n{DECORATED}", "steps.py": HEAD + step}
    assert Project(tmp_path, files).found() == []


def test_one_that_trains_nothing_does_not(tmp_path: Path) -> None:
    source = HEAD + STEP.format(backward="pass") + DECORATED
    assert Project(tmp_path, {"run.py": source}).found() == ["run.py: TLK201 warning"]


LEDGER = """
    class Ledger(dict):
        def book(self, task, term):
            {put}

        def settle(self):
            total = sum(self.values())
            self.clear()
            return total, 1

    def fit(loader):
        net = nn.Linear(8, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        ledger = Ledger()
        for x, y in loader:
            ledger.book("main", F.cross_entropy(net(x), y))
            objective, count = ledger.settle()
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    "put", ["self[task] = term", "self[task] += term", "self[task] = self.get(task, 0.0) + term", "self.update(a=term)"]
)
def test_terms_may_go_through_an_object_that_is_a_dictionary(tmp_path: Path, put: str) -> None:
    assert Project(tmp_path, {"run.py": HEAD + LEDGER.format(put=put)}).found() == []


WEIGHTS = """
    class Taste(nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.films = nn.Embedding(9, 8), nn.Embedding(9, 8)
            self.mix = nn.Linear(16, 1)

        def forward(self, user, film):
            return self.mix(torch.cat([self.users(user), self.films(film)], -1))

    def fit(loader):
        net = Taste()
        {optimizers}
        for user, film, y in loader:
            loss = F.mse_loss(net(user, film), y)
            for one in optimizers:
                one.zero_grad()
            loss.backward()
            for one in optimizers:
                one.step()
"""

BY_NAME = (
    "tables = {tables}; optimizers = [torch.optim.Adagrad(tables, 0.1), torch.optim.Adam(net.mix.parameters(), 0.1)]"
)


@pytest.mark.parametrize(
    ("tables", "found"),
    [
        ("[net.users.weight, net.films.weight]", []),
        ("[{'params': [net.users.weight]}, {'params': net.films.weight}]", []),
        ("[net.films.weight]", ["run.py: TLK203 warning"]),
    ],
)
def test_an_optimizer_may_be_given_weights_by_their_names(tmp_path: Path, tables: str, found: list[str]) -> None:
    optimizers = BY_NAME.replace("{tables}", tables)
    source = HEAD + WEIGHTS.replace("{optimizers}", optimizers)
    assert Project(tmp_path, {"run.py": source}).found() == found
