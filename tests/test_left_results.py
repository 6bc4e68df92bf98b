"""What a step leaves of the result that it was trained with: its backward has run, be the loss one of several parts."""

from __future__ import annotations

import pytest
from programs import Program

LOOP = """
from dataclasses import dataclass
from typing import NamedTuple

@dataclass
class Out:
    loss: torch.Tensor
    logits: torch.Tensor

class Pair(NamedTuple):
    loss: torch.Tensor
    logits: torch.Tensor

class Loop:
    def __init__(self):
        self.net, self.output = nn.Linear(3, 3), None

    def compute(self, x, y):
        logits = self.net(x)
        return {made}

    def advance(self, x, y, optimizer):
        {computed}
        optimizer.zero_grad()
        {loss}.backward()
        optimizer.step()
        self.output = {kept}

    def fit(self, loader, optimizer):
        for x, y in loader:
            self.advance(x, y, optimizer)
            print({shown})
"""

LOSS = "F.cross_entropy(logits, y)"
RESULTS = [
    (f"Out({LOSS}, logits)", "out.loss", "self.output.loss.item()"),
    (f"Pair({LOSS}, logits)", "out.loss", "self.output.loss.item()"),
    (f"{{'loss': {LOSS}, 'logits': logits}}", "out['loss']", "self.output['loss'].item()"),
    (f"dict(loss={LOSS}, logits=logits)", "out['loss']", "float(self.output['loss'])"),
    (f"({LOSS}, logits)", "out[0]", "self.output[0].item()"),
]
CALLED = "out = self.compute(x, y)"


def left(made: str, loss: str, shown: str, computed: str = CALLED, kept: str = "out") -> list[tuple[str, bool]]:
    program = Program(LOOP.format(made=made, loss=loss, shown=shown, computed=computed, kept=kept))
    return [(found.name, found.spent) for found in program.facts.leftovers]


@pytest.mark.parametrize(("made", "loss", "shown"), RESULTS)
def test_a_result_is_left_with_the_nodes_of_its_loss(made: str, loss: str, shown: str) -> None:
    assert left(made, loss, shown) == [("self.output", True)]
    assert left(made, loss, shown, computed=f"logits = self.net(x)\n        out = {made}") == [("self.output", True)]


@pytest.mark.parametrize(("made", "loss", "shown"), RESULTS)
def test_not_where_it_was_trained_with_as_an_attribute(made: str, loss: str, shown: str) -> None:
    computed = "out = self.output = self.compute(x, y)"
    assert left(made, loss.replace("out", "self.output"), shown, computed, "self.output") == []


@pytest.mark.parametrize(("made", "loss", "shown"), RESULTS)
def test_nor_where_somebody_trains_with_it_afterwards(made: str, loss: str, shown: str) -> None:
    assert left(made, loss, shown.replace(".item()", ".backward()").replace("float(", "torch.autograd.backward(")) == []


def test_nor_where_its_parts_have_no_graph() -> None:
    assert left("Out(logits.detach().sum(), logits.detach())", "self.net(x).sum()", "self.output.loss.item()") == []
