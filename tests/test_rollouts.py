"""What one method collects, be it in whatever, and another one trains on: nothing is thrown away, nothing grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project
from rule_programs import diagnose

from torchlint.source import Source

PROGRAM = """import queue, itertools
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

Step = namedtuple("Step", "hope gain")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)

    def forward(self, x):
        h = self.body(x).relu()
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)

@dataclass
class Walk:
    hope: list = field(default_factory=list)
    gain: list = field(default_factory=list)
    more: dict = field(default_factory=lambda: defaultdict(list))

class Agent:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.kept = <kept>

    def act(self, seen):
        choice, value = self.net(torch.as_tensor(seen))
        move = choice.sample()
        return move.item(), choice.log_prob(move), value

    def learn(self, walk):
        <read>
        loss = -(h * (g - h.detach())).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

def collect(agent, world):
    walk, seen = <walk>, world.reset()
    for step in range(10):
        move, chance, hope = agent.act(seen)
        seen, gain = world.step(move)
        <put>
    return <returned>

def main(world):
    agent = Agent()
    for _ in range(100):
        agent.learn(collect(agent, world))
"""

WALKS = [
    (
        "[]",
        "walk.append((hope, gain))",
        "h, g = zip(*walk); h, g = torch.stack(h), torch.tensor(g)",
        "walk",
        "[]",
    ),
    (
        "[]",
        "walk.append(Step(hope, gain))",
        "batch = Step(*zip(*walk)); h, g = torch.stack(batch.hope), torch.tensor(batch.gain)",
        "walk",
        "[]",
    ),
    (
        "[]",
        'walk.append({"hope": hope, "gain": gain})',
        'h = torch.stack([w["hope"] for w in walk]); g = torch.tensor([w["gain"] for w in walk])',
        "walk",
        "[]",
    ),
    (
        "deque()",
        "walk.append((hope, gain))",
        "h = torch.stack([h for h, _ in walk]); g = torch.tensor([g for _, g in walk])",
        "walk",
        "[]",
    ),
    (
        "{}",
        'walk.setdefault("hope", []).append(hope); walk.setdefault("gain", []).append(gain)',
        'h, g = torch.stack(walk["hope"]), torch.tensor(walk["gain"])',
        "walk",
        "[]",
    ),
    (
        "{}",
        'walk["hope"] = walk.get("hope", []) + [hope]; walk["gain"] = walk.get("gain", []) + [gain]',
        'h, g = torch.stack(walk["hope"]), torch.tensor(walk["gain"])',
        "walk",
        "[]",
    ),
    (
        "{}",
        "walk[step] = (hope, gain)",
        "h = torch.stack([walk[k][0] for k in walk]); g = torch.tensor([walk[k][1] for k in walk])",
        "walk",
        "[]",
    ),
    (
        "Walk()",
        "walk.hope.append(hope); walk.gain.append(gain)",
        "h, g = torch.stack(walk.hope), torch.tensor(walk.gain)",
        "walk",
        "[]",
    ),
    (
        "Walk()",
        'walk.more["hope"].append(hope); walk.more["gain"].append(gain)',
        'h, g = torch.stack(walk.more["hope"]), torch.tensor(walk.more["gain"])',
        "walk",
        "[]",
    ),
    (
        "SimpleNamespace(hope=[], gain=[])",
        "walk.hope.append(hope); walk.gain.append(gain)",
        "h, g = torch.stack(walk.hope), torch.tensor(walk.gain)",
        "walk",
        "[]",
    ),
    (
        "queue.Queue()",
        "walk.put((hope, gain))",
        "rows = [walk.get() for _ in range(walk.qsize())]; "
        "h = torch.stack([r[0] for r in rows]); g = torch.tensor([r[1] for r in rows])",
        "walk",
        "[]",
    ),
    (
        "[[], []]",
        "walk[0].append(hope); walk[1].append(gain)",
        "h, g = torch.stack(walk[0]), torch.tensor(walk[1])",
        "walk",
        "[]",
    ),
    (
        '{"hope": [], "gain": []}',
        '[walk[k].append(v) for k, v in zip(("hope", "gain"), (hope, gain))]',
        'h, g = torch.stack(walk["hope"]), torch.tensor(walk["gain"])',
        "walk",
        "[]",
    ),
    (
        "defaultdict(list)",
        "[walk[k].append(v) for k, v in dict(hope=hope, gain=gain).items()]",
        'h, g = torch.stack(walk["hope"]), torch.tensor(walk["gain"])',
        "walk",
        "[]",
    ),
    (
        "defaultdict(list)",
        'walk["hope"] += [hope]; walk["gain"] += [gain]',
        'h, g = torch.stack(walk["hope"]), torch.tensor(walk["gain"])',
        "walk",
        "[]",
    ),
    (
        "defaultdict(list)",
        'walk["hope"].append(hope); walk["gain"].append(gain)',
        'h, g = torch.stack(walk["hope"]), torch.tensor(walk["gain"])',
        "dict(walk)",
        "[]",
    ),
    (
        "defaultdict(list)",
        'walk["hope"].append(hope); walk["gain"].append(gain)',
        'h, g = walk["hope"], torch.tensor(walk["gain"])',
        '{k: torch.stack(v) if k == "hope" else v for k, v in walk.items()}',
        "[]",
    ),
    (
        "defaultdict(lambda: defaultdict(list))",
        'walk["a"]["hope"].append(hope); walk["a"]["gain"].append(gain)',
        'h, g = torch.stack(walk["a"]["hope"]), torch.tensor(walk["a"]["gain"])',
        "walk",
        "[]",
    ),
    (
        "np.empty((10, 2), dtype=object)",
        "walk[step] = hope, gain",
        "h = torch.stack(list(walk[:, 0])); g = torch.tensor(list(walk[:, 1].astype(float)))",
        "walk",
        "[]",
    ),
    (
        "[]",
        "walk += [(hope, gain)]",
        "h = torch.stack([h for h, _ in walk]); g = torch.tensor([g for _, g in walk])",
        "walk",
        "[]",
    ),
    (
        "[]",
        "walk.extend([hope, gain])",
        "h = torch.stack(walk[::2]); g = torch.tensor(walk[1::2])",
        "walk",
        "[]",
    ),
    (
        "[]",
        "agent.kept.append((hope, gain))",
        "h = torch.stack([h for h, _ in self.kept]); g = torch.tensor([g for _, g in self.kept]); self.kept.clear()",
        "walk",
        "[]",
    ),
    (
        "[]",
        'agent.kept["hope"].append(hope); agent.kept["gain"].append(gain)',
        'h, g = torch.stack(self.kept["hope"]), torch.tensor(self.kept["gain"]); self.kept.clear()',
        "walk",
        "defaultdict(list)",
    ),
    (
        "[]",
        "agent.kept.hope.append(hope); agent.kept.gain.append(gain)",
        "h, g = torch.stack(self.kept.hope), torch.tensor(self.kept.gain); self.kept = Walk()",
        "walk",
        "Walk()",
    ),
    (
        "[]",
        "agent.kept.append(Step(hope, gain))",
        "batch = Step(*zip(*self.kept)); h, g = torch.stack(batch.hope), torch.tensor(batch.gain); del self.kept[:]",
        "walk",
        "[]",
    ),
    (
        "[]",
        "agent.kept.append(dict(hope=hope, gain=gain))",
        'rows = {k: [r[k] for r in self.kept] for k in ("hope", "gain")}; '
        'h, g = torch.stack(rows["hope"]), torch.tensor(rows["gain"]); self.kept = []',
        "walk",
        "[]",
    ),
    ("0", "walk = walk + hope * gain", "h, g = walk, torch.ones(1)", "walk", "[]"),
    ("torch.zeros(10)", "walk[step] = hope", "h, g = walk, torch.ones(10)", "walk", "[]"),
    ("[]", "walk.append(chance + hope)", "h, g = sum(walk), torch.ones(1)", "walk", "[]"),
    (
        "[]",
        "walk.append(chance + hope)",
        "h, g = torch.cat([w.view(1) for w in walk]), torch.ones(10)",
        "tuple(walk)",
        "[]",
    ),
    (
        "[]",
        "walk.append((chance, hope))",
        "h, g = torch.stack([a + b for a, b in walk]), torch.ones(10)",
        "iter(walk)",
        "[]",
    ),
    (
        "SimpleNamespace()",
        'walk.hope = [*getattr(walk, "hope", []), hope]; walk.gain = [*getattr(walk, "gain", []), gain]',
        "h, g = torch.stack(walk.hope), torch.tensor(walk.gain)",
        "walk",
        "[]",
    ),
]
"""What a walk is, what each step puts where, what is read, what is returned, and what the agent keeps."""


NAMES = ("walk", "put", "read", "returned", "kept")


def written(walk: tuple[str, ...]) -> str:
    text = PROGRAM
    for name, code in zip(NAMES, walk, strict=True):
        text = text.replace(f"<{name}>", code)
    return text


@pytest.mark.parametrize("walk", WALKS)
def test_what_is_collected_in_whatever_is_trained_on(walk: tuple[str, ...]) -> None:
    assert not diagnose(Source("train.py", written(walk)))


@pytest.mark.parametrize("walk", WALKS)
def test_so_it_is_where_the_agent_stands_in_another_file(tmp_path: Path, walk: tuple[str, ...]) -> None:
    agent, beginning, collect = written(walk).partition("def collect(")
    imports = agent.partition("Step = ")[0]
    files = {"agent.py": agent, "run.py": f"{imports}from agent import Agent, Step, Walk\n{beginning}{collect}"}
    assert Project(tmp_path, files).found() == []
