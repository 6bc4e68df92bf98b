"""Numbers of examples that stand beside a loss: what their sum divides says that they count."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.counts import is_count

EPOCH = """
def epoch(model, loader):
    total, seen = 0.0, 0
    for x in loader:
        out = model(x)
        total += out["loss"]
        seen += out["size"]
    {end}
"""


@pytest.mark.parametrize(
    ("end", "counts"),
    [
        ("return total / seen", True),
        ("return total / max(seen, 1)", True),
        ("return total / float(seen)", True),
        ("return total / (seen + 1)", True),
        ("return seen / 2", False),
        ("return total / min(seen, 1)", False),
        ("return total, seen", False),
    ],
)
def test_what_divides_a_total_is_a_count(end: str, counts: bool) -> None:
    program = Program(EPOCH.format(end=end))
    assert is_count(program.value('out["size"]')) == counts
    assert not is_count(program.value('out["loss"]'))
