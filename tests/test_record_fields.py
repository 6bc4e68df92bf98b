"""What a field of a record is, by the calls that made it: a replay memory does not give what it takes."""

from __future__ import annotations

from textwrap import dedent

import pytest
from rule_programs import diagnose

from torchlint.source import Source

REPLAY = """
    import random
    from collections import deque, namedtuple
    from dataclasses import dataclass
    from typing import NamedTuple
    import torch
    from torch import nn

    {step}

    class Replay:
        def __init__(self):
            self.rows = deque(maxlen=100_000)

        def put(self, frame, act, gain):
            self.rows.append(Step(frame, {kept}, gain))

        def draw(self, size):
            drawn = Step(*zip(*random.sample(self.rows, size)))
            acts = torch.stack({acts})
            return Step(torch.stack(drawn.frame), acts, torch.tensor(drawn.gain))

    class Player:
        def __init__(self):
            self.actor, self.critic = nn.Linear(8, 2), nn.Linear(10, 1)
            self.steps = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()])

        def act(self, frame):
            return self.actor(frame).tanh()

        def learn(self, batch):
            values = self.critic(torch.cat([batch.frame, batch.act], 1))
            loss = (values - batch.gain).pow(2).mean() - self.critic(
                torch.cat([batch.frame, self.actor(batch.frame)], 1)
            ).mean()
            self.steps.zero_grad()
            loss.backward()
            self.steps.step()

    def play(world):
        player, replay = Player(), Replay()
        frame = torch.as_tensor(world.reset()).float()
        for _ in range(1_000_000):
            act = player.act(frame)
            seen, gain = world.step(act.detach().cpu().numpy())
            replay.put(frame, act, gain)
            frame = torch.as_tensor(seen).float()
            player.learn(replay.draw(64))
"""

TUPLE = "Step = namedtuple('Step', 'frame act gain')"
TYPED = "class Step(NamedTuple):\n        frame: torch.Tensor\n        act: torch.Tensor\n        gain: float"


@pytest.mark.parametrize("step", [TUPLE, TYPED])
@pytest.mark.parametrize(
    ("kept", "acts", "told"),
    [
        ("act", "[one.detach() for one in drawn.act]", ["TLK105", "TLK201"]),
        ("act.detach()", "drawn.act", ["TLK201"]),
        ("act", "drawn.act", []),  # trained through: the actor gets its gradients from what was put away
    ],
)
def test_what_a_replay_memory_gives_is_not_all_that_it_takes(step: str, kept: str, acts: str, told: list[str]) -> None:
    text = dedent(REPLAY.format(step=step, kept=kept, acts=acts))
    assert sorted({one.code for one in diagnose(Source("play.py", text))}) == told


@pytest.mark.parametrize("step", [TUPLE, TYPED])
@pytest.mark.parametrize("read", ["drawn.gain", "[float(row.gain) for row in self.rows[-9:]]"])
def test_a_record_of_all_that_is_given_has_each_of_it_under_its_field(step: str, read: str) -> None:
    """``put(*values)`` keeps ``Step(*values)``: nobody trains on the actions, whose graphs are kept all the same."""
    text = dedent(REPLAY.format(step=step, kept="act", acts="drawn.frame"))
    text = text.replace("def put(self, frame, act, gain)", "def put(self, *values)")
    text = text.replace("Step(frame, act, gain)", "Step(*values)").replace("tensor(drawn.gain)", f"tensor({read})")
    text = text.replace("deque(maxlen=100_000)", "[]")
    assert sorted({one.code for one in diagnose(Source("play.py", text))}) == ["TLK105", "TLK201"]


CHANGED = """
    import torch
    from dataclasses import dataclass
    from torch import nn

    @dataclass
    class Outcome:
        loss: torch.Tensor
        parts: list

    def run(net, x):
        outcome = Outcome({given}, [])
        {then}
        return outcome

    def fit(loader):
        net = nn.Linear(8, 1)
        steps = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in loader:
            outcome = run(net, x)
            steps.zero_grad()
            {trained}.backward()
            steps.step()
"""


@pytest.mark.parametrize(
    ("given", "then", "trained"),
    [
        ("net(x).mean()", "pass", "outcome.loss"),
        ("None", "outcome.loss = net(x).mean()", "outcome.loss"),
        ("None", "outcome.parts.append(net(x).mean())", "sum(outcome.parts)"),
        ("None", "outcome.parts += [net(x).mean()]", "sum(outcome.parts)"),
    ],
)
def test_what_is_put_into_a_field_later_counts_as_well(given: str, then: str, trained: str) -> None:
    text = dedent(CHANGED.format(given=given, then=then, trained=trained))
    assert [one.code for one in diagnose(Source("fit.py", text))] == []


CHOOSING = """
    import torch
    from torch import nn
    from torch.distributions import Categorical
    from typing import NamedTuple

    class Choice(NamedTuple):
        names: list
        spread: torch.Tensor

    class Chooser(nn.Module):
        def __init__(self):
            super().__init__()
            self.start = nn.Parameter(torch.zeros(1, 8))
            self.cell, self.head = nn.GRUCell(8, 8), nn.Linear(8, 4)

        def _pick(self, scores):
            odds = Categorical(logits=scores / 5)
            return odds.sample(), odds.{asked}

        def choose(self):
            state, names, spreads = self.start, [], []
            for _ in range(5):
                state = self.cell(self.start, state)
                name, spread = self._pick(self.head(state))
                names.append(name.item())
                spreads.append(spread)
            return Choice(names, torch.cat(spreads).sum())

    class Search:
        def __init__(self, judge):
            self.chooser, self.judge, self.usual = Chooser(), judge, None
            self.steps = torch.optim.Adam(self.chooser.parameters())

        def worth(self, choice):
            return self.judge(choice.names) + 0.1 * choice.spread

        def run(self):
            for _ in range(1000):
                choice = self.chooser.choose()
                worth = self.worth(choice)
                if self.usual is None:
                    self.usual = worth.detach()
                else:
                    self.usual = 0.9 * self.usual + 0.1 * worth
                loss = -(worth - self.usual).detach() * choice.spread + self.chooser.start.norm()
                self.steps.zero_grad()
                loss.backward()
                self.steps.step()
"""


@pytest.mark.parametrize(("asked", "told"), [("entropy()", True), ("sample().float()", False)])
def test_what_is_asked_of_a_distribution_of_what_callers_pass_has_the_graph_of_that(asked: str, told: bool) -> None:
    found = diagnose(Source("search.py", dedent(CHOOSING.format(asked=asked))))
    assert ("TLK103" in [one.code for one in found]) is told
