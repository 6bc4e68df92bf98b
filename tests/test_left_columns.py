"""Rows of a list of one function that are trained on by some of their parts, and read without a graph by others."""

from __future__ import annotations

import pytest
from programs import Program
from torchlint.rules.tlk102_graph_stored import GraphStored

PROGRAM = """
class Player:
    def __init__(self, world):
        self.world, self.terms = world, []
        self.judge, self.actor = nn.Linear(3, 1), nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD([*self.actor.parameters(), *self.judge.parameters()], lr=0.1)

    def play(self, x):
        rows, back = {made}, 0.0
        for _ in range(self.steps):
            worth = self.judge(x)
            rows.append({row})
            x = self.world.step(x)
        {read}
        for _ in range(self.epochs):
            self.optimizer.zero_grad()
            (self.actor(torch.cat(seen)) * back).sum().backward()
            self.optimizer.step()
"""

READ = {
    "seen = [row[0] for row in rows]; back = sum(row[1].data for row in rows)": True,
    "seen = [row[0] for row in rows]; back = rows[-1][1].detach()": True,
    "seen, worths, at = zip(*rows); back = torch.cat(worths).detach()": True,
    "seen = [seen for seen, worth, at in reversed(rows)]; back = 1.0": True,
    "seen = [row[0] for row in rows]; back = sum(row[1] for row in rows)": False,
    "seen, worths, at = zip(*rows); back = torch.cat(worths)": False,
    "seen = [row[at] for row in rows for at in (0, 1)]": False,
    "seen = [row[0] for row in rows]; back = look(rows)": False,
    "seen = [row[0] for row in rows]; rows[0][1] = 0.0; back = rows[0][1].data": False,
    "seen = [row[0] for row in rows]; train_on(rows[0][1])": False,
    "seen = [row[0] for row in rows]; self.rows = rows": False,
}
"""What is done with the rows, and whether the graphs of the worths are left in them."""


def costs(made: str = "[]", row: str = "(x, worth, 1)", read: str = next(iter(READ))) -> list[str]:
    """What it is said to cost that rows keep what the judge gives."""
    facts = Program(PROGRAM.format(made=made, row=row, read=read)).facts
    return ["".join(map(str, finding.message)) for finding in GraphStored().check(facts)]


@pytest.mark.parametrize("read", READ)
def test_a_column_that_is_read_without_its_graph_is_left(read: str) -> None:
    assert bool(costs(read=read)) == READ[read]


def test_no_backward_runs_over_what_is_left_by_way_of_the_rows() -> None:
    assert "no backward frees it" in costs()[0]


def test_what_a_backward_needs_by_another_way_stays_alive_for_it() -> None:
    assert not costs(
        row="(x, worth, self.terms.append(worth))", read="seen = [row[0] for row in rows]; back = sum(self.terms)"
    )
    assert costs(row="(x, worth, self.terms.append(1))", read="seen = [row[0] for row in rows]; back = sum(self.terms)")


def test_a_row_may_be_a_list() -> None:
    assert costs(row="[x, worth, 1]")
    assert not costs(row="[x] + [worth]")


def test_a_list_that_holds_other_things_tells_nothing() -> None:
    assert not costs(made="[(x, self.judge(x), 0)]")
