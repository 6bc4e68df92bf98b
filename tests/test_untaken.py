"""Lists that forward hooks fill for hooks of the backward, which take nothing where gradients are off."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

PAIR = """
from functools import partial

class Pair:
    def __init__(self, net):
        self.enabled, self.waiting = True, {empty}
        for layer in net.modules():
            if isinstance(layer, nn.Linear):
                layer.register_forward_hook(self.put)
                layer.{register}(partial(self.take, scale=2.0))

    def put(self, layer, args, out):
        {put}

    def take(self, layer, grads, outs, scale):
        x = {take}
        layer.weight.gain = (x * outs[0]).sum() * scale
{more}
"""

USUAL = {
    "empty": "[]",
    "register": "register_full_backward_hook",
    "put": "self.waiting.append(args[0].detach())",
    "take": "self.waiting.pop()",
    "more": "",
}

RUN = """
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
pair = Pair(net)
for x, y in loader:
    {train}
    {evaluate}
"""

TRAIN = "F.cross_entropy(net(x), y).backward()"


def left(**changed: str) -> list[str]:
    """Which lists are told, how sure that is, and whether a guard is named."""
    found = Program(PAIR.format(**{**USUAL, **changed})).facts.untaken
    return [f"{one.pile.name}{' seen' if one.forward else ''}{' guard' if one.guard else ''}" for one in found]


OF_LAYER = {"put": "layer.waiting.append(args[0])", "take": "layer.waiting.pop(0)"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ["self.waiting"]),
        ({"put": "if layer.training:\n            self.waiting.append(args[0])"}, ["self.waiting guard"]),
        ({"put": "if not layer.training:\n            return\n        self.waiting.append(out)"},
         ["self.waiting guard"]),
        ({"put": "if layer.weight.requires_grad:\n            self.waiting.append(out)"}, ["self.waiting"]),
        ({"empty": "{}", "put": "self.waiting[layer].append(out)", "take": "self.waiting[layer].pop()"},
         ["self.waiting"]),
        ({"more": "    def close(self):\n        self.waiting.clear()\n        self.handle.remove()"},
         ["self.waiting"]),
        ({"take": "self.last()", "more": "    def last(self):\n        return self.waiting.pop()"}, ["self.waiting"]),
        (OF_LAYER, ["layer.waiting"]),
        ({**OF_LAYER, "put": "if not hasattr(layer, 'waiting'):\n            layer.waiting = []\n        "
          "layer.waiting.append(args[0])"}, ["layer.waiting"]),
        ({"more": RUN.format(train=TRAIN, evaluate="with torch.no_grad(): net(x)")}, ["self.waiting seen"]),
    ],
)  # fmt: skip
def test_what_only_the_backward_takes_stays_without_one(changed: dict[str, str], expected: list[str]) -> None:
    assert left(**changed) == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"put": "if torch.is_grad_enabled():\n            self.waiting.append(args[0])"},
        {"put": "if out.requires_grad:\n            self.waiting.append(args[0])"},
        {"put": "if out.grad_fn is None:\n            return\n        self.waiting.append(args[0])"},
        {"put": "self.waiting = [args[0]]"},
        {"put": "self.waiting.append(out.shape)"},
        {"put": "self.waiting.clear()\n        self.waiting.append(out)"},
        {"take": "self.waiting[-1]"},
        {"put": "self.waiting.append(args[0])\n        out.register_hook(self.look)", "take": "layer.weight",
         "more": "    def look(self, grad):\n        self.waiting.pop()"},
        {"empty": "{}", "put": "self.waiting[layer].append(out)", "take": "self.waiting[layer].pop()",
         "more": "    def step(self):\n        for rows in self.waiting.values():\n            rows.clear()"},
        {"empty": "{}", "put": "self.waiting[layer].append(out)", "take": "self.waiting[layer].pop()",
         "more": "    def step(self):\n        for one in self.waiting:\n            self.waiting[one] = []"},
        {"register": "register_forward_hook"},
        {"more": "    def step(self):\n        self.waiting.clear()"},
        {"more": "    def step(self):\n        self.waiting = []"},
        {**OF_LAYER, "more": "def renew(net):\n    for layer in net.modules():\n        layer.waiting = []"},
        {**OF_LAYER, "more": "def renew(net):\n    for layer in net.modules():\n        del layer.waiting"},
        {**OF_LAYER, "more": "def renew(net):\n    for layer in net.modules():\n        delattr(layer, 'waiting')"},
        {"more": RUN.format(train=TRAIN, evaluate="pass")},
        {"more": RUN.format(train=TRAIN, evaluate="net(x)")},
        {"more": RUN.format(train=TRAIN, evaluate="net.eval()\n    with torch.no_grad(): net(x)\n    net.train()"),
         "put": "if layer.training:\n            self.waiting.append(out)"},
    ],
)  # fmt: skip
def test_what_somebody_else_takes_or_asks_first_is_quiet(changed: dict[str, str]) -> None:
    assert left(**changed) == []


def test_an_object_of_one_step_goes_with_what_it_has() -> None:
    run = RUN.replace("pair = Pair(net)\n", "").replace("    {train}", "    pair = Pair(net)\n    {train}")
    assert left(more=run.format(train=TRAIN, evaluate="with torch.no_grad(): net(x)")) == []


@pytest.mark.parametrize(("each", "expected"), [("pass", ["pair.py: TLK106 note"]), ("pair.waiting.clear()", [])])
def test_another_file_may_take_it(tmp_path: Path, each: str, expected: list[str]) -> None:
    training = f"""
        from pair import Pair

        def train(net, loader, step):
            pair = Pair(net)
            for x, y in loader:
                step(net, x, y)
                {each}
    """
    text = "import torch\nfrom torch import nn\n" + PAIR.format(**USUAL)
    found = Project(tmp_path, {"pair.py": text, "train.py": training}).found()
    assert [one for one in found if "TLK106" in one] == expected
