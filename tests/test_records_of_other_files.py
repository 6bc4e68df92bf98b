"""Records that a function of another file makes, and classes that leave a method to one in a third file."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

from torchlint import check_paths

ENGINE = """
    from dataclasses import dataclass
    from typing import NamedTuple
    import torch

    {declared}
        step: int
        loss: torch.Tensor
        error: float

    class Engine:
        def __init__(self, net, optimizer):
            self.net, self.optimizer, self.step = net, optimizer, 0

        def fit(self, x, y):
            out = self.net(x)
            loss = (out - y).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            return {made}
"""

RUN = """
    import torch
    from torch import nn
    from engine import Engine

    def run(loader):
        net = nn.Linear(3, 3)
        engine, history = Engine(net, torch.optim.SGD(net.parameters(), lr=0.1)), []
        for x, y in loader:
            result = engine.fit(x, y)
            {kept}
        return history
"""

RECORDS = ["@dataclass\n    class Result:", "class Result(NamedTuple):"]


def found(folder: Path, *, declared: str = RECORDS[0], made: str, kept: str = "history.append(result)") -> list[str]:
    """What is found in both files."""
    engine = ENGINE.replace("{declared}", declared).replace("{made}", made)
    return Project(folder, {"engine.py": engine, "run.py": RUN.replace("{kept}", kept)}).found()


@pytest.mark.parametrize("declared", RECORDS)
@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("Result(self.step, loss, 0.0)", "history.append(result)"),
        ("Result(step=self.step, loss=loss, error=0.0)", "history.append(result)"),
        ("Result(self.step, loss, 0.0)", "history += [result]"),
        ("Result(self.step, loss, 0.0)", "history.append((x.shape, result))"),
        ("Result(self.step, loss, 0.0)", "history.append(result.loss)"),
    ],
)
def test_a_record_with_a_loss_that_another_file_makes_keeps_its_graph(
    tmp_path: Path, declared: str, made: str, kept: str
) -> None:
    told = found(tmp_path, declared=declared, made=made, kept=kept)
    assert told in (["run.py: TLK105 warning"], ["run.py: TLK102 warning"])


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("Result(self.step, loss.detach(), 0.0)", "history.append(result)"),
        ("Result(self.step, loss.item(), 0.0)", "history.append(result)"),
        ("Result(self.step, loss, 0.0)", "history.append(result.loss.item())"),
        ("Result(self.step, loss, 0.0)", "history.append(result.error)"),
        ("Result(self.step, loss, 0.0)", "print(result)"),
    ],
)
def test_one_without_a_graph_or_that_is_not_kept_does_not(tmp_path: Path, made: str, kept: str) -> None:
    assert found(tmp_path, made=made, kept=kept) == []


EVALUATOR = """
    from abc import ABC, abstractmethod

    class Evaluator(ABC):
        def run(self, net, loader):
            net.eval()
            for batch in loader:
                self.process(net, batch)
            return self.summary()

        {process}

        def summary(self):
            return None
"""

RECALL = """
    {guard}
    from evaluator import Evaluator

    class Recall(Evaluator):
        def __init__(self):
            self.hits = 0

        {decorator}
        def process(self, net, batch):
            x, y = batch
            self.hits += (net(x).argmax(1) == y).sum().item()

        def summary(self):
            return self.hits
"""

MAIN = """
    import torch
    from torch import nn
    from recall import Recall

    def main(train, dev):
        net, recall = nn.Linear(3, 3), Recall()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(recall.run(net, dev))
"""

OPEN = [
    "@abstractmethod\n        def process(self, net, batch): ...",
    "def process(self, net, batch):\n            raise NotImplementedError",
]


@pytest.mark.parametrize("process", OPEN)
@pytest.mark.parametrize(("decorator", "leaks"), [("", True), ("@torch.no_grad()", False)])
def test_a_method_that_a_base_elsewhere_leaves_open_is_that_of_the_class_in_use(
    tmp_path: Path, process: str, decorator: str, leaks: bool
) -> None:
    files = {
        "evaluator.py": EVALUATOR.replace("{process}", process),
        "recall.py": RECALL.replace("{decorator}", decorator).replace("{guard}", "import torch"),
        "main.py": MAIN,
    }
    assert any("main.py: TLK201" in one for one in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize("process", OPEN)
def test_and_a_guard_around_the_call_is_seen(tmp_path: Path, process: str) -> None:
    guarded = MAIN.replace(
        "print(recall.run(net, dev))", "with torch.no_grad():\n            print(recall.run(net, dev))"
    )
    files = {
        "evaluator.py": EVALUATOR.replace("{process}", process),
        "recall.py": RECALL.replace("{decorator}", "").replace("{guard}", "import torch"),
        "main.py": guarded,
    }
    assert Project(tmp_path, files).found() == []


TRACKER = """
    class Mean:
        def __init__(self):
            self.total, self.weight = 0.0, 0

        def add(self, value):
            self.total = self.total + {added}
            self.weight += 1

    class Tracker(dict):
        def __missing__(self, key):
            {made}

        def push(self, **values):
            for name, value in values.items():
                self[name].add(value)
"""

TRACKED = fit("from tracker import Tracker", "tracker = Tracker()", "tracker.push(loss=loss)")


@pytest.mark.parametrize("made", ["self[key] = Mean(); return self[key]", "mean = self[key] = Mean(); return mean"])
@pytest.mark.parametrize(("added", "found"), [("value", ["train.py: TLK105 warning"]), ("value.detach()", [])])
def test_a_dict_makes_what_it_has_under_a_new_key(tmp_path: Path, made: str, added: str, found: list[str]) -> None:
    files = {"tracker.py": TRACKER.format(made=made, added=added), "train.py": TRACKED}
    assert Project(tmp_path, files).found() == found


HISTORY = """
    import torch
    from torch import nn

    class History(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.zeros(9, 3))

        {guard}
        def push(self, rows, values):
            self.table[rows] = values
"""

PUSHES = """
    import torch
    from torch import nn
    from history import History

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.past = nn.Linear(8, 3), History()

        def forward(self, x, rows):
            out = self.layer(x)
            self.past.push(rows, out)
            return out
"""


@pytest.mark.parametrize(("guard", "found"), [("@torch.no_grad()", []), ("# none", ["net.py: TLK105 error"])])
def test_what_is_written_into_a_tensor_under_a_guard_is_a_copy(tmp_path: Path, guard: str, found: list[str]) -> None:
    files = {"history.py": HISTORY.format(guard=guard), "net.py": PUSHES}
    assert Project(tmp_path, files).found() == found


OBJECTIVE = """
import torch
import torch.nn.functional as F

def objective(model, x, y):
    {made}
    return loss, {{"loss": {kept}, "n": len(y)}}
"""

LOGGED = """
import torch
from torch import nn
from objective import objective

class Trainer:
    def __init__(self, model: nn.Module):
        self.model, self.optimizer = model, torch.optim.SGD(model.parameters(), 0.1)

    def epoch(self, batches):
        logs = []
        for x, y in batches:
            self.optimizer.zero_grad()
            loss, log = objective(self.model, x, y)
            loss.backward()
            self.optimizer.step()
            logs.append(log)
        return sum(float(log["loss"]) for log in logs)
"""

PARTS = {
    "an item": "out = model(x); loss = F.cross_entropy(out[0], y)",
    "an item with a name": 'out = model(x); loss = F.cross_entropy(out["logits"], y)',
    "a slice": "loss = F.cross_entropy(model(x)[:, -1], y)",
    "an attribute": "loss = F.cross_entropy(model(x).logits, y)",
    "one of several": "out, mean, size = model(x); loss = F.cross_entropy(out, y)",
    "a term of it": "out, mean = model(x); size = mean.pow(2).sum(); loss = F.cross_entropy(out, y) + size",
    "another view": "out = model(x); loss = F.cross_entropy(out.flatten(0, 1), y.flatten())",
}
"""Losses of parts of what a network gives of which nothing is known."""


@pytest.mark.parametrize("made", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize(("kept", "leaks"), [("loss", True), ("loss.detach()", False), ("loss.item()", False)])
def test_a_loss_of_a_part_of_what_a_network_gives_has_its_graph(
    tmp_path: Path, made: str, kept: str, leaks: bool
) -> None:
    files = {"objective.py": OBJECTIVE.format(made=made, kept=kept), "run.py": LOGGED}
    assert Project(tmp_path, files).found("run.py") == (["run.py: TLK102 warning"] if leaks else [])


@pytest.mark.parametrize(
    "kept", ["out['seen']", "out['seen'] * 2", "out['loss'].shape[0] * 2", "(out['at'] == y).sum()"]
)
def test_a_part_that_may_be_a_number_has_none(tmp_path: Path, kept: str) -> None:
    made = 'out = model(x); loss = F.cross_entropy(out["logits"], y)'
    files = {"objective.py": OBJECTIVE.format(made=made, kept=kept), "run.py": LOGGED}
    assert Project(tmp_path, files).found("run.py") == []


def test_an_item_of_another_file_is_named_by_its_key(tmp_path: Path) -> None:
    made = "out = model(x); loss = F.cross_entropy(out, y)"
    (tmp_path / "objective.py").write_text(OBJECTIVE.format(made=made, kept="loss"), encoding="utf-8")
    (tmp_path / "run.py").write_text(LOGGED, encoding="utf-8")
    (found,) = check_paths([tmp_path])
    assert '`logs` (made in line 11) keeps the graph of every `["loss"]`' in found.message


COLUMNS = """
    import torch

    class Columns:
        names = ("likelihood", "worth")

        def __init__(self):
            self.rows = {name: [] for name in self.names}

        def put(self, **cells):
            for name, cell in cells.items():
                self.rows[name].append(cell)

        def joined(self, name):
            return torch.stack(self.rows[name])

        def __len__(self):
            return len(self.rows["worth"])

        def empty(self):
            for cells in self.rows.values():
                cells.clear()
"""

AIM = """
    def aim(columns, weight):
        return columns.joined("worth").pow(2).mean() - weight * columns.joined("likelihood").mean()
"""

EPISODES = """
    import torch
    from aim import aim
    from columns import Columns

    def main(world, turns):
        net = torch.nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        columns = Columns()
        for _ in range(turns):
            while len(columns) < 100:
                likelihood, worth = net(world.now()).unbind(-1)
                columns.put(likelihood=likelihood, worth=worth)
            loss = {loss}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {end}
"""


@pytest.mark.parametrize(
    ("loss", "end", "found"),
    [
        ("aim(columns, 0.1)", "columns.empty()", []),
        ("net(world.now()).sum()", "pass", ["run.py: TLK105 error"]),
    ],
)
def test_what_an_objective_of_a_third_file_asks_an_object_for_is_trained_on(
    tmp_path: Path, loss: str, end: str, found: list[str]
) -> None:
    files = {"columns.py": COLUMNS, "aim.py": AIM, "run.py": EPISODES.format(loss=loss, end=end)}
    assert Project(tmp_path, files).found() == found
