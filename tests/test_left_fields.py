"""Memories of records whose methods give on some of the fields with their graphs, and others without."""

from __future__ import annotations

import pytest
from programs import Program
from torchlint.rules.tlk102_graph_stored import GraphStored
from torchlint.rules.tlk105_graph_in_record import GraphInRecord

PROGRAM = """
import random

class Memory:
    def __init__(self):
        self.rows = []

    def keep(self, seen, choice, worth):
        {kept}

    def draw(self, number):
        {drawn}

    def __len__(self):
        return len(self.rows)

{record}

def train(loader, novelty, values, curious, learning):
    novelty, values = nn.Linear(3, 3), nn.Linear(3, 3)
    memory = Memory()
    for x, y in loader:
        surprise = novelty(x).pow(2).mean()
        surprise.backward()
        memory.keep(x, y, surprise)
        seen, choices, worths = memory.draw(4)
        error = (values(seen) - worths).pow(2).mean()
        error.backward()
        {read}
"""

TUPLES = "self.rows.append((seen, choice, worth))"

DRAWN = {
    "seen, choices, worths = zip(*random.sample(self.rows, number)); "
    "return torch.cat(seen), torch.cat(choices), torch.stack(worths).detach()": True,
    "rows = random.sample(self.rows, number); return torch.cat([row[0] for row in rows]),"
    " torch.cat([row[1] for row in rows]), torch.tensor([row[2].item() for row in rows])": True,
    "seen, choices, worths = zip(*random.sample(self.rows, number)); "
    "return torch.cat(seen), torch.cat(choices), torch.stack(worths)": False,
    "return random.choice(self.rows)": False,
    "rows = random.sample(self.rows, number); return show(rows), 0, 0": False,
}
"""What a memory samples, and whether it leaves the graph of the worths behind."""


def told(kept: str = TUPLES, drawn: str = next(iter(DRAWN)), record: str = "", read: str = "pass") -> bool:
    """Whether a memory is told to keep what nobody trains on."""
    facts = Program(PROGRAM.format(kept=kept, drawn=drawn, record=record, read=read)).facts
    found = [finding for rule in (GraphStored(), GraphInRecord()) for finding in rule.check(facts)]
    return any("worth" in str(finding.message) for finding in found)


@pytest.mark.parametrize("drawn", DRAWN)
def test_a_field_that_is_sampled_without_its_graph_is_left(drawn: str) -> None:
    assert told(drawn=drawn) == DRAWN[drawn]


def test_a_record_by_names() -> None:
    fields = "    seen: object\n    choice: object\n    worth: object"
    record = f"from dataclasses import dataclass\n@dataclass\nclass Row:\n{fields}"
    drawn = "rows = random.sample(self.rows, number); return torch.cat([r.seen for r in rows]), 0, {}"
    kept = "self.rows.append(Row(seen, choice, worth))"
    assert told(kept, drawn.format("torch.stack([r.worth for r in rows]).detach()"), record)
    assert not told(kept, drawn.format("torch.stack([r.worth for r in rows])"), record)


def test_who_else_reads_the_rows_may_train_on_all_of_them() -> None:
    assert not told(read="train_on(memory.rows)")


def test_what_is_no_record_is_trained_on_as_a_whole() -> None:
    assert not told(kept="self.rows.append([seen, choice, worth])")
