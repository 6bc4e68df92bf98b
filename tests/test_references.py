"""Networks with which another one is compared, and that nobody trains, where the training stands in another file."""

from __future__ import annotations

import pytest

from torchlint import check_source
from torchlint.config import Settings

LEARNER = """
import copy
import torch
from torch import nn
from torch.nn import functional as F

class Learner(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.online = nn.Sequential(encoder, nn.Linear(8, 8))
        self.slow = {made}
        {after}

    def forward(self, a, b):
        {target}
        return {returned}

    {guard}
    def follow(self):
        for mine, theirs in zip(self.slow.parameters(), self.online.parameters()):
            {update}
"""

USUAL = {
    "made": "copy.deepcopy(self.online)",
    "after": "pass",
    "target": "target = self.slow(b)",
    "returned": "F.mse_loss(self.online(a), target)",
    "guard": "@torch.no_grad()",
    "update": "mine.lerp_(theirs, 0.01)",
}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"guard": "", "update": "mine.data.mul_(0.99).add_(theirs.data, alpha=0.01)"},
        {"update": "mine.copy_(0.99 * mine + 0.01 * theirs)"},
        {"guard": "", "update": "mine.data = 0.99 * mine.data + 0.01 * theirs.data"},
        {"returned": "{'loss': F.mse_loss(self.online(a), target), 'size': len(a)}"},
        {"returned": "-(self.online(a) * target).sum(1).mean()"},
        {"target": "target = self.slow(self.slow(b))"},
    ],
)
def test_a_loss_over_both_runs_the_backward_through_the_copy(parts: dict[str, str]) -> None:
    assert _codes({**USUAL, **parts}) == ["TLK203"]


@pytest.mark.parametrize(
    "parts",
    [
        {"target": "target = self.slow(b).detach()"},
        {"target": "with torch.no_grad():\n            target = self.slow(b)"},
        {"target": "target = self.slow(self.online(b))"},
        {"after": "self.slow.requires_grad_(False)"},
        {"made": "nn.Linear(8, 8)"},
        {"returned": "self.online(a), target"},
        {"returned": "target"},
        {"update": "print(mine, theirs)"},
        {"guard": "", "update": "mine.clamp(0, 1)"},
    ],
)
def test_a_copy_that_is_guarded_or_trained_or_whose_answer_is_handed_out_does_not(parts: dict[str, str]) -> None:
    assert _codes({**USUAL, **parts}) == []


VALUES = """
import copy
import torch
from torch import nn
from torch.nn import functional as F

def blend(slow, fast, rate):
    for mine, theirs in zip(slow.parameters(), fast.parameters()):
        mine.data.copy_(mine.data * (1 - rate) + theirs.data * rate)

class Values:
    def __init__(self, net: nn.Module, actor: nn.Module):
        self.net, self.actor = net, actor
        self.goal = {made}

    def sync(self):
        {update}

    def loss(self, now, then, reward):
        best = {best}
        return F.mse_loss(self.net(now), reward + 0.99 * best)
"""


@pytest.mark.parametrize(
    ("parts", "is_told"),
    [
        ({}, True),
        ({"update": "blend(self.goal, self.net, 0.01)"}, True),
        ({"update": "blend(self.net, self.goal, 0.01)"}, False),
        ({"made": "copy.deepcopy(net)", "update": "pass"}, False),
        ({"made": "nn.Linear(4, 1)"}, True),
        ({"update": "self.goal.load_state_dict(torch.load('goal.pt'))"}, False),
        ({"best": "self.goal(self.actor(then))"}, False),
    ],
    ids=[
        "loads", "blends", "is blended into", "never follows", "made alone", "from a file", "is trained through",
    ],
)  # fmt: skip
def test_a_network_that_only_takes_the_weights_of_another_one_is_not_trained(
    parts: dict[str, str], is_told: bool
) -> None:
    usual = {"made": "copy.deepcopy(net)", "update": "self.goal.load_state_dict(self.net.state_dict())"}
    source = VALUES.format(**{**usual, "best": "self.goal(then)", **parts})
    assert [found.code for found in check_source(source)] == (["TLK203"] if is_told else [])


PENALTY = """
import copy
import torch
from torch import nn
from torch.nn import functional as F

class Memory:
    def __init__(self, net, former=None):
        self.net = net
        self.former = {begun}

    def remember(self):
        {remembered}

    def penalty(self, x, answer):
        return {penalty}
"""


@pytest.mark.parametrize(
    ("parts", "is_told"),
    [
        ({}, True),
        ({"remembered": "self.former = copy.deepcopy(self.net).eval()"}, True),
        ({"penalty": "F.kl_div(answer.log_softmax(1), self.former(x).softmax(1))"}, True),
        ({"penalty": "(self.net(x) - self.former(x)).square().mean()"}, True),
        ({"begun": "former.eval()", "remembered": "pass"}, True),
        ({"begun": "former.eval()", "remembered": "self.former.train()"}, False),
        ({"begun": "former.eval()", "remembered": "self.former.requires_grad_(False)"}, False),
        ({"remembered": "self.former = copy.deepcopy(self.net)"}, False),
        ({"penalty": "F.mse_loss(answer, self.former(x).detach())"}, False),
        ({"penalty": "F.mse_loss(self.former(answer), self.former(x))"}, False),
        ({"penalty": "F.cross_entropy(self.former(self.net(x)), answer)"}, False),
        ({"penalty": "F.mse_loss(answer, self.former(x).argmax(1))"}, False),
        ({"penalty": "self.former(x)"}, False),
    ],
    ids=[
        "a copy", "made to rest at once", "shares", "beside its original", "given", "trained again", "frozen",
        "never rests", "cut", "a distance of its own answers", "judges the answer", "classes", "handed out",
    ],
)  # fmt: skip
def test_one_in_evaluation_mode_that_says_what_the_answer_ought_to_be_is_not_trained(
    parts: dict[str, str], is_told: bool
) -> None:
    usual = {"begun": "None", "remembered": "self.former = copy.deepcopy(self.net)\n        self.former.eval()"}
    source = PENALTY.format(**{**usual, "penalty": "F.mse_loss(answer, self.former(x))", **parts})
    told = [(found.code, found.level.value) for found in check_source(source, settings=Settings(notes=True))]
    assert [one for one in told if one[0] == "TLK203"] == ([("TLK203", "note")] if is_told else [])


def _codes(parts: dict[str, str]) -> list[str]:
    return [found.code for found in check_source(LEARNER.format(**parts))]
