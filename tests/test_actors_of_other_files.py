"""An actor that carries its recurrent state by itself, and gives nothing else of the network to who calls it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NETWORK = """
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRUCell(4, 8), nn.Linear(8, 2)

        def step(self, x, state):
            state = self.cell(x, state)
            return self.head(state), state
"""

ACTOR = """
    import torch

    class Actor:
        def __init__(self, network, world):
            self.network, self.world = network, world
            self.reset()

        def reset(self):
            self.seen, self.state = torch.zeros(4), None

        def advance(self):
            values, {state} = self.network.step(self.seen[None], self.state)
            {more}
            action = values.argmax(-1).item()
            self.seen = torch.as_tensor(self.world.step(action))
            return {given}
"""

PLAY = """
    import torch
    from actor import Actor
    from network import Network
    from world import World

    def play(steps):
        learner = Network()
        optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
        actor, rows = Actor(Network(), World()), []
        for step in range(steps):
            {around}
                rows.append(actor.advance())
            {each}
            loss = learner.step(torch.stack([row[0] for row in rows]), None)[0].pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


PLAIN = {"state": "self.state", "more": "pass", "given": "(self.seen, action)", "around": "if True:", "each": "pass"}
LATER = {"state": "state", "more": "self.state = state"}


@pytest.mark.parametrize(
    ("told", "is_carried"),
    [
        ({}, True),
        (LATER, True),
        ({**LATER, "more": "self.state = state.detach()"}, False),
        ({"given": "(self.seen, values)"}, False),  # a policy gradient
        ({"more": "self.world.note(values)"}, False),
        ({"around": "with torch.no_grad():"}, False),
        ({"each": "if step % 9 == 0: actor.reset()"}, False),
        ({"each": "actor.state = actor.state.detach()"}, False),
    ],
    ids=["kept", "kept later", "cut", "given on", "handed on", "guarded", "reset", "cut outside"],
)
def test_a_state_that_nobody_else_gets_is_carried_with_its_graph(
    tmp_path: Path, told: dict[str, str], is_carried: bool
) -> None:
    words = PLAIN | told
    files = {"actor.py": ACTOR.format(**words), "network.py": NETWORK, "play.py": PLAY.format(**words)}
    assert ("actor.py: TLK104 error" in Project(tmp_path, files).found()) is is_carried
