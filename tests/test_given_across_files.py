"""What another file says of an object or a function by what it gives it: which network, which flag."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

FORCES = """
import torch
from torch import nn

class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, x):
        x = x.detach().requires_grad_(True)
        energy = self.layer(x)
        {slope}
"""
SCORER = """
class Scorer:
    def __init__(self, model):
        self.model = model
    def __call__(self, rows):
        self.model.eval()
        return sum(self.model(row).mean().item() for row in rows)
"""


@pytest.mark.parametrize(
    ("slope", "found"),
    [("return energy", ["train.py: TLK201 note"]), ("return -torch.autograd.grad(energy.sum(), x)[0]", [])],
)
def test_which_network_an_object_was_made_with_says_whether_it_differentiates(
    tmp_path: Path, slope: str, found: list[str]
) -> None:
    files = {
        "field.py": FORCES.format(slope=slope),
        "scoring.py": SCORER,
        "train.py": """
            import torch
            from field import Field
            from scoring import Scorer

            def train(loader, rows):
                net = Field()
                score = Scorer(net)
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for x in loader:
                    net(x).sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                print(score(rows))
        """,
    }
    assert Project(tmp_path, files).found("train.py") == found


def test_a_function_of_another_file_binds_no_variable_of_the_one_around_its_call(tmp_path: Path) -> None:
    files = {
        "scaling.py": """
            def scaled(loss):
                return 2 * loss
        """,
        "train.py": """
            import torch
            from torch import nn
            from scaling import scaled

            def train(loader):
                net, total = nn.Linear(3, 1), 0.0
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

                def note(loss):
                    nonlocal total
                    total = total + loss

                for x in loader:
                    loss = scaled(net(x).mean())
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    note(loss)
                return float(total)
        """,
    }
    assert Project(tmp_path, files).found("train.py") == ["train.py: TLK101 warning"]


@pytest.mark.parametrize(("flag", "found"), [("False", []), ("True", ["train.py: TLK101 error"])])
def test_a_flag_says_whether_a_function_of_another_file_cuts_the_graph_off(
    tmp_path: Path, flag: str, found: list[str]
) -> None:
    files = {
        "tools.py": """
            def cost(net, x, training):
                value = net(x).mean()
                if not training:
                    value = value.detach()
                return value, 1
        """,
        "train.py": f"""
            import torch
            from torch import nn
            from tools import cost

            def watch(loader):
                net = nn.Linear(3, 3)
                total = 0.0
                cost(net, torch.ones(3), True)[0].backward()
                for x in loader:
                    value, other = cost(net, x, {flag})
                    total += value
                return total.item()
        """,
    }
    told = Project(tmp_path, files).found("train.py")
    assert [one for one in told if "TLK201" not in one] == found


@pytest.mark.parametrize(("logged", "found"), [("cost", ["train.py: TLK102 warning"]), ("cost.item()", [])])
def test_a_criterion_that_runs_the_model_tells_what_it_logs_beside_the_loss(
    tmp_path: Path, logged: str, found: list[str]
) -> None:
    files = {
        "criterion.py": f"""
            from torch import nn

            class Criterion(nn.Module):
                def forward(self, net, x):
                    out = net(x).log_softmax(-1)
                    cost = -out[x > 0].sum()
                    return cost, {{"cost": {logged}, "count": len(x)}}
        """,
        "train.py": """
            import torch
            from torch import nn
            from criterion import Criterion

            def train(loader):
                net, criterion, kept = nn.Linear(3, 3), Criterion(), []
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for x in loader:
                    loss, log = criterion(net, x)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    kept.append(log)
                return [float(log["cost"]) for log in kept]
        """,
    }
    assert Project(tmp_path, files).found("train.py") == found


@pytest.mark.parametrize(
    ("kept", "called", "found"),
    [
        ("self.rows[path] = wave[:, :16000]", "store.put(path)", ["store.py: TLK402 error"]),
        ("self.rows[path] = wave[:, :16000].clone()", "store.put(path)", []),
        ("self.rows[path] = wave[:, :16000]", "print(path)", []),
        ("for n, row in enumerate(path): self.rows[row] = wave[n, 0]", "store.put(path)", ["store.py: TLK402 note"]),
        ("for n, row in enumerate(path): self.rows[row] = wave[n]", "store.put(path)", []),
        ("for n, row in enumerate(path): self.rows[row] = wave[n, 0]", "print(path)", []),
    ],
)
def test_pieces_that_a_store_keeps_with_each_call_of_another_files_loop(
    tmp_path: Path, kept: str, called: str, found: list[str]
) -> None:
    files = {
        "store.py": f"""
            import torchaudio

            class Store:
                def __init__(self):
                    self.rows = {{}}
                def put(self, path):
                    wave, rate = torchaudio.load(path)
                    {kept}
        """,
        "main.py": f"""
            import torch
            from store import Store

            def main(paths):
                store = Store()
                for path in paths:
                    {called}
                return store
        """,
    }
    assert Project(tmp_path, files).found() == found


@pytest.mark.parametrize("imported", ["from data import Rows", "from data.rows import Rows", "import data"])
def test_a_package_that_hands_a_class_on_is_imported_for_it(tmp_path: Path, imported: str) -> None:
    made = "data.Rows" if imported == "import data" else "Rows"
    files = {
        "data/__init__.py": "from .rows import Rows\n",
        "data/rows.py": """
            import json
            from torch.utils.data import Dataset

            class Rows(Dataset):
                def __init__(self, path):
                    with open(path) as file:
                        self.rows = [json.loads(line) for line in file]
                def __len__(self):
                    return len(self.rows)
                def __getitem__(self, index):
                    return self.rows[index]["x"]
        """,
        "train.py": f"""
            from torch.utils.data import DataLoader
            {imported}

            def loader(path):
                return DataLoader({made}(path), num_workers=8)
        """,
    }
    assert Project(tmp_path, files).found() == ["data/rows.py: TLK501 warning"]


@pytest.mark.parametrize(("called", "found"), [("self.apply(loss)", []), ("print(loss)", ["core.py: TLK201 note"])])
def test_a_step_of_a_subclass_elsewhere_trains_by_a_method_of_its_base(
    tmp_path: Path, called: str, found: list[str]
) -> None:
    files = {
        "core.py": """
            import torch

            class Trainer:
                def __init__(self, model):
                    self.model = model
                    self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                def step(self, batch):
                    raise NotImplementedError
                def apply(self, loss):
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                def train(self, loader):
                    for batch in loader:
                        print(self.step(batch))
        """,
        "task.py": f"""
            import torch
            from torch import nn
            from core import Trainer

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(3, 3)
                def forward(self, x):
                    return self.layer(x)

            class Task(Trainer):
                def step(self, batch):
                    loss = self.model(batch).sum()
                    {called}
                    return loss.item()

            Task(Net()).train([torch.ones(3)])
        """,
    }
    assert [one for one in Project(tmp_path, files).found() if one.startswith("core")] == found


@pytest.mark.parametrize(
    ("terms", "kept", "found"),
    [
        ('{"mse": flat((out - x) ** 2)}', 'terms["mse"]', ["train.py: TLK102 warning"]),
        ('{"mse": (out - x).pow(2).mean(1)}', 'terms["mse"]', ["train.py: TLK102 warning"]),
        ('{"mse": flat((out - x) ** 2)}', 'terms["mse"].detach()', []),
        ('{"mse": flat(out.detach() - x)}', 'terms["mse"]', []),
        ('{"mse": flat(out - x), "count": len(x)}', 'terms["count"]', []),
    ],
)
def test_terms_that_are_put_beside_others_in_a_dict(tmp_path: Path, terms: str, kept: str, found: list[str]) -> None:
    files = {
        "terms.py": f"""
            import torch

            def flat(x):
                return x.mean(dim=list(range(1, x.ndim)))

            class Process:
                def terms(self, net, x):
                    out = net(x)
                    terms = {terms}
                    terms["loss"] = out.sum() * 2
                    return terms
        """,
        "train.py": f"""
            import torch
            from torch import nn
            from terms import Process

            def train(loader):
                net, process, kept = nn.Linear(3, 3), Process(), []
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for x in loader:
                    terms = process.terms(net, x)
                    terms["loss"].backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    kept.append({kept})
                return [float(one.mean()) for one in kept]
        """,
    }
    assert Project(tmp_path, files).found("train.py") == found
