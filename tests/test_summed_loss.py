"""Losses that wait in a sum for one backward: which of them are independent, and what is done with the sum."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

STEP = "optimizer.zero_grad()\nloss.backward()\noptimizer.step()"

SUMMED = """
loss = 0
for a, b in zip(x.split(2), y.split(2)):
    loss = loss + F.cross_entropy(model(a), b)
"""

LISTED = """
losses = []
for a, b in zip(x.split(2), y.split(2)):
    losses.append(F.cross_entropy(model(a), b))
"""


def summed(body: str, end: str = STEP, before: str = "") -> list[str]:
    """The names of the sums that wait for a backward in a loop of steps with this body."""
    lines = "".join(f"    {line}\n" for line in f"{body.strip()}\n{end}".splitlines())
    program = Program(f"{TRAINING}head = nn.Linear(3, 3)\n{before}\nfor x, y in loader:\n{lines}")
    return [found.name for found in program.facts.summed_losses]


@pytest.mark.parametrize(
    "body",
    [
        SUMMED,
        SUMMED.replace("loss = loss +", "loss +="),
        SUMMED.replace("loss + F", "loss + 0.5 * F"),
        f"{SUMMED}loss = loss / 4",
        f"{SUMMED}loss = (loss + model.weight.pow(2).sum()).mean()",
    ],
)
def test_a_running_sum_of_independent_losses_waits(body: str) -> None:
    assert summed(body) == ["loss"]


@pytest.mark.parametrize("end", ["sum(losses)", "torch.stack(losses).mean()", "sum(losses) / len(losses)"])
def test_a_list_of_independent_losses_waits(end: str) -> None:
    assert summed(f"{LISTED}loss = {end}") == ["losses"]


@pytest.mark.parametrize("copied", ["list({})", "tuple({})", "sorted({})", "list(reversed({}))"])
def test_a_copy_of_the_losses_is_the_losses(copied: str) -> None:
    named = LISTED.replace("[]", "{}").replace("losses.append(", "losses[a] = (")
    assert summed(f"{LISTED}loss = torch.stack({copied.format('losses')}).sum()") == ["losses"]
    assert summed(f"{named}loss = torch.stack({copied.format('losses.values()')}).sum()") == ["losses"]
    assert summed(f"{LISTED}loss = {copied.format('losses')}[-1]") == []
    assert summed(f"{LISTED}loss = max({copied.format('losses')})") == []
    assert summed(f"{LISTED}loss = torch.stack({copied.format('losses')}).prod()") == []


def test_a_comprehension_of_independent_losses_waits() -> None:
    assert summed("loss = sum(model(a).mean() for a in x.split(2))") == [""]


ONE = "def one(part):\n    return model(part).mean()\n"


@pytest.mark.parametrize(
    "total",
    [
        "sum(map(one, x.split(2)))",
        "sum(map(lambda part: model(part).mean(), x.split(2)), 0.0) / 4",
        "functools.reduce(operator.add, map(one, x.split(2)))",
        "functools.reduce(operator.add, [one(part) for part in x.split(2)], 0)",
        "functools.reduce(torch.add, (one(part) for part in x.split(2)))",
    ],
)
def test_a_sum_that_functions_make(total: str) -> None:
    assert summed(f"loss = {total}", before=f"import functools, operator\n{ONE}") == [""]


@pytest.mark.parametrize(
    "total",
    [
        "functools.reduce(operator.mul, map(one, x.split(2)))",
        "functools.reduce(lambda a, b: a * b, map(one, x.split(2)))",
        "sum(map(one, whole.split(2)))",
        "sum(map(float, x.split(2)), model(x).mean())",
    ],
)
def test_a_product_or_parts_of_one_output_are_no_such_sum(total: str) -> None:
    before = f"import functools, operator\n{ONE}"
    assert summed(f"whole = head(x)\nloss = {total}", before=before) == []


def test_a_helper_that_sums_is_followed() -> None:
    helper = "def total(x, y):\n    t = 0\n    for a in x.split(2):\n        t += model(a).mean()\n    return t\n"
    assert summed("loss = total(x, y)", before=helper) == ["t"]


@pytest.mark.parametrize("end", ["loss.log()", "loss ** 2", "loss * loss", "1 / loss"])
def test_what_is_done_with_the_sum_must_be_linear(end: str) -> None:
    assert summed(f"{SUMMED}loss = {end}") == []


@pytest.mark.parametrize("end", ["torch.stack(losses).max()", "torch.stack(losses).logsumexp(0)", "losses[0]"])
def test_what_is_done_with_the_list_must_be_linear(end: str) -> None:
    assert summed(f"{LISTED}loss = {end}") == []


@pytest.mark.parametrize(
    "body",
    [
        "h = model(x)\nloss = 0\nfor k in range(3):\n    loss = loss + head(h)[k].sum()",
        "h = x\nloss = 0\nfor k in range(3):\n    h = model(h)\n    loss = loss + h.sum()",
        "loss = model(x).sum()\nfor p in model.parameters():\n    loss = loss + p.pow(2).sum()",
        "out = model(x)\nloss = sum(out[k].mean() for k in range(3))",
    ],
)
def test_losses_that_share_a_graph_are_left_alone(body: str) -> None:
    assert summed(body) == []


PIECES = """
import torch
from torch import nn

def compare(ones, others, size):
    judge, losses = nn.CrossEntropyLoss(), []
    for start in {positions}:
        near = ones[start : start + size] @ others.t()
        losses.append(judge(near, torch.arange(start, start + len(near))))
    return sum(losses)

def run(net: nn.Module, x, y, given, size):
    ones, others = {ones}, net(y).detach().requires_grad_()
    compare(ones, others, size).backward()
"""


@pytest.mark.parametrize(
    ("ones", "positions", "number"),
    [
        ("net(x).detach().requires_grad_()", "range(0, len(ones), size)", 1),
        ("torch.cat([net(part).detach().requires_grad_() for part in x])", "range(0, len(ones), size)", 1),
        ("net(x)", "range(0, len(ones), size)", 0),
        ("torch.cat([net(part) for part in x])", "range(0, len(ones), size)", 0),
        ("net(x).detach().requires_grad_().exp()", "range(0, len(ones), size)", 0),
        ("net(x).detach().requires_grad_()", "range(size)", 0),
    ],
)
def test_losses_of_the_pieces_of_leaves_wait(ones: str, positions: str, number: int) -> None:
    assert len(Program(PIECES.format(ones=ones, positions=positions)).facts.summed_losses) == number


def test_nothing_is_said_of_the_pieces_of_what_others_give() -> None:
    judged = PIECES.replace("sum(losses)", "sum(losses).backward()").partition("def run")[0]
    assert Program(judged.format(positions="range(0, len(ones), size)")).facts.summed_losses == []


def test_the_backward_must_stand_after_the_loop() -> None:
    assert summed("for a in x.split(2):\n    loss = model(a).sum()\n    loss.backward()", "optimizer.step()") == []
    assert summed(SUMMED, STEP.replace("backward()", "backward(retain_graph=True)")) == []


def test_what_other_functions_left_in_a_list_was_computed_before() -> None:
    before = "saved = []\ndef act(s):\n    saved.append(model(s).max())\n"
    assert summed("losses = []\nfor v in saved:\n    losses.append(-v)\nloss = sum(losses)", before=before) == []


def test_what_the_caller_computed_was_computed_before_the_loop() -> None:
    before = "def total(parts):\n    t = 0\n    for h in parts:\n        t = t - head(h).sum()\n    return t\n"
    assert summed("loss = total([model(a) for a in x.split(2)])", before=before) == []
    assert summed("loss = total(x.split(2))", before=before) == ["t"]


@pytest.mark.parametrize(
    ("given", "found"), [("both(x)[0]", ["t"]), ("*both(x)", ["t"]), ("**both(x)", []), ("*both(x), *both(y)", [])]
)
def test_what_one_star_spreads_is_an_item_of_it_and_what_more_spread_may_be_anything(
    given: str, found: list[str]
) -> None:
    before = "def total(parts):\n    t = 0\n    for h in parts:\n        t = t - head(h).sum()\n    return t\n"
    assert summed(f"loss = total({given})", before=before) == found


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("t = 0", "t = t + model(x).sum()\nif y > 2:\n    t.backward()\n    t = 0"),
        ("t = []", "t.append(model(x).sum())\nif y > 2:\n    sum(t).backward()\n    t = []"),
    ],
)
def test_a_window_of_batches_is_such_a_sum(before: str, body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    assert Program(f"{TRAINING}\n{before}\nfor x, y in loader:\n{lines}").facts.summed_losses


@pytest.mark.parametrize(
    "body",
    [
        "loss, last = 0, None\nfor a in x.split(2):\n    h = model(a)\n    loss = loss + h.sum()\n"
        "    if last is not None:\n        loss = loss + (h - last).abs().sum()\n    last = h",
        "losses = [model(a).sum() for a in x.split(2)]\nloss = torch.stack(losses).mean() + torch.stack(losses).std()",
        "losses = [model(a).sum() for a in x.split(2)]\nloss = (torch.stack(losses) * torch.softmax(y, 0)).sum()",
    ],
)
def test_losses_that_are_tied_together_in_another_way_are_left_alone(body: str) -> None:
    assert summed(body) == []


def test_the_layers_of_one_network_are_no_independent_losses() -> None:
    heads = "heads = nn.ModuleList(nn.Linear(3, 1) for _ in range(3))"
    layers = (
        "losses = []\nfor f, h in zip(features(x), heads):\n    losses.append(h(f))\nloss = torch.cat(losses).mean()"
    )
    members = "losses = []\nfor h in heads:\n    losses.append(h(x).sum())\nloss = torch.stack(losses).mean()"
    assert summed(layers, before=heads) == []
    assert summed(members, before=heads) == ["losses"]


EXITS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.stages = nn.Linear(3, 3), nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
    def exits(self, x):
        {body}

net = Net()
for x, y in loader:
    loss = 0
    for depth, out in enumerate(net.exits(x), 1):
        loss = loss + F.cross_entropy(out, y) / depth
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "body",
    [
        "h = self.stem(x)\n        for stage in self.stages:\n            yield stage(h)",
        "for stage in self.stages:\n            x = stage(x)\n            yield x",
    ],
)
def test_what_a_generator_makes_of_one_forward_is_one_loss(body: str) -> None:
    assert Program(TRAINING + EXITS.format(body=body)).facts.summed_losses == []


@pytest.mark.parametrize(
    ("yielded", "total", "expected"),
    [
        ("F.cross_entropy(model(a), b)", "loss = sum(parts(x, y))", [""]),
        ("F.cross_entropy(model(a), b) / 2", "loss = 0\nfor part in parts(x, y):\n    loss = loss + part", ["loss"]),
        ("F.cross_entropy(out, b)", "loss = sum(parts(x, y))", []),
        ("F.cross_entropy(model(a), b).item()", "loss = sum(parts(x, y)) + model(x).sum()", []),
    ],
)
def test_losses_that_a_generator_yields_wait(yielded: str, total: str, expected: list[str]) -> None:
    parts = (
        f"def parts(x, y):\n    out = model(x)\n    for a, b in zip(x.split(2), y.split(2)):\n        yield {yielded}\n"
    )
    assert summed(total, before=parts) == expected


@pytest.mark.parametrize(("loss", "sums"), [("model(a, labels=b).loss", ["total"]), ("kept.loss", [])])
def test_the_loss_that_an_output_of_this_turn_has_is_no_older_than_it(loss: str, sums: list[str]) -> None:
    body = f"total = 0\nkept = model(x)\nfor a, b in zip(x.split(2), y.split(2)):\n    total = total + {loss} / 4\n"
    assert summed(body + "loss = total") == sums


TASKS = """
from dataclasses import dataclass, field
@dataclass
class Options:
    weights: dict = field(default_factory=dict)
class Tasks(nn.Module):
    def __init__(self, encoder: nn.Module):
        super().__init__()
        self.encoder = encoder
    def forward(self, name, x):
        return self.encoder(**x).hidden[:, 0]
class Trainer:
    def __init__(self, net: nn.Module, options):
        self.net, self.options = net, options
        self.tasks = Tasks(net)
    def step(self, batches):
        total = 0.0
        for name, x in batches.items():
            total = total + {loss}
        total.backward()
Trainer(nn.Linear(3, 3), Options()).step({{}})
"""


@pytest.mark.parametrize(
    "loss",
    [
        "self.net(x).mean()",
        "self.options.weights[name] * self.net(x).mean()",
        "self.tasks(name, x).mean()",
    ],
)
def test_a_loss_of_each_task_is_weighted_by_what_a_data_class_made(loss: str) -> None:
    assert [found.name for found in Program(TASKS.format(loss=loss)).facts.summed_losses] == ["total"]


PAIR = """
class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 3)
        self.seen = []
    def forward(self, x):
        clusters = self.body(x).softmax(-1)
        self.seen.append(clusters.mean())
        return {returned}
    def both(self, x):
        logits, term = self(x)
        return logits, term
pooled = Pooled()
"""


@pytest.mark.parametrize(
    ("returned", "term", "sums"),
    [
        ("self.head(clusters), clusters.mean()", "pooled(a)[1]", ["loss"]),
        ("self.head(clusters), clusters.mean()", "pooled.both(a)[1]", ["loss"]),
        ("self.head(clusters), self.seen", "pooled(a)[1][0]", []),
        ("self.head(clusters), self.seen[0]", "pooled(a)[1]", []),
    ],
)
def test_a_term_beside_the_output_is_made_by_the_forward_of_its_turn(returned: str, term: str, sums: list[str]) -> None:
    body = f"loss = 0\nfor a in x.split(2):\n    loss = loss + {term}"
    assert summed(body, before=PAIR.format(returned=returned)) == sums


TERMS = """
class Terms(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.layers = nn.Linear(3, 3), nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    def losses(self, x, y):
        out = self.body(x)
        near = 0.0
        for layer in self.layers:
            near = near + layer(out).abs().mean()
        return {"far": F.cross_entropy(out, y), "near": near / 2}
terms = Terms()
shares = {"far": 0.5, "near": 2.0}
"""


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ("terms.losses(x, y)", "sum(parts.values())"),
        ("terms.losses(x, y)", "sum(shares[name] * part for name, part in parts.items())"),
        ("terms.losses(x, y)", "sum(part for part in list(parts.values()))"),
        ("[terms.losses(x, y)['near'], terms.losses(x, y)['far']]", "sum(part * 0.5 for part in parts)"),
    ],
)
def test_the_terms_of_one_loss_are_computed_before_they_are_summed(parts: str, total: str) -> None:
    assert summed(f"parts = {parts}\nloss = {total}", before=TERMS) == []


ROLLOUT = """
terms, returned, loss = [], 0.0, 0
for a in x.split(2):
    scores = model(a)
    loss = loss + scores.logsumexp(1).mean()
    terms.append({term})
loss = loss + (torch.stack(terms) * returned).std()
"""


def test_a_sum_beside_terms_of_the_same_forwards_that_wait_as_well() -> None:
    assert summed(ROLLOUT.format(term="scores[:, 0].mean()")) == []
    assert summed(ROLLOUT.format(term="a.mean()")) == ["loss"]


def test_states_that_each_turn_hands_to_the_next_share_a_graph() -> None:
    """Truncated backpropagation through time: the states of all layers lie in a list of pairs."""
    cells = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTMCell(3, 3) for _ in range(2))
    def forward(self, x, states=None):
        if states is None:
            states = [(x, x) for _ in self.cells]
        after = []
        for cell, state in zip(self.cells, states):
            x, memory = cell(x, state)
            after.append((x, memory))
        return x, after
net = Net()
"""
    body = """
loss, states = 0, None
for a, b in zip(x.split(2), y.split(2)):
    out, states = net(a, states)
    loss = loss + F.cross_entropy(out, b)
"""
    assert summed(body, before=cells) == []
    assert summed(body.replace("out, states =", "out, _ ="), before=cells) == ["loss"]
