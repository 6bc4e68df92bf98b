"""Rows of a batch that are kept because something of them says so hold all of it; where all are kept, none does."""

from __future__ import annotations

import pytest
from programs import HEAD
from rule_programs import diagnose

from torchlint.source import Source

KEEPING = """
import random
class Bank:
    def __init__(self, size):
        self.size, self.seen, self.rows, self.at = size, 0, [], 0
    def put(self, batch, errors):
        for row, error in zip(batch.cpu(), errors.tolist()):
            {keeping}
def fill(loader):
    bank = Bank(64)
    for x, y in loader:
        bank.put(x, y)
    return bank
fill(DataLoader(data, 32))
"""

HARD = """
            if error > 2:
                self.rows.append(row)
"""

GUARDED = """
            if error < 2:
                continue
            self.rows.append(row)
"""

RESERVOIR = """
            self.seen += 1
            if len(self.rows) < self.size:
                self.rows.append(row)
                continue
            place = random.randrange(self.seen)
            if place < self.size:
                self.rows[place] = row
"""

RING = """
            if len(self.rows) < self.size:
                self.rows.append(row)
            else:
                self.rows[self.at] = row
                self.at = (self.at + 1) % self.size
"""

ALL = """
            self.rows.append(row)
"""

FOR_ALL = """
            if self.size:
                self.rows.append(row)
"""


@pytest.mark.parametrize(
    ("keeping", "told"),
    [
        pytest.param(HARD, True, id="those that are hard"),
        pytest.param(GUARDED, True, id="all but those that are easy"),
        pytest.param(RESERVOIR, True, id="those that are drawn"),
        pytest.param(HARD.replace("(row)", "(row.clone())"), False, id="copied"),
        pytest.param(RING, False, id="one after the other in a ring"),
        pytest.param(ALL, False, id="all"),
        pytest.param(FOR_ALL, False, id="all or none"),
    ],
)
def test_who_keeps_some_rows_keeps_the_others_as_well(keeping: str, told: bool) -> None:
    source = Source("bank.py", HEAD + KEEPING.format(keeping=keeping.strip()))
    found = [one for one in diagnose(source) if one.code == "TLK402"]
    assert bool(found) is told
    assert all(one.level.name == "NOTE" for one in found)
