"""Forwards whose gradients a flag of the program switches: who sets it has asked for a graph."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

TUNER = """
import torch

class Tuner:
    def __init__(self, network: torch.nn.Module, optimizer, goal="loss"):
        self.network, self.optimizer, self.goal = network, optimizer, goal

    def fit(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.network(batch)[self.goal].backward()
            self.optimizer.step()

    def compare(self, batches):
        with {guard}:
            values = []
            for batch in batches:
                answer = self.network(batch)
                {after}
                values.append(answer[self.goal])
            print(torch.stack(values).mean())
"""


@pytest.mark.parametrize(
    ("guard", "after", "expected"),
    [
        ("torch.set_grad_enabled(self.network.projects)", "pass", set()),
        ("torch.enable_grad()", "pass", {"TLK102"}),
        ("torch.set_grad_enabled(self.network.projects)", "answer[self.goal].backward()", {"TLK102"}),
    ],
)
def test_a_graph_is_kept_for_nothing_where_it_is_trained_or_nobody_asked(
    guard: str, after: str, expected: set[str]
) -> None:
    found = diagnose(Source("tuner.py", TUNER.format(guard=guard, after=after)))
    assert {one.code for one in found} - {"TLK201"} == expected
