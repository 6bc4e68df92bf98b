"""Programs before and after their repair, run: the terms that a training takes from objects keep their graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from repaired_programs import HEAD, repair_and_compare

NETWORK = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.begin()

    def begin(self):
        self.kept = {kept}

    def forward(self, x):
        y = self.body(x){state}
        {keep}
        return y
"""

PREDICTION = """
def predict(net, x):
    net.eval()
    return net(x).argmax(-1)
"""

TRAINING = """
def main():
    net, labels = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches():
        {step}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
    return net, labels
"""

LABEL = "labels.append(predict(net, x + 1))"
TERM = {"kept": "None", "keep": "self.kept = y.pow(2).mean()"}
STATE = {"kept": "torch.zeros(5, 4)", "state": " + self.kept", "keep": "self.kept = y"}
TERMS = {"kept": "[]", "keep": "self.kept.append(y.pow(2).mean())"}

SUMMED = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        y = self.body(x).tanh()
        self.energy = y.pow(2).mean()
        return y

def run(layer, x):
    for _ in range(2):
        x = layer(x)

def main():
    layer = Layer()
    for x in batches():
        layer.energy = 0.0
        run(layer, x)
        loss = layer.energy
        loss.backward()
    return layer.body.weight.grad
"""


METER = """
class Meter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += value

    @property
    def total(self):
        return self.sum

METER = Meter()

def main():
    net = nn.Linear(4, 3)
    for x in batches():
        METER.update(net(x).mean())
        {step}
    return net.weight.grad, float(METER.total)
"""

BANK = "BANK = []\n\ndef put(value):\n    BANK.append(value)\n\ndef last():\n    return BANK[-1]\n"
DEFAULT = """
def put(value=None, kept=[]):
    if value is not None:
        kept.append(value)
    return kept[-1]
"""
PUTTING = """
def main():
    net = nn.Linear(4, 3)
    for x in batches():
        loss = net(x).pow(2).mean()
        {step}
    return net.weight.grad, float({last})
"""

HEADED = HEAD + "from networks import {}\n"
OBJECTIVE = "def objective(net, y):\n    return y.mean() + net.kept\n"
SUM = """
def terms(net):
    return sum(layer.kept for layer in net.modules() if hasattr(layer, "kept"))

def objective(net, x):
    return net(x).mean() + terms(net)
"""


def network(kept: str, keep: str, state: str = "") -> str:
    return NETWORK.format(kept=kept, keep=keep, state=state)


def training(step: str, after: str = "pass") -> str:
    return TRAINING.format(step=step, after=after)


PROGRAMS: dict[str, tuple[dict[str, str], list[str]]] = {
    "a term that a prediction takes the place of": (
        {"main": HEAD + network(**TERM) + PREDICTION + training(f"y = net(x); {LABEL}; loss = y.mean() + net.kept")},
        ["TLK201 unsafe"],
    ),
    "a term that the training left": (
        {"main": HEAD + network(**TERM) + PREDICTION + training("y = net(x); loss = y.mean() + net.kept", LABEL)},
        ["TLK201 safe"],
    ),
    "a state that a prediction goes on from": (
        {"main": HEAD + network(**STATE) + PREDICTION + training(f"net.begin(); {LABEL}; loss = net(x).mean()")},
        ["TLK201 unsafe"],
    ),
    "a state that begins anew": (
        {"main": HEAD + network(**STATE) + PREDICTION + training("net.begin(); loss = net(x).mean()", LABEL)},
        ["TLK201 safe"],
    ),
    "terms among which one is of a prediction": (
        {"main": HEAD + network(**TERMS) + PREDICTION
         + training(f"net.kept.clear(); {LABEL}; loss = net(x).mean() + sum(net.kept)")},
        ["TLK201 unsafe"],
    ),
    "terms that are forgotten": (
        {"main": HEAD + network(**TERMS) + PREDICTION
         + training("net.kept.clear(); loss = net(x).mean() + sum(net.kept)", LABEL)},
        ["TLK201 safe"],
    ),
    "a term that is set to nothing before a helper leaves it": ({"main": HEAD + SUMMED}, []),
    "a sum that a property gives": (
        {"main": HEAD + METER.format(step="METER.total.backward(retain_graph=True)")}, [],
    ),
    "a sum that a property shows": ({"main": HEAD + METER.format(step="print(METER.total.item())")}, ["TLK101 safe"]),
    # in other files
    "a network of another file": (
        {"networks": HEAD + network(**TERM), "main": HEADED.format("Net") + PREDICTION
         + training(f"y = net(x); {LABEL}; loss = y.mean() + net.kept")},
        ["TLK201 unsafe"],
    ),
    "a network of another file that the training runs last": (
        {"networks": HEAD + network(**TERM), "main": HEADED.format("Net") + PREDICTION
         + training("y = net(x); loss = y.mean() + net.kept", LABEL)},
        ["TLK201 safe"],
    ),
    "a state of another file": (
        {"networks": HEAD + network(**STATE), "main": HEADED.format("Net") + PREDICTION
         + training(f"net.begin(); {LABEL}; loss = net(x).mean()")},
        ["TLK201 unsafe"],
    ),
    "a state of another file that begins anew": (
        {"networks": HEAD + network(**STATE), "main": HEADED.format("Net") + PREDICTION
         + training("net.begin(); loss = net(x).mean()", LABEL)},
        ["TLK201 safe"],
    ),
    "terms that a network of another file collects": (
        {"networks": HEAD + network(**TERMS), "main": HEADED.format("Net") + PREDICTION
         + training(f"net.kept.clear(); {LABEL}; loss = net(x).mean() + sum(net.kept)")},
        ["TLK201 unsafe"],
    ),
    "a prediction of another file": (
        {"networks": HEAD + PREDICTION, "main": HEADED.format("predict") + network(**TERM)
         + training(f"y = net(x); {LABEL}; loss = y.mean() + net.kept")},
        ["TLK201 unsafe"],
    ),
    "an objective of another file, of a network that is predicted with": (
        {"networks": OBJECTIVE, "main": HEADED.format("objective") + network(**TERM) + PREDICTION
         + training(f"y = net(x); {LABEL}; loss = objective(net, y)")},
        ["TLK201 unsafe"],
    ),
    "an objective of another file that runs the network": (
        {"networks": SUM, "main": HEADED.format("objective") + network(**TERM) + training("loss = objective(net, x)")},
        [],
    ),
    "a bank of another file that gives back": (
        {"bank": BANK, "main": HEAD + "from bank import last, put\n"
         + PUTTING.format(step="put(loss); last().backward(retain_graph=True)", last="last()")},
        ["TLK107 unsafe"],
    ),
    "a bank of another file that is read": (
        {"bank": BANK, "main": HEAD + "from bank import BANK, put\n"
         + PUTTING.format(step="put(loss); BANK[-1].backward(retain_graph=True)", last="BANK[0]")},
        [],
    ),
    "a default of another file": (
        {"bank": DEFAULT, "main": HEAD + "from bank import put\n"
         + PUTTING.format(step="put(loss); put().backward(retain_graph=True)", last="put()")},
        ["TLK107 unsafe"],
    ),
    "a bank of another file that is looked at": (
        {"bank": BANK, "main": HEAD + "from bank import last, put\n"
         + PUTTING.format(step="loss.backward(); put(loss); print(last().item())", last="last()")},
        ["TLK102 safe"],
    ),
    "an objective of another file that reads nothing": (
        {"networks": OBJECTIVE.replace("net.kept", "net.body.bias.sum()"),
         "main": HEADED.format("objective") + network(**TERM) + training("loss = objective(net, net(x))")},
        ["TLK111 safe"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_safe_repair_changes_no_result(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    assert repair_and_compare(files, tmp_path) == expected
