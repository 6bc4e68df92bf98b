"""What libraries around torch give and keep: their functions, modules, optimizers and readers by their names."""

from __future__ import annotations

import pytest

from torchlint.api import check_source
from torchlint.config import Settings


def codes(source: str) -> list[str]:
    """The codes of all findings of a program."""
    return [found.code for found in check_source(source, settings=Settings(notes=True))]


ATTENTION = """
import torch
{imports}
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(3, 3)
        self.weights = None
    def forward(self, x, index):
        h = self.lift(x)
        weights = {made}
        self.weights = weights
        return h * weights

def train(loader, index):
    net = Attention()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        loss = (net(x, index) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.weights.mean().item()
"""


@pytest.mark.parametrize(
    ("imports", "made", "expected"),
    [
        ("from einops import rearrange", "rearrange(h, 'b (n d) -> b n d', n=1)", ["TLK111"]),
        ("from einops import reduce", "reduce(h, 'b n -> n', 'mean')", ["TLK111"]),
        ("from torch_geometric.utils import softmax", "softmax(h, index)", ["TLK111"]),
        ("from torch_scatter import scatter_mean", "scatter_mean(h, index, dim=0)", ["TLK111"]),
        ("from einops import rearrange", "rearrange(h.detach(), 'b (n d) -> b n d', n=1)", []),
        ("from einops import parse_shape", "parse_shape(h, 'b n')", []),
        ("from somewhere import softmax", "softmax(h, index)", []),
    ],
)
def test_functions_that_compute_differentiably(imports: str, made: str, expected: list[str]) -> None:
    assert codes(ATTENTION.format(imports=imports, made=made)) == expected


@pytest.mark.parametrize(
    ("imports", "made", "expected"),
    [
        ("import bitsandbytes as bnb", "bnb.optim.AdamW8bit(net.parameters(), lr=0.1)", ["TLK301"]),
        ("from apex.optimizers import FusedAdam", "FusedAdam(net.parameters(), lr=0.1)", ["TLK301"]),
        ("from transformers import Adafactor", "Adafactor(net.parameters())", ["TLK301"]),
        ("from somewhere import FusedAdam", "FusedAdam(net.parameters(), lr=0.1)", []),
    ],
)
def test_optimizers(imports: str, made: str, expected: list[str]) -> None:
    source = f"""
import torch
{imports}

def train(net: torch.nn.Module, loader):
    for x, y in loader:
        optimizer = {made}
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert codes(source) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("self.model, _, self.prepare = open_clip.create_model_and_transforms('ViT-B-32')", ["TLK201"]),
        ("self.model, self.prepare = clip.load('ViT-B/32')", ["TLK201"]),
        ("self.model, self.prepare = somewhere.load('ViT-B/32')", ["TLK201"]),
    ],
)
def test_models_that_come_with_what_prepares_their_inputs(made: str, expected: list[str]) -> None:
    source = f"""
import clip, open_clip, somewhere, torch

class Embedder:
    def __init__(self, device):
        {made}
        self.model.to(device).eval()
    def embed(self, pixels):
        return self.model.encode_image(pixels).detach().cpu().numpy()
"""
    assert codes(source) == expected


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("CatMetric()", ["TLK105"]),
        ("SpearmanCorrCoef()", ["TLK105"]),
        ("MeanMetric()", []),
        ("RetrievalMAP()", ["TLK105"]),
    ],
)
@pytest.mark.parametrize("call", ["seen.update(out - y, index)", "seen(out - y, index)"])
def test_metrics_that_list_what_they_are_given(metric: str, expected: list[str], call: str) -> None:
    source = f"""
import torch
from torchmetrics import CatMetric, MeanMetric, RetrievalMAP, SpearmanCorrCoef

def train(net: torch.nn.Module, optimizer, loader, index):
    seen = {metric}
    for x, y in loader:
        out = net(x)
        loss = (out - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {call}
    return seen.compute()
"""
    assert codes(source) == expected


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ("logs['ctc'] = ctc", ["TLK105"]),
        ("logs['ctc'] = ctc.data", []),
        ("logs['size'] = sample['ntokens']", []),
    ],
)
def test_a_term_that_is_logged_after_the_loss_was_added_up(logged: str, expected: list[str]) -> None:
    source = f"""
import torch.nn.functional as F
from fairseq.criterions import FairseqCriterion

class Joint(FairseqCriterion):
    def forward(self, model, sample, reduce=True):
        ctc = self.branch(model, sample)
        loss = 0.5 * ctc + self.main(model, sample) / sample["ntokens"]
        logs = {{"loss": loss.data}}
        {logged}
        return loss, sample["ntokens"], logs

    def branch(self, model, sample):
        scores, lengths = model.encoder.scores()
        return F.ctc_loss(scores, sample["text"], lengths, sample["lengths"])

    def main(self, model, sample):
        return F.nll_loss(model.get_normalized_probs(model(sample)), sample["target"])
"""
    assert codes(source) == expected


PICTURES = """
import torch
{imports}
from torch import nn

def train(loader, show):
    net = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    fixed = torch.randn(8, 3)
    for epoch in range(9):
        for x in loader:
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()
        samples = net(fixed)
        {drawn}
"""


@pytest.mark.parametrize(
    ("imports", "drawn", "expected"),
    [
        ("from torchvision.utils import save_image", "save_image(samples, 'a.png')", ["TLK203"]),
        ("import torchvision", "show(torchvision.utils.make_grid(samples))", ["TLK203"]),
        ("from elsewhere import save_image", "save_image(samples, 'a.png')", []),
        ("import torchvision", "show(torchvision.utils.make_grid(samples), samples)", []),
    ],
)
def test_pictures_are_drawn_without_gradients(imports: str, drawn: str, expected: list[str]) -> None:
    assert codes(PICTURES.format(imports=imports, drawn=drawn)) == expected
