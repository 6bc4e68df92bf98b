"""Objects of which a function, or a base class, of another file trains on what they have in their attributes."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

EPISODE = """
    import torch

    class Episode:
        def __init__(self):
            self.scores, self.rewards, self.log = [], [], []

        def clear(self):
            self.scores, self.rewards = [], []

    def finish({given}, optimizer):
        episode = {episode}
        loss = -(torch.stack({scores}) * torch.tensor(episode.rewards)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        episode.clear()
"""

MAIN = """
    import torch
    from torch import nn
    from torch.distributions import Categorical
    from episode import Episode, finish

    class Run:
        def __init__(self):
            self.episode = Episode()

    def main(world):
        net, run = nn.Linear(8, 3), Run()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(len(world)):
            done = False
            while not done:
                choice = Categorical(logits=net(world.look()))
                action = choice.sample()
                run.episode.scores.append(choice.log_prob(action))
                {more}
                reward, done = world.step(action.item())
                run.episode.rewards.append(reward)
            finish({handed}, optimizer)
"""

TOLD = ["main.py: TLK102 warning"]


@pytest.mark.parametrize(
    ("given", "handed", "episode"),
    [("episode", "run.episode", "episode"), ("run", "run", "run.episode")],
)
@pytest.mark.parametrize(
    ("scores", "more", "found"),
    [
        ("{episode}.scores", "pass", []),
        ("[score for score in {episode}.scores]", "pass", []),
        ("{episode}.scores", "run.episode.log.append(choice.log_prob(action))", TOLD),
        ("{episode}.scores", "run.episode.log.append(choice.log_prob(action).item())", []),
    ],
)
def test_a_function_trains_on_what_an_object_has(  # noqa: PLR0917
    tmp_path: Path, given: str, handed: str, episode: str, scores: str, more: str, found: list[str]
) -> None:
    text = EPISODE.format(given=given, episode=episode, scores=scores.format(episode=episode))
    files = {"episode.py": text, "main.py": MAIN.format(handed=handed, more=more)}
    assert Project(tmp_path, files).found() == found


LEARNING = """
    import torch

    class Learning:
        def learn(self):
            loss = torch.stack(self.scores).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scores = []
"""

PLAYING = """
    import torch
    from torch import nn
    from learning import Learning

    class Playing(Learning):
        def __init__(self):
            self.net = nn.Linear(8, 1)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            self.scores, self.seen = [], []

        def play(self, x):
            score = self.net(x).mean()
            self.scores.append(score)
            self.seen.append({seen})
            return score.item()

    def main(games):
        playing = Playing()
        for game in games:
            for x in game:
                playing.play(x)
            {each}
"""


@pytest.mark.parametrize("each", ["playing.learn()", "playing.train()"])
@pytest.mark.parametrize(("seen", "is_told"), [("score.item()", False), ("score", True)])
def test_a_base_trains_on_what_the_class_below_has(tmp_path: Path, each: str, seen: str, is_told: bool) -> None:
    learning = LEARNING.replace("learn(", each[8:-1])
    files = {"learning.py": learning, "playing.py": PLAYING.format(seen=seen, each=each)}
    found = [one for one in Project(tmp_path, files).found() if "TLK102" in one]
    assert found == (["playing.py: TLK102 warning"] if is_told else [])
