"""Losses that a function computes as a sum of terms, and returns with these."""

from __future__ import annotations

import pytest

from torchlint import check_source

STEP = """
import torch

def score(net, x, y):
    apart = net(x) - y
    parts = {parts}
    return {returned}

def run(net, optimizer, loader):
    rows = []
    for step, (x, y) in enumerate(loader):
        {taken}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows.append({kept})
    return [step for step, _ in rows]
"""

USUAL = {
    "parts": "{'square': apart.square().mean(), 'size': apart.abs().mean()}",
    "returned": "parts['square'] + 0.1 * parts['size'], parts",
    "taken": "loss, parts = score(net, x, y)",
    "kept": "(step, parts)",
}


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({}, "TLK105"),
        ({"kept": "{'step': step, 'parts': parts}"}, "TLK105"),
        ({"kept": "parts"}, "TLK102"),
        ({"kept": "(step, parts['size'])"}, "TLK102"),
        ({"taken": "result = score(net, x, y); loss = result[0]", "kept": "(step, result[1])"}, "TLK105"),
        ({"returned": "parts", "taken": "parts = score(net, x, y); loss = sum(parts.values())"}, "TLK105"),
    ],
)
def test_the_terms_of_a_sum_that_is_trained_on_have_their_graphs(parts: dict[str, str], code: str) -> None:
    assert [one.code for one in check_source(STEP.format(**{**USUAL, **parts}))] == [code]


@pytest.mark.parametrize(
    "parts",
    [
        {"kept": "(step, {name: float(part) for name, part in parts.items()})"},
        {
            "parts": "{'square': apart.square().mean(), 'size': apart.abs().mean().item()}",
            "kept": "(step, parts['size'])",
        },
        {"kept": "(step, loss.item())"},
        {"kept": "(step, len(parts))"},
    ],
)
def test_their_numbers_have_none(parts: dict[str, str]) -> None:
    assert check_source(STEP.format(**{**USUAL, **parts})) == []
