"""Containers that an object fills through a step, puts into another one that stays, and then begins anew."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

REPORTER = """
class Reporter:
    def __init__(self):
        self.row, self.rows, self.steps = {empty}, [], 0

    def note(self, **values):
        {notes}

    def close(self, step):
        {closes}
        self.row = {empty}

reporter = Reporter()
"""

STEP = """
for step, (x, y) in enumerate(loader):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    reporter.note(loss=loss)
    reporter.close(step)
print(reporter)
"""


def kept(notes: str, closes: str, empty: str = "{}") -> list[str]:
    """What is told to be kept of the losses, by whatever rule on graphs."""
    program = Program(REPORTER.format(notes=notes, closes=closes, empty=empty) + TRAINING + STEP)
    facts = program.facts
    leftovers = [left.name for left in facts.leftovers]
    return [*program.leaks(), *(record.name for record in facts.records if not record.bounded), *leftovers]


@pytest.mark.parametrize(
    "notes",
    [
        "self.row.update(values)",
        "self.row.update({f'train/{k}': v for k, v in values.items()})",
        "for k, v in values.items():\n            self.row[k] = v",
        "self.row['loss'] = values['loss']",
    ],
)
@pytest.mark.parametrize(
    "closes", ["self.rows.append((step, self.row))", "self.rows.append({'step': step, 'row': self.row})"]
)
def test_what_goes_into_a_list_before_it_begins_anew_stays(notes: str, closes: str) -> None:
    assert kept(notes, closes) == ["self.row"]


def test_a_list_is_handed_on_as_well() -> None:
    assert kept("self.row.append(values['loss'])", "self.rows.append((step, self.row))", "[]") == ["self.row"]


def test_a_list_that_is_handed_on_by_itself_is_told_where_it_goes() -> None:
    assert kept("self.row['loss'] = values['loss']", "self.rows.append(self.row)") == ["self.rows"]


@pytest.mark.parametrize(
    ("notes", "closes"),
    [
        ("self.row.update(values)", "self.rows.append((step, {k: float(v) for k, v in self.row.items()}))"),
        ("self.row.update({k: float(v) for k, v in values.items()})", "self.rows.append((step, self.row))"),
        ("self.row.update(values)", "self.rows.append((step, self.row))\n        self.rows.clear()"),
        ("self.row.update(values)", "self.rows = [(step, self.row)]"),
        ("self.row.update(values)", "self.rows.append((step, self.row))\n        self.row.clear()"),
        ("self.row.update(values)", "self.rows.append((step, self.row))\n        self.rows.pop(0)"),
    ],
)
def test_numbers_and_what_is_emptied_do_not(notes: str, closes: str) -> None:
    source = REPORTER.format(notes=notes, closes=closes, empty="{}") + TRAINING + STEP
    facts = Program(source).facts
    assert Program(source).leaks() == []
    assert [record.name for record in facts.records if not record.bounded] == []
