"""Evaluations that stand in one file and are guarded by another, in whatever way: nothing is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

EVALUATIONS = {
    "a number": (
        "evaluate",
        "evaluate(model, loader, device)",
        """
    def evaluate(model, loader, device):
        model.eval()
        right = 0
        for x, y in loader:
            out = model(x.to(device))
            right += (out.argmax(1).cpu() == y).sum().item()
        return right / len(loader.dataset)
    """,
    ),
    "a sum of losses": (
        "evaluate",
        "float(evaluate(model, loader, device))",
        """
    import torch
    import torch.nn.functional as F

    def evaluate(model, loader, device):
        total = 0.0
        for x, y in loader:
            out = model(x.to(device))
            total += F.cross_entropy(out, y.to(device))
        return total / len(loader)
    """,
    ),
    "outputs on the host": (
        "evaluate",
        "evaluate(model, loader, device)",
        """
    import torch
    def evaluate(model, loader, device):
        outs = []
        for x, y in loader:
            outs.append(model(x.to(device)).cpu())
        return torch.cat(outs)
    """,
    ),
    "a generator": (
        "evaluate",
        "evaluate(model, loader, device)",
        """
    def outputs(model, loader, device):
        for x, y in loader:
            yield model(x.to(device)), y

    def evaluate(model, loader, device):
        return sum((out.argmax(1).cpu() == y).sum().item() for out, y in outputs(model, loader, device))
    """,
    ),
    "an object": (
        "Evaluator",
        "Evaluator(model, device).run(loader)",
        """
    class Evaluator:
        def __init__(self, model, device):
            self.model, self.device = model, device

        def run(self, loader):
            self.model.eval()
            right = 0
            for x, y in loader:
                right += (self.model(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            return right
    """,
    ),
    "an object that keeps scores": (
        "Evaluator",
        "Evaluator(model, device).run(loader)",
        """
    import torch
    class Evaluator:
        def __init__(self, model, device):
            self.model, self.device = model, device
            self.scores = []

        def step(self, x, y):
            out = self.model(x.to(self.device))
            self.scores.append((out.argmax(1).cpu() == y).float().mean())

        def run(self, loader):
            self.scores.clear()
            for x, y in loader:
                self.step(x, y)
            return torch.stack(self.scores).mean().item()
    """,
    ),
    "an object that is called": (
        "Metric",
        "Metric(device)(model, loader)",
        """
    class Metric:
        def __init__(self, device):
            self.device = device

        def __call__(self, model, loader):
            right = 0
            for x, y in loader:
                right += (model(x.to(self.device)).argmax(1).cpu() == y).sum().item()
            return right
    """,
    ),
}
"""What is imported, how it is called, and the file in which it stands."""

HEAD = """
import torch
from torch import nn
from scoring import {imported}
"""

GUARDS = {
    "a block": """
def main(loader, device):
    model = nn.Linear(4, 3)
    with torch.no_grad():
        print({call})
""",
    "a decorator": """
@torch.no_grad()
def score(model, loader, device):
    return {call}

def main(loader, device):
    print(score(nn.Linear(4, 3), loader, device))
""",
    "inference mode": """
@torch.inference_mode()
def main(loader, device):
    model = nn.Linear(4, 3)
    print({call})
""",
    "a switch": """
def main(loader, device):
    torch.set_grad_enabled(False)
    model = nn.Linear(4, 3)
    print({call})
""",
    "a method around": """
class Trainer:
    def __init__(self, model, device):
        self.model, self.device = model, device

    def validate(self, loader):
        model, device = self.model, self.device
        with torch.no_grad():
            return self._validate(model, loader, device)

    def _validate(self, model, loader, device):
        return {call}

def main(loader, device):
    print(Trainer(nn.Linear(4, 3), device).validate(loader))
""",
    "a local function": """
def main(loader, device):
    model = nn.Linear(4, 3)

    @torch.no_grad()
    def score():
        return {call}

    for epoch in range(3):
        print(score())
""",
    "a function that runs another": """
def guarded(run):
    with torch.no_grad():
        return run()

def main(loader, device):
    model = nn.Linear(4, 3)
    print(guarded(lambda: {call}))
""",
    "a phase": """
def phases(model, loaders, device):
    for phase in ("train", "val"):
        with torch.set_grad_enabled(phase == "train"):
            if phase == "val":
                loader = loaders[phase]
                print({call})

def main(loaders, device):
    phases(nn.Linear(4, 3), loaders, device)
""",
    "a base class": """
class Task:
    def __init__(self, model, device):
        self.model, self.device = model, device

    @torch.no_grad()
    def test(self, loader):
        return self.score(self.model, loader, self.device)

class Digits(Task):
    def score(self, model, loader, device):
        return {call}

def main(loader, device):
    print(Digits(nn.Linear(4, 3), device).test(loader))
""",
    "a context manager": """
import contextlib

@contextlib.contextmanager
def evaluating(model):
    was = model.training
    model.eval()
    with torch.no_grad():
        yield model
    model.train(was)

def main(loader, device):
    net = nn.Linear(4, 3)
    with evaluating(net) as model:
        print({call})
""",
    "frozen": """
def main(loader, device):
    model = nn.Linear(4, 3).requires_grad_(False)
    print({call})
""",
}

OPEN = """
def main(loader, device):
    model = nn.Linear(4, 3)
    print({call})
"""


def found(folder: Path, evaluation: str, use: str) -> list[str]:
    """What is found where a file calls an evaluation of another one."""
    imported, call, scoring = EVALUATIONS[evaluation]
    files = {"scoring.py": scoring, "main.py": HEAD.format(imported=imported) + use.format(call=call)}
    return Project(folder, files).found()


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_one_that_another_file_guards_records_nothing(tmp_path: Path, evaluation: str, guard: str) -> None:
    assert found(tmp_path, evaluation, GUARDS[guard]) == []


@pytest.mark.parametrize("evaluation", ["a number", "an object", "an object that keeps scores"])
def test_one_that_nobody_guards_is_told(tmp_path: Path, evaluation: str) -> None:
    assert any("TLK201" in one for one in found(tmp_path, evaluation, OPEN))


ANSWERS = """
    from typing import NamedTuple
    import torch

    class Answer(NamedTuple):
        labels: torch.Tensor
        scores: torch.Tensor

    {guard}
    def answer(model, x):
        scores, labels = model(x).softmax(-1).max(-1)
        return Answer(labels, scores)
"""

JUDGE = """
    from answers import answer

    def judge(model, loader, optimizer=None):
        {mode}
        hits = 0
        for x, y in loader:
            found = answer(model, x)
            {each}
            hits += (found.labels == y).sum().item()
        return {given}
"""


@pytest.mark.parametrize(
    ("judged", "guard", "is_found"),
    [
        (("model.eval()", "hits -= (found.scores > 0.9).sum().item()", "hits"), "", True),
        (("model.eval()", "pass", "hits"), "@torch.no_grad()", False),
        # Who calls it may train on what it gives.
        (("model.eval(); last = None", "last = found.scores", "hits, last"), "", False),
        (("model.eval()", "found.scores.mean().backward()", "hits"), "", False),
        # Nobody says that this is an evaluation.
        (("model.train()", "pass", "hits"), "", False),
    ],
)
def test_a_helper_of_another_file_that_an_evaluation_asks_for_numbers(
    tmp_path: Path, judged: tuple[str, str, str], guard: str, is_found: bool
) -> None:
    mode, each, given = judged
    judge = JUDGE.format(mode=mode, each=each, given=given)
    project = Project(tmp_path, {"answers.py": ANSWERS.format(guard=guard), "judge.py": judge})
    assert project.found() == (["judge.py: TLK201 note"] if is_found else [])


def test_a_network_of_another_file_that_is_asked_by_itself_is_told_by_itself(tmp_path: Path) -> None:
    nets = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 2)

            def forward(self, x):
                return self.head(self.body(x).relu())
    """
    judge = """
        import torch
        from nets import Net

        def judge(rows):
            net = Net()
            net.load_state_dict(torch.load("net.pt", map_location="cpu"))
            net.eval()
            return [net(x).argmax(1).tolist() for x in rows]
    """
    assert Project(tmp_path, {"nets.py": nets, "judge.py": judge}).found() == ["judge.py: TLK201 warning"]
