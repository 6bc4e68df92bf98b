"""Objects that a function is handed, and tells its loss under a name: who trains on that is not seen."""

from __future__ import annotations

import pytest
from programs import Program

HEAD_OF_A_NETWORK = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(x)

    def contribute(self, x, y, {given}):
        {use}
"""

LOSS = "F.mse_loss(self(x), y)"


@pytest.mark.parametrize(
    ("given", "use", "is_dropped"),
    [
        ("terms", f"terms.add('depth', {LOSS})", False),
        ("terms", f"terms.add('depth', value={LOSS})", False),
        ("terms", f"terms.append('depth', {LOSS})", False),
        ("terms", f"terms.put('depth', {LOSS})", False),
        ("board", f"board.report('depth', {LOSS})", True),
        ("total", f"total.add(1, {LOSS}.detach())", True),
        ("seen=set()", f"print(len(seen), {LOSS})", True),
    ],
)
def test_what_an_object_that_is_handed_in_is_told_under_a_name_may_be_trained_on(
    given: str, use: str, is_dropped: bool
) -> None:
    program = Program(HEAD_OF_A_NETWORK.format(given=given, use=use))
    assert bool(program.facts.unguarded_inferences) is is_dropped
