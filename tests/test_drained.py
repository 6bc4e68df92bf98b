"""Iterators of which a call takes all at once: what a generator yields in each step meets in one list or one sum."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

STEPS = """
def step(batch):
    x, y = batch
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss

def steps():
    for batch in loader:
        yield step(batch)

def numbers():
    for batch in loader:
        yield step(batch).item()

def parts(x):
    for scale in (1, 2, 4):
        yield F.mse_loss(model(x * scale), x)
"""


def told(body: str) -> list[str]:
    """The names of what keeps graphs in a program that drains one of these."""
    return Program(TRAINING + STEPS + body).leaks()


KEPT = [
    "kept = list(steps())",
    "kept = tuple(steps())",
    "first = sorted(steps())[0]",
    "kept = list(map(step, loader))",
    "kept = list(step(batch) for batch in loader)",
    "kept = []\nkept.extend(steps())",
    "kept = []\nkept.extend(map(step, loader))",
    "from tqdm import tqdm\nkept = list(tqdm(steps()))",
]


@pytest.mark.parametrize("body", KEPT)
def test_a_list_of_all_that_the_steps_yield_keeps_their_graphs(body: str) -> None:
    [name] = told(body)
    assert name == "kept" or name.startswith(("list(", "tuple(", "sorted("))


SUMMED = [
    "mean = sum(steps()) / len(loader)",
    "mean = sum(step(batch) for batch in loader) / len(loader)",
    "mean = sum(map(step, loader)) / len(loader)",
    "mean = functools.reduce(operator.add, map(step, loader))",
]


@pytest.mark.parametrize("body", SUMMED)
def test_a_sum_of_all_that_the_steps_yield_keeps_their_graphs(body: str) -> None:
    [name] = told("import functools, operator\n" + body)
    assert name.startswith("sum")


HARMLESS = [
    "kept = list(numbers())",
    "mean = sum(numbers()) / len(loader)",
    "mean = sum(step(batch).item() for batch in loader)",
    "kept = []\nkept.extend(loss.detach() for loss in steps())",
    "penalty = sum(p.pow(2).sum() for p in model.parameters())",
    "for x, y in loader:\n    sum(parts(x)).backward()\n    optimizer.step()",
    "for x, y in loader:\n    torch.stack(list(parts(x))).mean().backward()\n    optimizer.step()",
    "with torch.no_grad():\n    mean = sum(F.mse_loss(model(x), y) for x, y in loader)",
    "last = next(steps())",
    "worst = max(steps())",
    "best = None\nfor loss in steps():\n    best = loss if best is None else min(best, loss)",
    "best = float('inf')\nfor loss in steps():\n    best = min(best, loss)",
]


@pytest.mark.parametrize("body", HARMLESS)
def test_one_of_the_items_and_what_has_no_graph_or_is_trained_on_is_left_alone(body: str) -> None:
    assert told(body) == []


def test_a_chosen_item_has_the_graph_that_it_had() -> None:
    assert told("kept = []\nfor a, b in zip(steps(), steps()):\n    kept.append(max(a, b))") == ["kept"]


def test_what_is_chosen_of_two_losses_trains_both() -> None:
    body = "for x, y in loader:\n    a, b = F.mse_loss(model(x), y), F.l1_loss(model(x), y)\n    held = [a, b]\n"
    assert told(body + "    max(held).backward()\n    optimizer.step()") == []
