"""Programs before and after their repair, run: what `--fix` leaves computes the same, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from repaired_programs import HEAD, repair_and_compare

DISTILLING = """
def main():
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    {before}
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    read = []
    for x in batches():
        {targets}
        optimizer.zero_grad()
        loss.backward()
        {after}
        optimizer.step()
    return student, teacher, read
"""
TARGET = "target = teacher(x); loss = F.mse_loss(student(x), target)"

KEEPING = """
def main():
    net = nn.Linear(4, 3)
    kept, ends, best = [], [], None
    for x in batches():
        out = net(x)
        loss = out.pow(2).mean()
        {before}
        loss.backward()
        {after}
    return {results}
"""

MIXTURE = """
class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.out = nn.Linear(4, 2), nn.Linear(4, 3)
        self.balance = None

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        self.balance = weights.mean(0).pow(2).sum()
        return self.out(x) * weights[:, :1]

def label(net, x):
    net.eval()
    return net(x).argmax(1)

def main():
    net, labels = Mixture(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches():
        {step}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
    return net, labels
"""

REMEMBERING = """
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Linear(4, 5), nn.Linear(5, 3)
        self.known = None

    def forward(self, x):
        if self.known is None:
            self.known = self.table(x)
        return self.head({known})

def label(net, x):
    net.eval()
    return net(x).argmax(1)

def main():
    net, labels = Tower(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches():
        net.known = None
        labels.append(label(net, x))
        loss = net(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net, labels
"""

ASKING = """
class Either(nn.Module):
    def __init__(self):
        super().__init__()
        self.trained, self.other = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.trained(x) if torch.is_grad_enabled() else self.other(x)

def label(net, x):
    net.eval()
    return net(x).argmax(1)

def main():
    net = Either()
    for x in batches():
        net(x).sum().backward()
    return label(net, x), net.trained.weight.grad
"""

SCORER = """
class Scorer:
    def __init__(self, net):
        self.net = net

    def scores(self, x):
        return self.net(x)

    def label(self, loader):
        self.net.eval()
        return [self.scores(x).argmax(1) for x in loader]
"""
STEEP = """
class Steep(Scorer):
    def scores(self, x):
        x = x.clone().requires_grad_(True)
        out = self.net(x)
        slope, = torch.autograd.grad(out.sum(), x)
        return out * slope.norm()
"""
SCORED = """
def main():
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    return Scorer(net).label(batches()), Steep(net).label(batches())
"""

VALIDATION = """
def validate(net, loader):
    net.eval()
    total = 0.0
    for x in loader:
        total = total + net(x).pow(2).mean()
    return total / len(loader)
"""
SEARCH = """
from validation import validate

def main():
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    figures = []
    for _ in range(2):
        {step}
    return net, figures
"""

DESCENT = """
import torch

def descend(net, rate):
    with torch.no_grad():
        for weight in net.parameters():
            if weight.grad is not None:
                weight -= rate * weight.grad
"""

RECURRENT = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(4, 4), nn.Linear(4, 1)
        self.state = torch.zeros(5, 4)

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.out(self.state)

    def begin(self):
        self.state = torch.zeros(5, 4)

def main():
    net = Reader()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net.begin()
        loss = sum(net(x).pow(2).mean() for x in batches())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net
"""

RESUMED = """
net = nn.Linear(4, 1)
content = {"net": net.state_dict(), "epoch": 3}
torch.save(content, "resumed.pt")
del content
checkpoint = torch.load("resumed.pt")
net.load_state_dict(checkpoint["net"])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in batches():
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def keeping(after: str, results: str, before: str = "pass") -> str:
    return HEAD + KEEPING.format(before=before, after=after, results=results)


def distilling(targets: str = TARGET, before: str = "pass", after: str = "pass") -> str:
    return HEAD + DISTILLING.format(before=before, targets=targets, after=after)


PROGRAMS: dict[str, tuple[dict[str, str], list[str]]] = {
    # a teacher that nobody trains
    "teacher": ({"main": distilling()}, ["TLK203 safe"]),
    "teacher beside its student": (
        {"main": distilling("out, target = student(x), teacher(x); loss = F.mse_loss(out, target)")}, ["TLK203 safe"],
    ),
    "teacher beside its student in a helper": (
        {"main": "def run(net, x):\n    return net(x)\n" + distilling(
            "out, target = run(student, x), teacher(x); loss = F.mse_loss(out, target)")}, ["TLK203 safe"],
    ),
    "weights shared with the student": ({"main": distilling(before="teacher.weight = student.weight")}, []),
    "clipped together": (
        {"main": distilling(
            after="nn.utils.clip_grad_norm_([*teacher.parameters(), *student.parameters()], 0.1)")}, ["TLK203 unsafe"],
    ),
    "layers shared with the student": (
        {"main": distilling(before="teacher = nn.Sequential(*list(nn.Sequential(student).children())[:1])")}, [],
    ),
    "a hook that brings a parameter": (
        {"main": distilling(
            before="shift = nn.Parameter(torch.ones(4)); read = teacher.register_forward_pre_hook("
            "lambda module, given: (given[0] + shift,))")}, ["TLK203 unsafe"],
    ),
    "stepped in another file": (
        {"descent": DESCENT, "main": "from descent import descend\n" + distilling(after="descend(teacher, 0.1)")}, [],
    ),
    "looked at by code that is not seen": (
        {"main": "from json import dumps as log\n" + distilling(
            after="read.append(log([weight.tolist() for weight in teacher.parameters()]))")}, ["TLK203 safe"],
    ),
    # what is kept
    "losses": ({"main": keeping("kept.append(loss)", "kept")}, ["TLK102 safe"]),
    "losses that are changed in place": ({"main": keeping("kept.append(loss); loss.detach().zero_()", "kept")},
                                         ["TLK102 safe"]),
    "asked for a graph": ({"main": keeping("kept.append(loss)", "[one.requires_grad for one in kept]")}, []),
    "asked for a gradient": (
        {"main": keeping("kept.append(out)", "[one.grad for one in kept]", before="out.retain_grad()")}, [],
    ),
    "hooked where it is kept": (
        {"main": keeping("pass", "ends", before="kept.append(out); kept[-1].register_hook(ends.append)")}, [],
    ),
    "hooked before it is kept": (
        {"main": keeping("kept.append(out)", "kept, ends", before="out.register_hook(ends.append)")}, ["TLK102 safe"],
    ),
    "told apart": (
        {"main": keeping(
            "kept.append(loss); best = loss if best is None or loss < best else best",
            "[one is best for one in kept]")}, ["TLK102 unsafe"],
    ),
    "compared with None": (
        {"main": keeping("kept.append(loss); best = loss if best is None or loss < best else best",
                         "[one.item() for one in kept]")}, ["TLK102 safe"],
    ),
    "differentiated where it is kept": (
        {"main": keeping("pass", "ends", before="kept.append(out); ends.append(torch.autograd.grad(loss, kept[-1],"
                                                " retain_graph=True)[0])")}, [],
    ),
    "changed by what keeps it": (
        {"main": keeping("pass", "kept, net.weight.grad",
                         before="kept.append(out); kept[-1].mul_(2); loss = out.mean()")}, ["TLK102 unsafe"],
    ),
    "changed when its backward has run": (
        {"main": keeping("kept.append(out); kept[-1].mul_(2)", "kept, net.weight.grad")}, ["TLK102 safe"],
    ),
    # what is kept of several tensors
    "gradients": (
        {"main": keeping("kept.append(grads)", "[one.tolist() for grads in kept for one in grads]",
                         before="grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True);"
                         " loss = sum(one.sum() for one in grads)")}, ["TLK102 none"],
    ),
    "parts": ({"main": keeping("kept.append(out.split(2)); ends.append(out.split(2)[0])", "[*kept, ends]")},
              ["TLK102 none", "TLK102 safe"]),
    "a state of an LSTM": (
        {"main": keeping("kept.append(both[1]); ends.append(both[0])", "[*kept, ends]",
                         before="cell = nn.LSTM(3, 3); both = cell(out); loss = both[0].sum()")},
        ["TLK102 none", "TLK102 safe", "TLK301 none"],
    ),
    # evaluations
    "a memo that the training goes on with": (
        {"main": HEAD + REMEMBERING.format(known="self.known")}, ["TLK201 unsafe"],
    ),
    "a memo without its graph": ({"main": HEAD + REMEMBERING.format(known="self.known.detach()")}, ["TLK201 safe"]),
    "a term that a prediction leaves": (
        {"main": HEAD + MIXTURE.format(step="labels.append(label(net, x)); loss = net.balance", after="pass")}, [],
    ),
    "a term that the training leaves": (
        {"main": HEAD + MIXTURE.format(step="loss = net(x).pow(2).mean() + net.balance",
                                       after="labels.append(label(net, x))")}, ["TLK201 safe"],
    ),
    "a network that asks whether gradients are on": (
        {"main": HEAD + ASKING}, ["TLK201 unsafe"],
    ),
    "a subclass that differentiates": ({"main": HEAD + SCORER + STEEP + SCORED}, ["TLK201 unsafe"]),
    "a subclass of another file": (
        {"scorer": HEAD + SCORER, "steep": HEAD + "from scorer import Scorer\n" + STEEP,
         "main": HEAD + "from scorer import Scorer\nfrom steep import Steep\n" + SCORED}, ["TLK201 unsafe"],
    ),
    "a loss of another file": (
        {"validation": VALIDATION, "main": HEAD + SEARCH.format(
            step="loss = validate(net, batches()); optimizer.zero_grad(); loss.backward(); optimizer.step()")},
        ["TLK110 none"],
    ),
    "a figure for another file": (
        {"validation": VALIDATION, "main": HEAD + SEARCH.format(
            step="figures.append(validate(net, batches()).item()); loss = net(batches()[0]).mean(); loss.backward()")},
        ["TLK101 safe", "TLK201 unsafe"],
    ),
    # states and checkpoints
    "a sequence that begins anew": ({"main": HEAD + RECURRENT}, []),
    "a checkpoint that another file reads": (
        {"resumed": HEAD + RESUMED,
         "main": "import resumed\n\ndef main():\n    return resumed.net, resumed.checkpoint['epoch']\n"}, [],
    ),
    "a checkpoint that nobody reads": (
        {"resumed": HEAD + RESUMED, "main": "import resumed\n\ndef main():\n    return resumed.net\n"}, ["TLK403 safe"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_safe_repair_changes_no_result(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    assert repair_and_compare(files, tmp_path) == expected
