"""Hooks that a helper of a method registers, on the network that the method runs."""

from __future__ import annotations

import pytest

from torchlint import check_source
from torchlint.config import Settings

ATTRIBUTION = """
import torch
from torch import nn

def rectify(module, inputs, outputs):
    return (inputs[0].clamp(min=0),)

class Guided:
    def __init__(self, model: nn.Module):
        self.model, self.hooks = model, []

    def attribute(self, inputs, target):
        inputs = inputs.detach().clone().requires_grad_(True)
        {hooking}
        found = self._gradients(inputs, target)
        {ended}
        return found

    def _gradients(self, inputs, target):
        output = self.model(inputs)
        return torch.autograd.grad(output[:, target].sum(), inputs)[0]

    def _register(self, module):
        if isinstance(module, nn.ReLU):
            self.hooks.append(module.register_full_backward_hook(rectify))

    def _remove(self):
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
"""


def told(text: str) -> list[str]:
    """What is found, notes as well, by its code."""
    return [finding.code for finding in check_source(text, settings=Settings(notes=True))]


HOOKING = [
    "self.model.apply(self._register)",
    "for module in self.model.modules():\n            self._register(module)",
    "[self._register(module) for module in self.model.modules()]",
]


@pytest.mark.parametrize("hooking", HOOKING)
def test_a_method_that_has_a_helper_hook_what_it_runs_leaves_hooks(hooking: str) -> None:
    text = ATTRIBUTION.format(hooking=hooking, ended="pass")
    text = text[: text.index("    def _remove")]
    assert told(text) == ["TLK303"]


@pytest.mark.parametrize("hooking", HOOKING)
def test_unless_it_takes_them_off_again(hooking: str) -> None:
    assert told(ATTRIBUTION.format(hooking=hooking, ended="self._remove()")) == []


def test_or_hooks_what_has_none_yet() -> None:
    hooking = "if not self.hooks:\n            self.model.apply(self._register)"
    assert told(ATTRIBUTION.format(hooking=hooking, ended="pass")) == []


@pytest.mark.parametrize(
    ("pooled", "expected"),
    [
        ("pool(output)", ["TLK106"]),
        ("first(output)", ["TLK106"]),
        ("pool(output).detach()", []),
        ("pool(output).cpu()", ["TLK106"]),
    ],
)
def test_a_hook_that_partial_gives_a_function_to_call(pooled: str, expected: list[str]) -> None:
    text = f"""
from functools import partial
import torch
from torch import nn

def mean(x):
    return x.flatten(2).mean(-1) if x.dim() > 2 else x

def first(output):
    return output if isinstance(output, torch.Tensor) else first(output[0])

POOLS = {{"mean": mean, "none": lambda x: x.flatten(1)}}

def record(module, inputs, output, sink, pool):
    sink.append({pooled})

def collect(model: nn.Module, loader, pool="mean"):
    rows, slopes = [], []
    handle = model.layer.register_forward_hook(partial(record, sink=rows, pool=POOLS[pool]))
    for x, y in loader:
        x = x.clone().requires_grad_(True)
        slopes.append(torch.autograd.grad(model(x).gather(1, y).sum(), x)[0].norm().item())
    handle.remove()
    return [row.detach().cpu().numpy() for row in rows], slopes
"""
    assert told(text) == expected


FORGOTTEN = ATTRIBUTION.format(hooking=HOOKING[0], ended="pass")


def test_a_remover_of_the_object_s_own_that_nobody_calls_takes_nothing_off() -> None:
    assert told(FORGOTTEN) == ["TLK303"]


def test_so_it_is_where_a_class_below_asks_the_base_for_its_answer() -> None:
    below = "class Mean(Guided):\n    def attribute(self, inputs, target):\n        return super().attribute(inputs, 0)"
    assert told(f"{FORGOTTEN}\n{below}\n") == ["TLK303"]


@pytest.mark.parametrize(
    "spoken_of",
    [
        "def main(guided: Guided):\n    guided._remove()",
        "def main(guided: Guided):\n    getattr(guided, '_remove')()",
        "import atexit\ndef main(guided: Guided):\n    atexit.register(guided._remove)",
    ],
)
def test_not_where_the_remover_is_spoken_of(spoken_of: str) -> None:
    assert told(f"{FORGOTTEN}\n{spoken_of}\n") == []


@pytest.mark.parametrize("name", ["remove", "__exit__"])
def test_not_where_anybody_may_call_it(name: str) -> None:
    assert told(FORGOTTEN.replace("_remove(", f"{name}(")) == []


def test_not_where_a_base_that_is_not_seen_may_call_it() -> None:
    text = FORGOTTEN.replace("class Guided:", "class Guided(Explainer):")
    assert told(f"from explainers import Explainer\n{text}") == []
