"""Memories of records that a third file makes and passes, and that sample some of the fields with their graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

POLICY = """
    from torch import nn
    from torch.distributions import Categorical

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4))

        def forward(self, seen):
            return Categorical(logits=self.layers(seen))

        def choose(self, seen):
            choice = self(seen)
            action = choice.sample()
            return action, choice.log_prob(action)
"""

REPLAY = """
    import random
    from collections import namedtuple
    from dataclasses import dataclass
    from typing import NamedTuple

    import torch

    Step = namedtuple("Step", "seen action odds")

    class Row(NamedTuple):
        seen: object
        action: object
        odds: object

    @dataclass
    class Entry:
        seen: object
        action: object
        odds: object

    class Replay:
        def __init__(self, size=1000):
            self.rows, self.at, self.size = [], 0, size

        def push(self, {parameters}):
            one = {record}
            if len(self.rows) < self.size:
                self.rows.append(one)
            else:
                self.rows[self.at] = one
            self.at = (self.at + 1) % self.size

        def sample(self, number):
            rows = random.sample(self.rows, number)
            {drawn}
            return seen, action, old

        def __len__(self):
            return len(self.rows)
"""

LEARNER = """
    import torch

    class Learner:
        def __init__(self, policy, memory):
            self.policy, self.memory = policy, memory
            self.optimizer = torch.optim.Adam(policy.parameters())

        def observe(self, seen):
            action, odds = self.policy.choose(seen)
            self.memory.push(seen, action, {given})
            return int(action)

        def learn(self):
            seen, action, old = self.memory.sample(32)
            odds = self.policy(seen).log_prob(action)
            loss = -((odds - old).exp() * odds.detach()).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
{more}
"""

RUN = """
    import torch
    from learner import Learner
    from policy import Policy
    from replay import Replay

    def make(size):
        memory = Replay(size)
        return Learner(Policy(), memory)

    def main(stream, steps):
        learner = make(5000)
        for step in range(steps):
            {each}
            if step % 4 == 0:
                learner.learn()
"""

BY_NAME = """
seen, action = torch.stack([one.seen for one in rows]), torch.stack([one.action for one in rows])
with torch.no_grad():
    old = torch.stack([one.odds for one in rows])
"""
WITH_GRAPH = """
seen, action = torch.stack([one.seen for one in rows]), torch.stack([one.action for one in rows])
old = torch.stack([one.odds for one in rows])
"""
BY_NUMBER = """
seen = torch.stack([one[0] for one in rows])
action = torch.tensor([int(one[1]) for one in rows])
old = torch.tensor([one[2].item() for one in rows])
"""
UNPACKED = """
seen = torch.stack([seen for seen, _, _ in rows])
action = torch.stack([action for _, action, _ in rows])
old = torch.stack([odds for _, _, odds in rows]).detach()
"""
COLUMNS = """
seen, action, odds = zip(*rows)
seen, action, old = torch.stack(seen), torch.stack(action), torch.stack(odds).detach()
"""
EACH_COLUMN = """
seen, action, odds = (torch.stack(column) for column in zip(*rows))
old = odds.detach()
"""
LISTED = """
columns = list(zip(*rows))
seen, action, odds = [torch.stack(column) for column in columns]
old = odds.detach()
"""
MAPPED = """
seen, action, odds = map(torch.stack, zip(*rows))
old = odds.detach()
"""
IN_COLUMNS = """
rows = Step(*zip(*rows))
seen, action, old = torch.stack(rows.seen), torch.stack(rows.action), torch.stack(rows.odds).detach()
"""
BY_KEY = """
seen, action = torch.stack([one["seen"] for one in rows]), torch.stack([one["action"] for one in rows])
old = torch.stack([one["odds"].detach() for one in rows])
"""
PICKED = """
rows = [self.rows[i] for i in torch.randint(len(self.rows), (number,)).tolist()]
seen, action = torch.stack([one.seen for one in rows]), torch.stack([one.action for one in rows])
old = torch.stack([one.odds for one in rows]).detach()
"""


@pytest.mark.parametrize(
    ("parameters", "record", "drawn"),
    [
        ("*fields", "Step(*fields)", BY_NAME),
        ("*fields", "Row(*fields)", BY_NAME),
        ("*fields", "fields", BY_NUMBER),
        ("*fields", "fields", UNPACKED),
        ("*fields", "Step(*fields)", IN_COLUMNS),
        ("*fields", "Step(*fields)", PICKED),
        ("seen, action, odds", "Step(seen, action, odds)", BY_NUMBER),
        ("seen, action, odds", "Row(seen, action, odds=odds)", UNPACKED),
        ("seen, action, odds", "Entry(seen, action, odds)", BY_NAME),
        ("seen, action, odds", "(seen, action, odds)", BY_NUMBER),
        ("seen, action, odds", "(seen, action, odds)", UNPACKED),
        ("seen, action, odds", "(seen, action, odds)", COLUMNS),
        ("seen, action, odds", "(seen, action, odds)", EACH_COLUMN),
        ("seen, action, odds", "(seen, action, odds)", LISTED),
        ("seen, action, odds", "Step(seen, action, odds)", MAPPED),
        ("seen, action, odds", '{"seen": seen, "action": action, "odds": odds}', BY_KEY),
    ],
)
def test_a_field_whose_graph_no_sample_has_is_told(tmp_path: Path, parameters: str, record: str, drawn: str) -> None:
    assert _found(tmp_path, parameters, record, drawn) == ["learner.py: TLK105 error"]


@pytest.mark.parametrize(
    ("parameters", "record", "drawn", "given"),
    [
        ("*fields", "Step(*fields)", WITH_GRAPH, "odds"),
        ("*fields", "Step(*fields)", BY_NAME, "odds.detach()"),
        ("*fields", "Step(*fields)", BY_NAME, "odds.item()"),
        ("*fields", "fields", BY_NUMBER.replace(".item()", ""), "odds.detach()"),
        ("seen, action, odds", "(seen, action, odds)", COLUMNS.replace(".detach()", ""), "odds"),
        ("seen, action, odds", "(seen, action, odds)", EACH_COLUMN.replace(".detach()", ""), "odds"),
        ("seen, action, odds", "(seen, action, odds)", EACH_COLUMN.replace("(*rows)", "(*rows) if column"), "odds"),
        ("seen, action, odds", "(seen, action, odds)", LISTED.replace(".detach()", ""), "odds"),
        ("seen, action, odds", "(seen, action, odds)", LISTED + "self.last = columns\n", "odds"),
        ("seen, action, odds", "(seen, action, odds)", LISTED + "seen = [seen for column in columns]\n", "odds"),
        ("seen, action, odds", "(seen, action, odds)", LISTED.replace("torch.stack(", "keep("), "odds"),
        ("seen, action, odds", "(seen, action, odds)", MAPPED.replace(".detach()", ""), "odds"),
        ("seen, action, odds", "(seen, action, odds)", MAPPED.replace("torch.stack", "keep"), "odds"),
        ("seen, action, odds", "(seen, action, odds.detach())", UNPACKED, "odds"),
        ("seen, action, odds", "(odds, action, seen)", COLUMNS, "odds"),  # which is then what is seen
        ("seen, action, odds", "(seen, action, odds)", COLUMNS + "self.last = odds\n", "odds"),
        ("seen, action, odds", "(seen, action, odds)", COLUMNS + "weigh(odds, seen).backward()\n", "odds"),
        ("seen, action, odds", "(seen, action, odds)", COLUMNS + "self.learn_from(rows)\n", "odds"),
        ("seen, action, odds", "(seen, action, odds)", COLUMNS + "seen = [seen, rows]\n", "odds"),
        ("*fields", "Step(*fields)", IN_COLUMNS + "seen = rows\n", "odds"),
        ("*fields", "Step(*fields)", BY_NAME + "action = [one._asdict() for one in rows]\n", "odds"),
    ],
)
def test_a_field_that_may_be_trained_on_or_has_no_graph_is_not(
    tmp_path: Path, parameters: str, record: str, drawn: str, given: str
) -> None:
    assert _found(tmp_path, parameters, record, drawn, given=given) == []


CLEARING = """
        def begin(self):
            self.memory = fresh()
"""


@pytest.mark.parametrize(
    ("each", "more", "leaks"),
    [
        ("learner.observe(next(stream))", "", True),
        ("stream.send(learner.observe(next(stream)))", "", True),
        ("learner = Learner(Policy(), Replay(8)); learner.observe(next(stream))", "", False),
        ("pass", "", False),
        ("learner.begin(); learner.observe(next(stream))", CLEARING, False),
    ],
)
def test_a_method_that_only_another_file_calls_in_a_loop(tmp_path: Path, each: str, more: str, leaks: bool) -> None:
    found = _found(tmp_path, "*fields", "Step(*fields)", BY_NAME, each=each, more=more)
    assert found == (["learner.py: TLK105 error"] if leaks else [])


def _found(
    folder: Path,
    parameters: str,
    record: str,
    drawn: str,
    *,
    given: str = "odds",
    each: str = "learner.observe(next(stream))",
    more: str = "",
) -> list[str]:
    replay = REPLAY.format(parameters=parameters, record=record, drawn=drawn.strip().replace("\n", "\n" + " " * 12))
    files = {
        "policy.py": POLICY,
        "replay.py": replay,
        "learner.py": LEARNER.format(given=given, more=more),
        "run.py": RUN.format(each=each),
    }
    return [one for one in Project(folder, files).found() if "TLK105" in one]
