"""What may have a graph for all that is seen: what stands beside a loss, what a layer computes from its input."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project

STEP = """
def step(objective, x, y):
    loss, parts = objective(model(x), y)
    optimizer.zero_grad()
    {back}
    optimizer.step()
    return {given}

def run(objective, loader):
    total = 0
    for x, y in loader:
        part = step(objective, x, y)
        total += {added}
    print(total)
"""


def supposed(source: str) -> list[str]:
    return sorted(found.name for found in Program(source).facts.supposed_accumulations)


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ({}, ["total"]),
        ({"given": "parts['box']"}, ["total"]),
        ({"given": "parts.detach()"}, []),
        ({"added": "part.item()"}, []),
        ({"added": "part"}, []),  # nothing says that it is a tensor
        ({"added": "part * len(x)"}, []),
        ({"back": "loss.backward(retain_graph=True)"}, []),
        ({"back": "pass"}, []),
    ],
)
def test_what_a_call_returns_beside_the_loss(lines: dict[str, str], names: list[str]) -> None:
    filled = {"back": "loss.backward()", "given": "parts", "added": "part.squeeze().unsqueeze(0)", **lines}
    assert supposed(TRAINING + STEP.format(**filled)) == names


LAYER = """
from pool import pooled
class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
    def forward(self, x, index):
        {first}
        mean = pooled({given}, index)
        if {test}:
            self.mean = 0.9 * self.mean + 0.1 * mean.flatten()
        return x - mean
"""


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ({}, ["self.mean"]),
        ({"test": "self.training and self.track"}, ["self.mean"]),
        ({"test": "not self.training"}, []),
        ({"test": "self.track", "first": "if not self.training: return x"}, ["self.mean"]),
        ({"test": "self.track", "first": "if self.training: return x"}, []),
        ({"test": "self.track"}, []),
        ({"given": "x.detach()", "index": "None"}, []),
    ],
)
def test_what_a_layer_computes_from_its_input_while_it_trains(lines: dict[str, str], names: list[str]) -> None:
    source = LAYER.format(**{"given": "x", "test": "self.training", "first": "pass", **lines})
    assert supposed(source.replace(", index)", ")") if "index" in lines else source) == names


@pytest.mark.parametrize(
    ("mean", "names"),
    [
        ("total.detach().sum() / max(count, 1)", []),
        ("total.sum() / max(count, 1)", ["self.mean"]),
        ("total.detach().sum() / count.clamp(min=1)", ["self.mean"]),
    ],
)
def test_a_count_that_a_layer_is_called_with_is_a_number_where_it_is_held_against_one(
    mean: str, names: list[str]
) -> None:
    source = f"""
class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))
    def follow(self, total, count):
        mean = {mean}
        self.mean = 0.9 * self.mean + 0.1 * mean
    def forward(self, x, batch):
        if self.training:
            self.follow(x, batch["rows"])
        return x
"""
    assert supposed(source) == names


CRITERION = """
import torch.nn.functional as F
class Centred(nn.Module):
    def __init__(self, width, {weight}):
        super().__init__()
        self.weight = weight
        self.head = nn.Linear(width, width)
        self.register_buffer("centre", torch.zeros(width))
    def middle(self, x):
        return x.softmax(1).mean(0)
    def follow(self, middle):
        self.centre = 0.9 * self.centre + 0.1 * {added}
    def forward(self, scores, features, goals, labels):
        middle = self.middle({given})
        {guard}:
            self.follow(middle)
        return {loss}
"""

PULL = "self.weight * (middle - self.centre.detach()).pow(2).mean()"
CROSS = "F.cross_entropy(scores, labels)"


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ({}, ["self.centre"]),
        ({"loss": f"({CROSS} - {PULL}) / 2"}, ["self.centre"]),
        ({"loss": f"{{'one': {CROSS}, 'two': {PULL}}}"}, ["self.centre"]),
        ({"loss": "F.mse_loss(features, self.centre.detach())"}, ["self.centre"]),
        ({"loss": PULL}, []),  # a number, which may be a metric
        ({"loss": CROSS}, []),  # what is trained are the scores
        ({"loss": "F.mse_loss(features, goals)"}, []),  # one of the two has a graph
        ({"loss": f"{CROSS} + F.mse_loss(features, goals)", "given": "goals"}, []),
        ({"loss": f"{CROSS} + self.head(features).mean()"}, []),  # the weights of the layer are trained
        ({"loss": f"{CROSS} + (middle.detach() - self.centre).mean()"}, []),
        ({"loss": f"{CROSS} + (middle - self.centre).mean()"}, []),  # a second backward would fail
        ({"added": "middle.detach()"}, []),
        ({"guard": "with torch.no_grad()"}, []),
    ],
)
def test_what_alone_a_term_of_a_returned_loss_is_computed_of(lines: dict[str, str], names: list[str]) -> None:
    plain = {"weight": "weight=1.0", "added": "middle", "given": "features", "guard": "if True"}
    assert supposed(CRITERION.format(**{**plain, "loss": f"{CROSS} + {PULL}", **lines})) == names


MOMENTS = """
class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
    def moments(self, x, mask):
        if mask is None:
            mask = torch.ones_like(x[:, :1])
        mean = (x * mask).sum((0, 2)) / mask.sum()
        {given}
    def forward(self, x, mask=None):
        if self.training:
            {taken} = self.moments(x, mask)
            self.mean = 0.9 * self.mean + 0.1 * mean
        return x - self.mean
"""


@pytest.mark.parametrize(
    ("given", "taken", "names"),
    [
        ("return mean", "mean", ["self.mean"]),
        ("return mean, (x - mean).var()", "mean, spread", ["self.mean"]),
        ("return len(x), mean", "count, mean", ["self.mean"]),
        ("if len(x) < 2:\n            return None\n        return mean, len(x)", "mean, count", ["self.mean"]),
        ("return mean, len(x)", "count, mean", []),
        ("return mean.detach(), (x - mean).var()", "mean, spread", []),
        ("return (mean, 0) if mask is None else unseen(x)", "mean, spread", []),
    ],
)
def test_what_a_layer_computes_of_its_input_may_be_an_item_of_a_tuple(given: str, taken: str, names: list[str]) -> None:
    assert supposed(MOMENTS.format(given=given, taken=taken)) == names


TWO = "return Moments(mean, (x - mean).var())"


@pytest.mark.parametrize(
    ("given", "made", "names"),
    [
        (TWO, "found = self.moments(x, mask)", ["self.mean"]),
        ("return Moments(mean.detach(), (x - mean).var())", "found = self.moments(x, mask)", []),
        ("return Moments(len(x), mean)", "found = self.moments(x, mask)", []),
        (TWO, "with torch.no_grad():\n                found = self.moments(x, mask)", []),
        ("return Moments(x * 2, x)", "with torch.no_grad():\n                found = self.moments(x, mask)", []),
    ],
)
def test_what_a_layer_computes_of_its_input_may_be_a_field_of_a_record(given: str, made: str, names: list[str]) -> None:
    record = "from typing import NamedTuple\nclass Moments(NamedTuple):\n    mean: object\n    spread: object\n"
    body = MOMENTS.format(given=given, taken="found").replace("found = self.moments(x, mask)", made)
    assert supposed(record + body.replace("0.1 * mean", "0.1 * found.mean")) == names


WHEN_TRAINING = """
class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
    def forward(self, x):
        {asked}
            self.mean = 0.9 * self.mean + 0.1 * {added}
        return x - self.mean
"""


@pytest.mark.parametrize(
    ("added", "names"),
    [
        ("x.mean(0)", ["self.mean"]),
        ("torch.var_mean(x, 0)[1]", ["self.mean"]),
        ("torch.topk(x, 1, 0).values", ["self.mean"]),
        ("torch.topk(x, 1, 0).indices", []),
        ("x.abs().max(0).values", ["self.mean"]),
        ("torch.stack([x.mean(0), x.amax(0)]).sum(0)", ["self.mean"]),
        ("torch.stack([x.detach().mean(0), x.shape[0]]).sum(0)", []),
        ("torch.var_mean(x.detach(), 0)[1]", []),
    ],
)
def test_what_a_layer_computes_of_its_input_may_be_one_of_several_tensors(added: str, names: list[str]) -> None:
    assert supposed(WHEN_TRAINING.format(asked="if self.training:", added=added)) == names


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("if self.training and x.dim() > 1:", ["self.mean"]),
        ("training = self.training\n        if training:", ["self.mean"]),
        ("if not self.training:\n            pass\n        else:", ["self.mean"]),
        ("if not self.training or x.dim() < 2:\n            return x\n        if True:", ["self.mean"]),
        ("if not self.training:\n            raise ValueError\n        with named(x):", ["self.mean"]),
        ("if not self.training:", []),
        ("if self.training:\n            return x\n        if True:", []),
        ("if not self.training and x.dim() < 2:\n            return x\n        if True:", []),
        ("if self.training:\n            pass\n        else:", []),
        ("if self.training:\n            x = x + 1\n        if True:", []),
    ],
)
def test_what_runs_only_where_a_layer_trains(asked: str, names: list[str]) -> None:
    assert supposed(WHEN_TRAINING.format(asked=asked, added="x.mean(0)")) == names


TERMS = """
    import torch

    def terms(net, ids, at):
        scores, values, _ = net(ids[:, :-1])
        chosen = scores.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        return chosen[:, at - 1:], values[:, at - 1:]

    def gains(rewards, values):
        found, last = torch.zeros_like(values), 0
        for at in reversed(range(values.size(1))):
            last = rewards[:, at] - values[:, at] + 0.9 * last
            found[:, at] = last
        return found, found + values
"""

NET = """
    import torch.nn as nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.scores, self.value = nn.Embedding(32, 8), nn.Linear(8, 32), nn.Linear(8, 1)

        def forward(self, ids):
            x = self.body(ids)
            return self.scores(x), self.value(x).squeeze(-1), x
"""

POLICY = """
    import torch
    import torch.nn.functional as F
    from net import Net
    from terms import gains, terms

    def update(net, optimizer, data, epochs):
        gain, target = gains(data.rewards, data.values)
        sums = {{"policy": 0.0}}
        for _ in range(epochs):
            for rows in torch.randperm(len(data.ids)).split(8):
                chosen, values = terms(net, data.ids[rows], 3)
                ratio = (chosen - data.chosen[rows]).exp()
                part = -torch.min(ratio * gain[rows], ratio.clamp(0.9, 1.1) * gain[rows]).mean()
                loss = part + 0.5 * F.mse_loss(values, target[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sums["policy"] += part{ending}
        return sums

    def main(loader):
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        for data in loader:
            print({{name: round(value, 3) for name, value in update(net, optimizer, data, 3).items()}})
"""


@pytest.mark.parametrize(("ending", "number"), [(".item()", 0), (".detach()", 0), ("", 1)])
def test_a_number_of_what_comes_beside_a_loss_has_no_graph(tmp_path: Path, ending: str, number: int) -> None:
    files = {"terms.py": TERMS, "net.py": NET, "policy.py": POLICY.format(ending=ending)}
    assert len(Project(tmp_path, files).found()) == number


AVERAGE = """
class Average:
    def __init__(self, net, rate):
        self.rate = rate
        self.shadow = {{name: one.detach().clone() for name, one in net.named_parameters()}}

    {guard}
    def update(self, net):
        for name, one in net.named_parameters():
            {line}

class Follows:
    def before(self, trainer):
        self.average = {made}

    def after_step(self, trainer):
        {after}
"""

MIXED = "self.shadow[name] = self.shadow[name] * self.rate + {one} * (1 - self.rate)"


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ({}, ["self.shadow"]),
        ({"after": "pass"}, []),  # who makes one does not call it
        ({"made": "trainer.net"}, ["self.shadow"]),  # whoever makes one
        ({"line": MIXED.format(one="one.detach()")}, []),
        ({"line": "self.shadow[name].mul_(self.rate).add_(one.detach())"}, []),
        ({"line": "self.shadow[name] = one.detach() * self.rate"}, []),
        ({"guard": "@torch.no_grad()"}, []),
        ({"after": "with torch.no_grad():\n            self.average.update(trainer.net)"}, []),
    ],
)
def test_what_averages_the_weights_of_a_model(lines: dict[str, str], names: list[str]) -> None:
    made = "Average(trainer.net, 0.9)"
    filled = {
        "made": made,
        "guard": "# no guard",
        "line": MIXED.format(one="one"),
        "after": "self.average.update(trainer.net)",
    }
    assert supposed("import torch\nfrom torch import nn\n" + AVERAGE.format(**{**filled, **lines})) == names
