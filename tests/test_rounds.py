"""What a method collects until another one empties it, and what is left over beside it."""

from __future__ import annotations

import pytest
from programs import Program

AGENT = """
class Agent:
    def __init__(self, net: nn.Module):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())
        self.log_probs, self.entropies, self.rewards = [], [], []

    def act(self, obs):
        dist = torch.distributions.Categorical(logits=self.net(obs))
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        {beside}
        return action.item()

    def update(self, returns):
        loss = -(torch.stack(self.log_probs) * returns).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        {emptied}
"""

BESIDE = "self.entropies.append(dist.entropy())"
EMPTIED = "self.log_probs.clear()"


def left_over(beside: str, emptied: str, after: str = "") -> list[str]:
    return [found.name for found in Program(AGENT.format(beside=beside, emptied=emptied) + after).facts.insertions]


@pytest.mark.parametrize("emptied", [EMPTIED, "self.log_probs = []", "del self.log_probs[:]"])
def test_a_list_that_nothing_empties_beside_one_that_is_emptied_grows(emptied: str) -> None:
    assert left_over(BESIDE, emptied) == ["self.entropies"]


@pytest.mark.parametrize(
    ("beside", "emptied"),
    [
        ("self.entropies.append(dist.entropy().detach())", EMPTIED),
        (BESIDE, f"{EMPTIED}\n        self.entropies.clear()"),
        (BESIDE, f"{EMPTIED}\n        self.entropies = []"),
        (BESIDE, "pass"),
        ("self.last = dist.entropy()", EMPTIED),
        ("self.entropies[0] = dist.entropy()", EMPTIED),
    ],
)
def test_what_is_emptied_as_well_or_never_is_left_alone(beside: str, emptied: str) -> None:
    assert left_over(beside, emptied) == []


def test_whoever_is_seen_to_call_it_says_how_often() -> None:
    once = "\nagent = Agent(nn.Linear(3, 2))\nagent.act(torch.ones(3))\n"
    assert left_over(BESIDE, EMPTIED, once) == []


TRACED = """
class Trace:
    def __init__(self):
        self.log_probs, self.entropies = [], []

    def record(self, dist, action):
        self.log_probs.append(dist.log_prob(action))
        self.entropies.append({kept})

    def flush(self):
        self.log_probs.clear()

def main(net: nn.Module, episodes):
    optimizer, trace = torch.optim.Adam(net.parameters()), Trace()
    for episode in episodes:
        for obs in episode:
            dist = torch.distributions.Categorical(logits=net(obs))
            trace.record(dist, dist.sample())
        loss = -torch.stack(trace.log_probs).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trace.flush()
"""


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("dist.entropy()", ["self.entropies"]),
        ("dist.rsample()", ["self.entropies"]),
        ("dist.entropy().item()", []),
        ("dist.sample()", []),
        ("action", []),
    ],
)
def test_a_distribution_that_is_handed_over_has_a_graph_in_all_that_it_gives(kept: str, found: list[str]) -> None:
    assert [one.name for one in Program(TRACED.format(kept=kept)).facts.insertions] == found


COLLECTED = """
def main(net: nn.Module, episodes):
    optimizer, kept = torch.optim.Adam(net.parameters()), []
    for episode in episodes:
        loss = 0
        for obs in episode:
            dist = torch.distributions.{made}
            loss = loss - dist.log_prob(dist.sample()).sum()
            kept.append({kept})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(sum(float(one) for one in kept))
"""


@pytest.mark.parametrize(
    ("made", "kept", "found"),
    [
        ("Categorical(logits=net(obs))", "dist.logits.max()", ["kept"]),
        ("Categorical(logits=net(obs))", "dist.probs", ["kept"]),
        ("Normal(net(obs), 1.0)", "dist.mean", ["kept"]),
        ("Normal(net(obs), 1.0)", "dist.mean.detach()", []),
        ("Normal(net(obs), 1.0)", "dist.batch_shape", []),
        ("Normal(obs, 1.0)", "dist.mean", []),
    ],
)
def test_what_a_distribution_is_made_of_has_its_graph(made: str, kept: str, found: list[str]) -> None:
    assert [one.name for one in Program(COLLECTED.format(made=made, kept=kept)).facts.insertions] == found
