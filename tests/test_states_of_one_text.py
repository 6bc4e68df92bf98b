"""States that go on through one long text: its parts are steps where each of them trains, else one sequence."""

from __future__ import annotations

import pytest
from programs import HEAD
from rule_programs import diagnose

from torchlint.source import Source

READING = """
class Pages:
    def __init__(self, rows):
        self.rows = rows
    def __iter__(self):
        for at in range(0, len(self.rows), 8):
            yield self.rows[at : at + 8]
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Linear(6, 3)
    def forward(self, x, memory):
        h = self.look(torch.cat([x, memory.detach()], dim=1))
        return h.sum(), {new}
def read(reader, pages, optimizer):
    memory, total = torch.zeros(8, 3), 0
    for x in pages:
        loss, memory = reader(x, memory)
{step}
reader = Reader()
optimizer = torch.optim.SGD(reader.parameters(), lr=0.1)
pages = Pages(torch.ones(80, 3))
for epoch in range(9):
    read(reader, pages, optimizer)
"""

EACH = """
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

ONCE = """
        total = total + loss
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("new", "step", "told"),
    [
        ("torch.tanh(memory + h)", EACH, ["TLK104"]),
        ("torch.tanh(memory + h).detach()", EACH, []),
        ("torch.tanh(memory + h)", ONCE, []),
    ],
)
def test_each_part_is_a_step_where_it_trains(new: str, step: str, told: list[str]) -> None:
    source = Source("read.py", HEAD + READING.format(new=new, step=step.strip("\n")))
    assert [one.code for one in diagnose(source) if one.code == "TLK104"] == told
