"""What an annotation says is a network: by name, in quotes, with None beside it, as an item, as an attribute."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchlint import check_source

HEAD = """
from __future__ import annotations
from collections.abc import Mapping, Sequence
from typing import Dict, List, Optional, Tuple
import torch
import torch.nn as layers
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Parallel
from torchvision.models import ResNet
import transformers
from flax import linen
import other
"""

PASS = (
    HEAD
    + """
def mean({told}, loader):
    outputs = []
    for x in loader:
        {work}
    return torch.cat(outputs).mean().item()
"""
)

CALLED = "outputs.append(net(x))"


@pytest.mark.parametrize(
    "told",
    [
        "net: nn.Module",
        "net: layers.Sequential",
        "net: 'nn.Module'",
        "net: 'nn.LSTM | None'",
        "net: Optional[nn.Linear]",
        "net: nn.Module | None",
        "net: Parallel",
        "net: ResNet",
        "net: transformers.PreTrainedModel",
        "net: transformers.BertModel",
    ],
)
def test_a_parameter_that_is_told_to_be_a_network_is_one(told: str) -> None:
    assert _codes(PASS.format(told=told, work=CALLED)) == {"TLK102", "TLK201"}


@pytest.mark.parametrize(
    "told",
    [
        "net",
        "net: other.Encoder",
        "net: linen.Module",
        "net: str",
        "net: nn.ReLU",
        "net: nn.Module | str",
        "net: type[nn.Module]",
    ],
)
def test_any_other_is_none(told: str) -> None:
    assert _codes(PASS.format(told=told, work=CALLED)) == set()


@pytest.mark.parametrize(
    ("told", "work"),
    [
        ("nets: list[nn.Module]", "outputs.append(sum(net(x) for net in nets))"),
        ("nets: Sequence[nn.Module]", "outputs.append(nets[0](x))"),
        ("nets: Tuple[nn.Module, ...]", "outputs.append(nets[0](x))"),
        ("nets: Dict[str, nn.Module]", "outputs += [net(x) for name, net in nets.items()]"),
        ("nets: Mapping[str, nn.Linear]", "outputs += [net(x) for net in nets.values()]"),
        ("nets: List[ResNet]", "outputs += [net(x) for net in nets]"),
        ("nets: nn.ModuleList", "outputs += [net(x) for net in nets]"),
    ],
)
def test_so_are_the_items_of_a_container(told: str, work: str) -> None:
    assert "TLK201" in _codes(PASS.format(told=told, work=work))


@pytest.mark.parametrize(
    ("told", "work"),
    [
        ("nets: list", "outputs += [net(x) for net in nets]"),
        ("nets: dict[nn.Module, str]", "outputs += [net(x) for net in nets.values()]"),
        ("nets: tuple[nn.Module, str]", "outputs.append(nets[1](x))"),
        ("nets: list[str]", "outputs += [net(x) for net in nets]"),
    ],
)
def test_but_not_what_is_told_to_be_something_else(told: str, work: str) -> None:
    assert _codes(PASS.format(told=told, work=work)) == set()


RUNNER = (
    HEAD
    + """
def build(options){returned}:
    return other.registry[options.name](options)

class Runner:
    {declared}

    def __init__(self, options):
        self.net{assigned} = {value}

    def run(self, loader):
        outputs = []
        for x in loader:
            outputs.append(self.net(x))
        return torch.cat(outputs).mean().item()
"""
)


@pytest.mark.parametrize(
    "parts",
    [
        {"declared": "net: nn.Module"},
        {"assigned": ": nn.Module"},
        {"value": "build(options)", "returned": " -> nn.Module"},
    ],
)
def test_an_attribute_a_variable_and_a_result_are_told_as_well(parts: dict[str, str]) -> None:
    usual = {"declared": "kind = None", "assigned": "", "returned": "", "value": "options.make()"}
    assert _codes(RUNNER.format(**usual)) == set()
    assert _codes(RUNNER.format(**{**usual, **parts})) == {"TLK102", "TLK201"}


EXPORTED = """
import numpy as np
import torch
from torch import nn

class Session:
    def __init__(self, path):
        self.path = path

    def __call__(self, ids):
        return [np.load(self.path)[ids]]

class Pipeline:
    def __init__(self, encoder: nn.Module):
        self.encoder = encoder

class Exported(Pipeline):
    def __init__(self, encoder: {told}):
        super().__init__(encoder)

    def encode(self, words):
        first = self.encoder(torch.tensor(words))[0]
        return np.concatenate([first.repeat(1, 2), first])
"""


@pytest.mark.parametrize(("told", "codes"), [("nn.Module", {"TLK201"}), ("Session", set())])
def test_what_is_passed_outweighs_what_a_base_is_told(told: str, codes: set[str]) -> None:
    assert _codes(EXPORTED.format(told=told)) == codes


def _codes(text: str) -> set[str]:
    return {found.code for found in check_source(dedent(text))}
