"""States that go from step to step in a field of a record, which an object keeps."""

from __future__ import annotations

import pytest

from torchlint import check_source

STREAM = """
import dataclasses
from typing import NamedTuple
import torch
from torch import nn

{declared}
    hidden: torch.Tensor
    left: torch.Tensor
{method}
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(40, 40, batch_first=True)
        self.head = nn.Linear(40, 12)

    def begin(self):
        return State(hidden=torch.zeros(1, 1, 40), left=torch.zeros(1, 4, 40))

    def advance(self, x, state):
        y, hidden = self.rnn(torch.cat((state.left, x), dim=1), state.hidden)
        return self.head(y), State(hidden, x[:, -4:].clone())

    def forward(self, x):
        scores, _ = self.advance(x, self.begin())
        return scores

class Stream:
    def __init__(self, encoder: Encoder):
        self.encoder = encoder.eval()
        self.state = encoder.begin()

    {guard}
    def accept(self, x):
        {inside}
            scores, state = self.encoder.advance(x, self.state)
        self.state = {kept}
        return scores.softmax(-1)[0].detach().cpu().numpy()

def run(chunks, stream: Stream):
    while (x := chunks.get()) is not None:
        print(stream.accept(x))
"""
DETACHED = """
    def detached(self):
        return State(self.hidden.detach(), self.left)
"""
RECORDS = ["class State(NamedTuple):", "@dataclasses.dataclass\nclass State:"]


def told(*, declared: str = RECORDS[0], guard: str = "", inside: str = "if True:", kept: str = "state") -> list[str]:
    """What is found, by its code."""
    method = DETACHED if "detached" in kept else ""
    text = STREAM.format(declared=declared, method=method, guard=guard, inside=inside, kept=kept)
    return [finding.code for finding in check_source(text)]


@pytest.mark.parametrize("declared", RECORDS)
@pytest.mark.parametrize(
    "kept", ["state", "State(state.hidden, state.left)", "State(state.hidden, state.left.detach())"]
)
def test_a_record_goes_into_the_next_step_with_its_graph(declared: str, kept: str) -> None:
    assert told(declared=declared, kept=kept) == ["TLK201", "TLK104"]


@pytest.mark.parametrize("declared", RECORDS)
@pytest.mark.parametrize(
    "kept",
    ["State(state.hidden.detach(), state.left)", "state.detached()", "type(state)(*[one.detach() for one in state])"],
)
def test_a_record_goes_into_the_next_step_without_its_graph(declared: str, kept: str) -> None:
    assert "TLK104" not in told(declared=declared, kept=kept)


@pytest.mark.parametrize("guarded", [{"guard": "@torch.inference_mode()"}, {"inside": "with torch.no_grad():"}])
def test_a_record_that_is_made_under_a_guard_has_no_graph(guarded: dict[str, str]) -> None:
    assert told(**guarded) == []
