"""Losses that a function computes as a sum of terms, and returns with these."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint import check_source
from torchlint.source import Source

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


SCORED = """
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

def score(out, y, judge, with_rank=True):
    pred = (out * out).sum(-1)
    loss = judge(pred, y)
    if with_rank:
        rank = roc_auc_score(y.cpu().numpy(), pred.detach().cpu().numpy())
        return loss, rank
    return loss

def evaluate(net, x, y, judge):
    _, rank = score(net(x), y, judge)
    return len(x), rank

def main(loader, net, judge):
    optimizer = torch.optim.Adam(net.parameters())
    ranks = []
    for _ in range(3):
        best = -1
        for x, y in loader:
            score(net(x), y, judge, with_rank=False).backward()
            optimizer.step()
            _, rank = evaluate(net, x, y, judge)
            if rank > best:
                best = rank
        ranks.append(best)
    print(max(ranks))

main(load(), nn.Linear(3, 3), nn.BCEWithLogitsLoss())
"""


def test_a_loss_that_is_given_alone_elsewhere_has_no_items() -> None:
    assert [one.code for one in diagnose(Source("ranks.py", SCORED)) if one.code in ("TLK102", "TLK105")] == []


@pytest.mark.parametrize(("made", "told"), [("geomloss.SamplesLoss", []), ("geomnets.Samples", ["TLK301"])])
def test_a_loss_of_a_library_that_a_method_makes_may_be_without_weights(made: str, told: list[str]) -> None:
    text = f"""
import {made.partition(".")[0]}
import pytorch_lightning as pl
from torch import nn

class Aligned(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def training_step(self, batch, index):
        x, y = batch
        samples = {made}(p=2)
        return self.net(x).sum() + samples(x, y)
"""
    assert [one.code for one in diagnose(Source("aligned.py", text))] == told
