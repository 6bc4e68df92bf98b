"""Tensors that are handed to something that records them, and those that are handed to something else."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

KEEPERS = """
from collections import deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple
class Entry:
    def __init__(self, step, value):
        self.step, self.value = step, value
class Slot:
    def fill(self, value):
        self.value = value
class Clean:
    def __init__(self, value):
        self.value = value.detach()
@dataclass
class Data:
    step: int
    value: object
class Named(NamedTuple):
    step: int
    value: object
Tuple = namedtuple("Tuple", ["step", "value"])
class Log:
    def __init__(self):
        self.kept = []
    def add(self, *values, **named):
        self.kept.append(values)
    def put(self, entry):
        self.kept.append((1, entry))
    def pairs(self, **named):
        for name, value in named.items():
            self.kept.append(value)
log = Log()
kept = []
table = torch.zeros(100, 3)
"""


def recorded(body: str, after: str = "") -> list[str]:
    """The statements that hand over a graph to be recorded."""
    lines = ["out = model(x)", "loss = F.cross_entropy(out, y)", "loss.backward()", "optimizer.step()", body]
    loop = "".join(f"    {line}\n" for line in "\n".join(lines).splitlines())
    facts = Program(f"{TRAINING}{KEEPERS}\nfor step, (x, y) in enumerate(loader):\n{loop}{after}").facts
    return [facts.code(record.statement) for record in facts.records]


@pytest.mark.parametrize(
    "body",
    [
        "kept.append(Entry(step, loss))",
        "kept.append(Data(step=step, value=loss))",
        "kept.append(Named(step, loss))",
        "kept.append(Tuple(step, loss))",
        "kept.append(SimpleNamespace(value=loss))",
        'kept.append((step, {"loss": loss}))',
        "log.add(step, loss)",
        'log.put({"loss": loss})',
        "log.pairs(loss=loss, step=step)",
        "table[step] = out.sum(0)",
        "table[step] += out.sum(0)",
        "table[step][1:] = out.sum(0)[1:]",
    ],
)
def test_what_is_handed_over_is_recorded(body: str) -> None:
    assert recorded(body) == [body]


def test_it_is_found_where_it_is_handed_over() -> None:
    assert recorded("entry = Entry(step, loss)\nkept.append(entry)") == ["entry = Entry(step, loss)"]
    assert recorded("slot = Slot()\nslot.fill(loss)\nkept.append(slot)") == ["slot.fill(loss)"]


@pytest.mark.parametrize(
    "body",
    [
        "kept.append(Entry(step, loss.item()))",
        "kept.append(Clean(loss))",
        "kept.append(loss)",
        "entry = Entry(step, loss)",
        "table[step] = out.sum(0).detach()",
        "with torch.no_grad():\n    table[step] = out.sum(0)",
        "table.data[step] = out.sum(0)",
        "mine = torch.zeros(3, 3)\nmine[0] = out.sum(0)",
        "mine = torch.zeros(3, 3)\nmine[0][1:] = out.sum(0)[1:]",
        "kept.append(Entry(step, loss))\nkept.clear()",
        "log.add(step, out.argmax(1))",
    ],
)
def test_what_has_no_graph_or_is_not_kept_is_not_recorded(body: str) -> None:
    assert recorded(body) == []


def test_a_buffer_that_is_trained_on_is_none() -> None:
    train = "rest = F.mse_loss(table, torch.ones(100, 3))\nrest.backward()\n"
    assert recorded("table[step] = model(x).sum(0)", after=train) == []


def test_what_the_step_trains_through_says_so() -> None:
    source = f"""
{TRAINING}{KEEPERS}
for step, (x, y) in enumerate(loader):
    entry = Entry(step, F.cross_entropy(model(x), y))
    entry.value.backward()
    optimizer.step()
    kept.append(entry)
"""
    (record,) = Program(source).facts.records
    assert record.trained


def test_what_an_encoder_writes_into_rows_of_a_longer_input_is_its_own() -> None:
    source = """
class Encoder(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.end = inner, nn.Parameter(torch.zeros(1, 3))
    def closed(self, frames, lengths):
        longer = torch.zeros(len(frames), frames.size(1) + 1, 3)
        longer[:, :-1] = frames
        for row in range(len(frames)):
            longer[row][lengths[row] : lengths[row] + 1] = self.end
        return longer
    def forward(self, frames, lengths):
        return self.inner(self.closed(frames, lengths))
"""
    assert [record.name for record in Program(source).facts.records] == []


SPREAD = """
def timed(x, kinds, count, rounds):
    layer = nn.Linear(3, 3)
    for _ in range(rounds):
        out = {made}
        for kind in range(count):
            chosen = kinds == kind
            out[chosen] = layer({given})
"""


@pytest.mark.parametrize(
    ("made", "given", "expected"),
    [
        ("x.new_empty(len(x), 3)", "x[chosen]", []),
        ("torch.zeros_like(x)", "x[chosen]", []),
        ("torch.zeros(8, 3)", "x[chosen]", ["out"]),
        ("x.new_empty(len(x), 3)", "torch.randn(8, 3)", ["out"]),
    ],
)
def test_the_parts_of_one_forward_are_no_record(made: str, given: str, expected: list[str]) -> None:
    facts = Program(SPREAD.format(made=made, given=given)).facts
    assert [record.name for record in facts.records] == expected


SLOPES = """
def slope(height, place, seed=None):
    return torch.autograd.grad(height, [place], grad_outputs=seed, create_graph=True)[0]

def slopes(heights, places):
    rows = torch.zeros(len(heights), len(places))
    for row in range(len(heights)):
        seed = torch.zeros_like(heights)
        seed[row] = 1
        rows[row] = slope(heights, places, seed)
    return rows
"""


def test_derivatives_that_may_be_derived_again_are_for_the_callers() -> None:
    assert [record.name for record in Program(SLOPES).facts.records] == []


def test_penalties_that_a_step_trains_on_are_recorded() -> None:
    source = f"""
{TRAINING}
def steep(points):
    points.requires_grad_()
    (slope,) = torch.autograd.grad(model(points).sum(), points, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()

def fit():
    history = torch.zeros(len(loader))
    for step, (points, _) in enumerate(loader):
        penalty = steep(points)
        optimizer.zero_grad()
        penalty.backward()
        optimizer.step()
        history[step] = penalty
    return history
"""
    assert [record.name for record in Program(source).facts.records] == ["history"]
