"""Guards that hang on a condition, and what is computed where that is asked for again."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

EPOCH = """
import contextlib
import torch
import torch.nn.functional as F
from torch import nn

def run(network: nn.Module, loader, optimizer=None, train=True, phase="train"):
    {before}
    kept = []
    with {guard}:
        for x, y in loader:
            loss = F.cross_entropy(network(x), y)
            if {test}:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            {each}
    return [float(one) for one in kept]

def main(loader):
    network = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    run(network, loader, optimizer)
    run(network, loader, None, False, "test")
"""

SWITCHES = [
    ("pass", "torch.set_grad_enabled(train)", "train"),
    ("pass", "torch.inference_mode(not train)", "train"),
    ("pass", "contextlib.nullcontext() if train else torch.no_grad()", "train"),
    ("pass", "torch.no_grad() if not train else contextlib.nullcontext()", "train"),
    ("rests = optimizer is None", "torch.no_grad() if rests else torch.enable_grad()", "not rests"),
    ("pass", 'torch.set_grad_enabled(phase == "train")', 'phase == "train"'),
    ("guard = contextlib.nullcontext() if train else torch.no_grad()", "guard", "train"),
    (
        "if train:\n        guard = contextlib.nullcontext()\n    else:\n        guard = torch.no_grad()",
        "guard",
        "train",
    ),
    ("torch.set_grad_enabled(train)", "contextlib.nullcontext()", "train"),
]


def kept(before: str, guard: str, test: str, each: str) -> set[str]:
    """The codes of what is found of a list, where something is kept in it."""
    found = diagnose(Source("run.py", EPOCH.format(before=before, guard=guard, test=test, each=each)))
    return {one.code for one in found} & {"TLK101", "TLK102"}


@pytest.mark.parametrize(("before", "guard", "test"), SWITCHES)
@pytest.mark.parametrize("value", ["loss", "loss * 2", "loss.mean()"])
def test_where_nothing_is_trained_nothing_has_a_graph(before: str, guard: str, test: str, value: str) -> None:
    assert kept(before, guard, test, f"if not ({test}):\n                kept.append({value})") == set()


@pytest.mark.parametrize(("before", "guard", "test"), SWITCHES)
def test_behind_what_goes_on_for_a_training_nothing_has_a_graph(before: str, guard: str, test: str) -> None:
    assert kept(before, guard, test, f"if {test}:\n                continue\n            kept.append(loss)") == set()


@pytest.mark.parametrize(("before", "guard", "test"), SWITCHES)
@pytest.mark.parametrize("each", ["kept.append(loss)", "if {}:\n                kept.append(loss)"])
def test_where_it_is_trained_there_is_a_graph(before: str, guard: str, test: str, each: str) -> None:
    assert kept(before, guard, test, each.format(test)) == {"TLK102"}


def test_another_condition_says_nothing_of_the_guard() -> None:
    each = "if len(kept) < 9:\n                kept.append(loss)"
    assert kept("pass", "torch.set_grad_enabled(train)", "train", each) == {"TLK102"}
    each = 'if phase == "test":\n                kept.append(loss)'
    assert kept("pass", 'torch.set_grad_enabled(phase == "train")', 'phase == "train"', each) == {"TLK102"}
