"""Layers that are not seen: what activations go through has their graph, what is made beside them need not."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchlint.catalog import rules
from torchlint.engine import check
from torchlint.source import Source

READER = """
    import torch
    from torch import nn
    from reading.layers import {part}

    class Reader(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.mix = nn.Linear(width, 3 * width)
            self.part = {part}(width)
            self.last = None

        def forward(self, x, mask=None):
            query, key, value = self.mix(x).chunk(3, dim=-1)
            {lines}

    def train(net, loader, optimizer):
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

WEIGHTS = """query, key = self.part(query), self.part(key)
            weights = (query @ key.transpose(-2, -1)).softmax(-1)
            self.last = weights
            return weights @ value"""


def told(program: str) -> list[str]:
    """The codes of all findings, notes among them."""
    return [one.code for one in check(Source("program.py", dedent(program)), rules()).diagnostics]


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        (WEIGHTS, ["TLK111"]),
        (WEIGHTS.replace("self.last = weights", "self.last = weights.detach()"), []),
        (WEIGHTS.replace("self.part(query), self.part(key)", "self.part(query, key)"), ["TLK111"]),
        (WEIGHTS.replace("self.part(query), self.part(key)", "self.part(x), self.part(x)"), []),
        (WEIGHTS.replace("return", "value = value * query\n            return"), ["TLK111"]),
        ("kept = self.part(value)\n            self.last = kept\n            return value * kept", []),
        ("kept = self.part(value)\n            self.last = kept\n            return kept * 2", ["TLK111"]),
        ("kept = self.part(value)\n            self.last = kept\n            return kept", []),
        ("kept = self.part(value)\n            self.last = kept\n            return (kept > 0) * key", []),
        ("picked, kept = self.part(value)\n            self.last = kept\n            return kept * 2", ["TLK111"]),
        ("picked, kept = self.part(value)\n            self.last = picked\n            return kept * 2", []),
        ("kept = self.part(value.detach())\n            self.last = kept\n            return kept * 2", []),
        ("h = self.part(value)\n            kept = self.part(h.relu())\n            self.last = kept\n"
         "            return kept + 1", ["TLK111"]),
    ],
    ids=[
        "both are turned", "detached", "a pair", "what comes in may have none", "used again after it", "beside a gate",
        "computed on", "an answer of any kind", "only compared", "the part that is computed on", "the other part",
        "cut before", "one after the other",
    ],
)  # fmt: skip
def test_what_activations_go_through_has_their_graph(lines: str, codes: list[str]) -> None:
    assert told(READER.format(part="Rotation", lines=lines)) == codes


RESIDUAL = """
    import torch
    from torch import nn
    from depth.blocks import {first}, {second}

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.part, self.out = {first}(3, width), {second}(width), {first}(width, 1)
            self.last = None

        def forward(self, x):
            h = self.first(x)
            kept = {kept}
            self.last = kept
            return self.out({given})

    def fit(loader):
        net = Net(16)
        optimizer = torch.optim.AdamW(net.parameters())
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return net.last.detach().std().item()
"""


@pytest.mark.parametrize(
    ("kept", "given", "codes"),
    [
        ("self.part(h)", "h + kept", ["TLK111"]),
        ("self.part(self.out(h))", "kept + h", ["TLK111"]),
        ("self.part(h)", "h * kept", []),
        ("self.part(x)", "h + kept", []),
        ("self.part(h).detach()", "h + kept", []),
    ],
    ids=["a branch", "one of two layers", "a gate or a mask", "beside the activations", "cut"],
)
def test_what_passes_by_a_layer_is_to_train_it(kept: str, given: str, codes: list[str]) -> None:
    assert told(RESIDUAL.format(first="Down", second="Mid", kept=kept, given=given)) == codes


ACTOR = """
    from collections import namedtuple

    import numpy as np
    import torch
    from torch import nn
    from torch.distributions import Normal
    from control.heads import {head}

    Step = namedtuple("Step", "seen action score")

    class Actor(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body = nn.Linear(width, width)
            self.head = {head}(width)

        def draw(self, seen):
            mean, scale = self.head(self.body(seen))
            drawn = Normal(mean, scale.clamp(-5, 2).exp())
            action = drawn.rsample()
            return action, drawn.log_prob(action).sum(-1)

    class Memory:
        def __init__(self):
            self.steps = []

        def add(self, *step):
            self.steps.append(Step(*step))

    def improve(actor, critic, optimizer, memory, device):
        seen = torch.as_tensor(np.stack([step.seen for step in memory.steps[-32:]]), device=device)
        action, score = actor.draw(seen)
        loss = (0.2 * score - critic(seen, action)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def train(world, critic, optimizer, device):
        actor, memory = Actor(8), Memory()
        seen = world.reset()
        for _ in range(100_000):
            action, score = actor.draw(torch.as_tensor(seen, device=device))
            memory.add(seen, {kept})
            seen = world.step(action.detach().cpu().numpy())
            improve(actor, critic, optimizer, memory, device)
"""


@pytest.mark.parametrize(
    ("kept", "codes"),
    [("action, score", ["TLK105"]), ("action.detach(), score.item()", []), ("action.detach(), score", ["TLK105"])],
)
def test_what_an_unseen_head_gives_is_drawn_from_and_recorded(kept: str, codes: list[str]) -> None:
    assert told(ACTOR.format(head="Gaussian", kept=kept)) == codes
