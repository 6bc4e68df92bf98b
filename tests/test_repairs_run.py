"""Programs before and after their repair, run: what `--fix` writes can be executed where it stands, and is final."""

from __future__ import annotations

from pathlib import Path

import pytest
from repaired_programs import HEAD, checked, repair_and_compare

from torchlint.run import Repairs

READING = """
def main():
    cell, read = {cell}, []
    {begin}
    for x in batches():
        {step}
        read.append({read}.argmax().item())
    return read
"""

RESUMING = """
def main():
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.save({{"net": net.state_dict()}}, "resumed.pt")
    checkpoint = torch.load("resumed.pt", map_location="cpu")
    net.load_state_dict(checkpoint["net"])
    for x in batches():
        loss = net(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
    return net
"""

TRAINING = """
def main():
    net, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    total, kept, read = 0.0, {{}}, []
    for step, x in enumerate(batches()):
        {step}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
    return net, {results}
"""

AVERAGING = """
def main():
    net, mean = nn.Linear(4, 3), 0.0

    def one(step, x):
        nonlocal mean
        loss = net(x).pow(2).mean()
        loss.backward()
        mean += (loss - mean) / (step + 1)

    for step, x in enumerate(batches()):
        one(step, x)
    return float(mean)
"""

HIDING = """
from torch import no_grad

class Judge:
    {own}

    def label(self, net, x):
        net.eval()
        return net(x).argmax(1)

def main():
    judge, net = Judge(), nn.Linear(4, 3)
    return [judge.label(net, x) for x in batches()]
"""

INNER = """
from torch import no_grad

def judge(net, rows, no_grad):
    def label(x):
        net.eval()
        return net(x).argmax(1)
    return [label(x) for x in rows]

def main():
    return judge(nn.Linear(4, 3), batches(), "off")
"""

IMPORTED_BELOW = """
def label(net, x):
    net.eval()
    return net(x).argmax(1)

import torch
from torch import nn

def main():
    return label(nn.Linear(4, 3), torch.randn(5, 4))
"""

LATER = """
def labels(net, rows):
    net.eval()
    return (net(x).argmax(1) for x in rows)

def main():
    return list(labels(nn.Linear(4, 3), batches()))
"""

GLOBAL = """
def forward(net, x):
    global last
    last = net(x).pow(2).mean()

def backward():
    {run}

def main():
    net = nn.Linear(4, 3)
    for x in batches():
        forward(net, x)
        backward()
    return net.weight.grad
"""


def training(step: str, after: str = "pass", results: str = "read") -> str:
    return HEAD + TRAINING.format(step=step, after=after, results=results)


def reading(cell: str, begin: str, step: str, read: str) -> str:
    return HEAD + READING.format(cell=cell, begin=begin, step=step, read=read)


PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "the two states of an LSTM by name": (
        reading("nn.LSTM(4, 3)", "h, c = torch.zeros(1, 3), torch.zeros(1, 3)",
                "y, (h, c) = cell(x, (h, c))", "y"),
        ["TLK104 safe", "TLK201 safe"],
    ),
    "a state under a key": (
        reading("nn.GRUCell(4, 3)", "state = {'h': torch.zeros(5, 3)}",
                "state['h'] = cell(x, state['h'])", "state['h']"),
        ["TLK104 safe"],
    ),
    "a state in a list": (
        reading("nn.GRUCell(4, 3)", "state = [torch.zeros(5, 3)]", "state[0] = cell(x, state[0])", "state[0]"),
        ["TLK104 safe"],
    ),
    "a checkpoint": (RESUMING.format(after="pass"), ["TLK403 safe"]),
    "a checkpoint that is deleted at the end": (RESUMING.format(after="del checkpoint"), ["TLK403 none"]),
    "a mean that a closure moves towards each loss": (AVERAGING, ["TLK101 safe"]),
    # what is asked of a graph
    "a sum that is asked for its graph": (
        training("loss = net(x).mean()", "total += loss", "total.requires_grad"), ["TLK101 unsafe"],
    ),
    "a loss that is asked for its graph before": (
        training("loss = net(x).mean(); assert loss.requires_grad", "total += loss", "total.item()"), ["TLK101 safe"],
    ),
    "a teacher whose answer is asked for its graph": (
        training("target = teacher(x); read.append(target.requires_grad); loss = F.mse_loss(net(x), target)"),
        ["TLK203 unsafe"],
    ),
    "a teacher whose gradients are looked at": (
        training("target = teacher(x); loss = F.mse_loss(net(x), target)",
                 "read.append([weight.grad.norm().item() for weight in teacher.parameters()])"), [],
    ),
    "a teacher one of whose gradients is looked at": (
        training("target = teacher(x)\n        loss = F.mse_loss(net(x), target)",
                 "read.append(teacher.weight.grad.norm().item())"), ["TLK203 unsafe"],
    ),
    # what is put somewhere first, and trained on there
    "an output that is read where it was kept": (
        training("kept[step] = net(x); loss = kept[step].pow(2).mean()", results="len(kept)"), ["TLK102 none"],
    ),
    "a loss that is kept under two names": (
        training("loss = kept[step] = net(x).pow(2).mean()", results="len(kept)"), ["TLK102 none"],
    ),
    "a loss that is read where it was kept, after its backward": (
        training("loss = net(x).pow(2).mean()", "kept[step] = loss; read.append(kept[step].item())"), ["TLK102 safe"],
    ),
    # what is no tensor on another path
    "a loss or a number": (
        training("loss = net(x).pow(2).mean()", "read.append(loss if step else 0.0)"), ["TLK102 safe"],
    ),
    "a loss or nothing": (
        training("loss = net(x).pow(2).mean()", "total += loss if step else (loss or 0)", "float(total)"),
        ["TLK101 safe"],
    ),
    "a sum of the chosen": (
        training("loss = net(x).pow(2).mean()", "read.append(sum(one for one in [loss, loss * 2] if one > 1e9))"),
        ["TLK102 unsafe"],
    ),
    "a global that another function trains on": (GLOBAL.format(run="last.backward()"), []),
    "a global that a closure trains on": (GLOBAL.format(run="(lambda: last.backward())()"), []),
    # a backward over what comes from nowhere
    "a loss that is read by its name's text": (
        "BANK = {}\n" + training("BANK['last'] = net(x).pow(2).mean(); loss = eval('BANK')['last']"), ["TLK111 unsafe"],
    ),
    "a list of losses that is read by its name's text": (
        "BANK = []\n" + training("BANK.append(net(x).pow(2).mean()); loss = eval('BANK[-1]')"), ["TLK102 unsafe"],
    ),
    # what is written twice
    "a loss twice in a pair": (
        training("loss = net(x).pow(2).mean()", "read.append((loss, loss))"), ["TLK102 safe"],
    ),
    "a loss twice in a call": (
        "def put(kept, *values):\n    kept.extend(values)\n"
        + training("loss = net(x).pow(2).mean()", "put(read, loss, loss)"), ["TLK105 safe"],
    ),
    "a loss twice under names": (
        "def put(kept, **values):\n    kept.append(values)\n"
        + training("loss = net(x).pow(2).mean()", "put(read, first=loss, last=loss)"), ["TLK105 safe"],
    ),
    "a loss that is kept and one that is trained on": (
        "def put(kept, loss, *, kind):\n    kept.append((kind, 1))\n    return loss\n"
        + training("loss = net(x).pow(2).mean(); loss = put(read, loss, kind=loss)"), ["TLK102 safe"],
    ),
    # what hid behind a finding
    "a row, which is a view when it is detached": (
        training("out = net(x); loss = out.pow(2).mean()", "read.append(out[0])"), ["TLK102 safe"],
    ),
    "a function that returns what runs later": (
        LATER, ["TLK201 none"],
    ),
    # names that mean something else where the repair would write them
    "a class without a name of its own": (HIDING.format(own="kind = None"), ["TLK201 safe"]),
    "a class with a method of the guard's name": (HIDING.format(own="def no_grad(self): ..."), ["TLK201 none"]),
    "a parameter of the guard's name": (INNER, ["TLK201 none"]),
    "torch imported below": (IMPORTED_BELOW, ["TLK201 none"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_repaired_program_runs_and_is_not_repaired_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    files = {"main": text if "import torch" in text else HEAD + text}
    assert repair_and_compare(files, tmp_path) == expected
    assert [found for found in checked(tmp_path / "after", Repairs.SAFE) if found.endswith(" safe")] == []
