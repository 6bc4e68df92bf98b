"""What the patterns of a ``match`` bind is a part of what is matched, with its graph."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

PROGRAM = """
import torch
from torch import nn
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows = []

class Step:
    __match_args__ = ("loss", "size")
    def __init__(self, loss, size):
        self.loss, self.size = loss, size

def learn(loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for x in loader:
    loss = net(x).pow(2).mean()
    match {subject}:
        case {case}: {body}
        case _: pass
"""

FORMS = [
    ("loss", "part"),
    ("loss", "object() as part"),
    ("('plain', loss)", "('plain', part)"),
    ("['plain', loss]", "['plain', part]"),
    ("('pair', (loss, 1))", "'pair', (part, _)"),
    ("(1, 2, loss)", "*_, part"),
    ("('plain', loss)", "('plain', part) | ('other', part)"),
    ("{'kind': 1, 'loss': loss}", "{'loss': part}"),
    ("Step(loss, 1)", "Step(loss=part)"),
]

PLACE_OF_A_CLASS = ("Step(loss, 1)", "Step(part, _)")
"""Which attribute that is the class says, which is not asked."""


def found(subject: str, case: str, body: str) -> list[tuple[int, str]]:
    """The lines and codes of what is told of a program that matches."""
    source = PROGRAM.format(subject=subject, case=case, body=body)
    return [(one.line, one.code) for one in diagnose(Source("train.py", source))]


@pytest.mark.parametrize(("subject", "case"), [*FORMS, PLACE_OF_A_CLASS])
def test_what_is_bound_is_trained_on(subject: str, case: str) -> None:
    assert found(subject, case, "learn(part)") == []


@pytest.mark.parametrize(("subject", "case"), FORMS)
def test_what_is_bound_is_kept_with_its_graph(subject: str, case: str) -> None:
    line = PROGRAM[: PROGRAM.index("case {case}")].count("\n") + 1
    assert (line, "TLK102") in found(subject, case, "learn(loss); rows.append(part)")


def test_a_guard_is_part_of_the_program() -> None:
    assert found("loss", "part if learn(part) is None", "rows.append(part.item())") == []
