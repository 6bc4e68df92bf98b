"""What other files do with what a file defines: they derive from it, call it in loops, read its globals."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
    import abc
    import torch

    class Trainer(abc.ABC):
        def __init__(self):
            self.epoch, self.total = 0, 0.0

        @abc.abstractmethod
        def step(self, batch):
            ...

        def fit(self, loader, epochs):
            for self.epoch in range(epochs):
                for batch in loader:
                    self.total += self.step(batch)
"""


@pytest.mark.parametrize(
    ("result", "leaks"),
    [("loss", True), ("loss.detach()", False), ("loss.item()", False), ("self.loss_of(batch)", True)],
)
def test_a_base_class_runs_the_step_of_the_class_that_another_file_derives_from_it(
    tmp_path: Path, result: str, leaks: bool
) -> None:
    files = {
        "base.py": BASE,
        "line.py": f"""
            import torch
            from torch import nn
            from base import Trainer

            class LineTrainer(Trainer):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Linear(3, 1)
                    self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

                def loss_of(self, batch):
                    return self.net(batch).pow(2).mean()

                def step(self, batch):
                    loss = self.loss_of(batch)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    return {result}
        """,
    }
    found = Project(tmp_path, files).found()
    assert any(one.startswith("base.py: TLK101") for one in found) is leaks
    assert Project(tmp_path, {}).found("base.py") == []


LEARNER = """
    import torch
    from torch.nn import functional as F

    KINDS = {{"sgd": torch.optim.SGD, "adam": torch.optim.Adam}}

    class Learner:
        def __init__(self, net, kind):
            self.net, self.kind = net, kind

        def observe(self, x, y):
            optimizer = KINDS[self.kind](self.net.parameters(), lr=0.1)
            optimizer.zero_grad()
            {stepping}
"""

STEPPING = "F.mse_loss(self.net(x), y).backward(); optimizer.step()"


@pytest.mark.parametrize(
    ("stepping", "use", "found"),
    [
        (STEPPING, "for x, y in stream: learner.observe(x, y)", ["learner.py: TLK301 warning"]),
        (STEPPING, "while True: learner.observe(*next(stream))", ["learner.py: TLK301 warning"]),
        (STEPPING, "learner.observe(*stream)", []),
        (STEPPING, "for one in [lambda: learner.observe(*stream)]: print(one)", []),
        ("optimizer.step(lambda: F.mse_loss(self.net(x), y))", "for x, y in stream: learner.observe(x, y)", []),
    ],
)
def test_a_step_that_another_file_makes_in_a_loop_is_made_again_and_again(
    tmp_path: Path, stepping: str, use: str, found: list[str]
) -> None:
    files = {
        "learner.py": LEARNER.format(stepping=stepping),
        "use.py": f"""
            from torch import nn
            from learner import Learner

            def main(stream):
                learner = Learner(nn.Linear(3, 3), "adam")
                {use}
        """,
    }
    assert Project(tmp_path, files).found() == found
    assert Project(tmp_path, {}).found("learner.py") == []


@pytest.mark.parametrize(
    ("caller", "leaks"),
    [("forward(self, x)", True), ("build(self, x)", False), ("forward(self, x, later=lambda self, x: 0)", True)],
)
def test_a_method_that_a_forward_of_another_file_calls_runs_in_each_step(
    tmp_path: Path, caller: str, leaks: bool
) -> None:
    files = {
        "parts.py": """
            from torch import nn

            class Fitting(nn.Module):
                def project(self, x, width):
                    self.proj = nn.Linear(x.shape[-1], width).to(x.device)
                    return self.proj(x)
        """,
        "net.py": f"""
            import torch
            from torch import nn
            from parts import Fitting

            class Net(Fitting):
                def __init__(self):
                    super().__init__()
                    self.out = nn.Linear(8, 2)

                def {caller}:
                    return self.out(torch.relu(self.project(x, 8)))
        """,
    }
    assert Project(tmp_path, files).found() == ["parts.py: TLK304 warning"] * leaks


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", ["serve.py: TLK404 note"]),
        ("def size():\n    return len(KNOWN)", ["serve.py: TLK404 note"]),
        ("def trim():\n    KNOWN.popitem()", []),
        ("def forget(name):\n    del KNOWN[name]", []),
    ],
)
def test_a_memo_may_be_a_global_of_another_file(tmp_path: Path, more: str, found: list[str]) -> None:
    files = {
        "store.py": f"KNOWN = {{}}\n\n{more}\n",
        "serve.py": """
            import store
            import torch
            from fastapi import FastAPI
            from torch import nn

            app = FastAPI()
            net = nn.Linear(3, 3).eval()

            def embedded(text):
                known = store.KNOWN.get(text)
                if known is None:
                    with torch.no_grad():
                        known = net(torch.tensor([float(ord(c)) for c in text]))
                    store.KNOWN[text] = known
                return known

            @app.post("/embed")
            def embed(text: str):
                return embedded(text).tolist()
        """,
    }
    assert Project(tmp_path, files).found() == found


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("DataLoader(data, 8), DataLoader(data, 8, num_workers=2)", ["step.py: TLK301 warning"]),
        ("DataLoader(data, 8), iter(DataLoader(data, 8, num_workers=2))", []),
        ("iter(DataLoader(data, 8)), [data]", []),
    ],
)
def test_an_item_of_what_another_file_returns_may_be_passed(tmp_path: Path, returned: str, found: list[str]) -> None:
    files = {
        "loaders.py": f"""
            from torch.utils.data import DataLoader

            def loaders(data):
                return {returned}
        """,
        "step.py": """
            import torch
            from torch.nn import functional as F

            class Stepper:
                def __init__(self, net, labelled, plain):
                    self.net, self.labelled, self.plain = net, labelled, plain
                    self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

                def epoch(self):
                    for x, y in self.labelled:
                        more = next(iter(self.plain))
                        loss = F.mse_loss(self.net(x), y) + self.net(more).pow(2).mean()
                        self.optimizer.zero_grad()
                        loss.backward()
                        self.optimizer.step()
        """,
        "main.py": """
            from torch import nn
            from loaders import loaders
            from step import Stepper

            def main(data):
                labelled, plain = loaders(data)
                Stepper(nn.Linear(3, 3), labelled, plain).epoch()
        """,
    }
    assert Project(tmp_path, files).found() == found


@pytest.mark.parametrize(
    ("reading", "found"),
    [
        ("self.means.detach()[y]", ["train.py: TLK103 warning"]),
        ("self.means[y].data", ["train.py: TLK103 warning"]),
        ("self.means[y]", []),
    ],
)
def test_a_state_of_another_file_whose_readers_detach_it_is_not_trained_through(
    tmp_path: Path, reading: str, found: list[str]
) -> None:
    files = {
        "centers.py": f"""
            import torch
            from torch import nn

            class Centers(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.register_buffer("means", torch.zeros(4, 3))

                def pull(self, h, y):
                    return (h - {reading}).pow(2).mean()

                def refresh(self, h):
                    self.means = 0.9 * self.means + 0.1 * h.mean(0)
        """,
        "train.py": """
            import torch
            from torch import nn
            from centers import Centers

            def train(loader):
                net, centers = nn.Linear(3, 3), Centers()
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for x, y in loader:
                    h = net(x)
                    loss = h.pow(2).mean() + centers.pull(h, y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    centers.refresh(h)
        """,
    }
    assert Project(tmp_path, files).found() == found


LOADING = """
    import torch
    from torch import nn

    def opened(name):
        net = nn.Linear(3, 3)
        net.load_state_dict(torch.load(name, map_location="cpu"))
        return net.eval()

    class Moderation:
        def post(self, name, x):
            net = opened(name)
            with torch.no_grad():
                return net(x).tolist()
"""


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("for name, x in asked: app.post(name, x)", ["moderation.py: TLK302 note", "moderation.py: TLK301 warning"]),
        ("print(app.post(*asked))", []),
    ],
)
def test_what_another_file_asks_in_a_loop_answers_again_and_again(tmp_path: Path, use: str, found: list[str]) -> None:
    files = {
        "moderation.py": LOADING,
        "serve.py": f"""
            from moderation import Moderation

            def main(asked):
                app = Moderation()
                {use}
        """,
    }
    assert sorted(Project(tmp_path, files).found()) == sorted(found)


NEARNESS = """
    from torch import nn

    class Nearness:
        def __init__(self, weight):
            self.weight, self.judge = weight, None

        def __call__(self, given, wanted):
            {made}
            return self.weight * (judge(given) - judge(wanted)).pow(2).mean()
"""

NEARING = """
    import torch
    from torch import nn
    from nearness import Nearness

    def train(loader):
        net = nn.Linear(4, 4)
        near = {nearness}
        optimizer = torch.optim.Adam(net.parameters())
        for x, y in loader:
            loss = {call}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

ANEW = "judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU())"
MEMO = "self.judge = self.judge or nn.Sequential(nn.Linear(4, 8), nn.ReLU())\n            judge = self.judge"


@pytest.mark.parametrize(
    ("made", "nearness", "call", "found"),
    [
        (ANEW, "Nearness(2)", "near(net(x), y)", ["nearness.py: TLK301 warning"]),
        (MEMO, "Nearness(2)", "near(net(x), y)", []),
        (ANEW, "Nearness(2)", "(net(x) - y).pow(2).mean()", []),
        (ANEW, "print", "near(net(x), y)", []),
    ],
    ids=["anew", "once", "not called", "another object"],
)
def test_an_object_that_another_file_calls_in_a_loop_is_called_again_and_again(
    tmp_path: Path, made: str, nearness: str, call: str, found: list[str]
) -> None:
    train = NEARING.format(nearness=nearness, call=call)
    assert Project(tmp_path, {"nearness.py": NEARNESS.format(made=made), "train.py": train}).found() == found


@pytest.mark.parametrize(
    ("register", "name", "leaks"),
    [
        ("def register(cls):\n    TABLE[cls.__name__] = cls\n    return cls", "register", True),
        (
            "def register(name):\n    def put(cls):\n        TABLE[name] = cls\n        return cls\n    return put",
            "register('line')",
            True,
        ),
        ("def register(cls):\n    return cls", "register", False),
    ],
)
def test_a_decorator_may_put_a_class_into_a_table(tmp_path: Path, register: str, name: str, leaks: bool) -> None:
    nets = f"""
from torch import nn
TABLE = {{}}
{register}

@{name}
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(3, 1)
    def forward(self, x):
        return self.lift(x)
"""
    use = """
import torch
from nets import TABLE

def draw(loader, kind):
    for x in loader:
        net = TABLE[kind]()
        with torch.no_grad():
            print(net(x).mean().item())
"""
    told = Project(tmp_path, {"nets.py": nets, "use.py": use}).found()
    assert told == ["use.py: TLK301 warning"] * leaks
    alone = Project(tmp_path / "alone", {"all.py": nets + use.replace("from nets import TABLE", "")}).found()
    assert alone == ["all.py: TLK301 warning"] * leaks


PLAYERS = """
    import torch
    from torch import nn

    class Game:
        def __init__(self):
            self.gen, self.critic = nn.Linear(3, 3), nn.Linear(3, 1)
            self.sampler = Sampler(self.gen)
            self.gens = torch.optim.Adam(self.gen.parameters())
            self.critics = torch.optim.Adam(self.critic.parameters())

        def judge(self, real):
            fake = self.sampler.draw(8){ending}
            loss = self.critic(fake).mean() - self.critic(real).mean()
            self.critics.zero_grad()
            loss.backward()
            self.critics.step()

        def play(self):
            loss = -self.critic(self.sampler.draw(8)).mean()
            self.gens.zero_grad()
            loss.backward()
            self.gens.step()
"""

SAMPLER = """
    import torch

    class Sampler:
        def __init__(self, net):
            self.net = net

        def draw(self, n):
            return self.net(self.noise(n))

        def noise(self, n):
            return torch.randn(n, 3)
"""


@pytest.mark.parametrize(("ending", "count"), [("", 1), (".detach()", 0)])
def test_a_player_may_run_behind_an_object(tmp_path: Path, ending: str, count: int) -> None:
    play = PLAYERS.format(ending=ending)
    apart = Project(tmp_path, {"sampler.py": SAMPLER, "play.py": "    from sampler import Sampler\n" + play}).found()
    assert apart == ["play.py: TLK203 warning"] * count
    together = Project(tmp_path / "one", {"play.py": SAMPLER + play}).found()
    assert together == ["play.py: TLK203 warning"] * count


@pytest.mark.parametrize(
    ("annotation", "given", "found"),
    [
        ("value: float", "loss", ["train.py: TLK105 warning"]),
        ("value: float", "loss.item()", []),
        ("value: float", "float(loss)", []),
        ("value", "loss", ["train.py: TLK105 warning"]),
        ("value: str", "loss", []),
    ],
)
def test_what_is_passed_counts_for_more_than_the_annotation(
    tmp_path: Path, annotation: str, given: str, found: list[str]
) -> None:
    files = {
        "meter.py": f"""
            class Meter:
                def __init__(self):
                    self.total = 0.0

                def update(self, {annotation}):
                    self.total += value
        """,
        "train.py": f"""
            import torch
            from meter import Meter

            def train(net: torch.nn.Module, optimizer, loader):
                meter = Meter()
                for x, y in loader:
                    loss = (net(x) - y).pow(2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    meter.update({given})
        """,
    }
    assert Project(tmp_path, files).found() == found


FEATURES = """
    import torch
    import torchaudio.transforms as T

    def features(wave, rate=16000):
        {made}
        return torch.log(change(wave) + 1e-6)
"""

MEL = "change = T.MelSpectrogram(rate, n_mels=64).to(wave.device)"

EACH = "for wave, y in loader: (net(features(wave.cuda())) - y).sum().backward(); optimizer.step()"


@pytest.mark.parametrize(
    ("made", "use", "is_told"),
    [
        (MEL, EACH, True),
        ("change = T.Resample(48000, 16000)", EACH, True),
        (MEL, "return [features(wave=wave) for wave, y in loader]", True),
        (MEL, "return features(*next(iter(loader)))", False),
        (MEL, "return [features(wave, rate) for wave, rate in loader]", False),
        (MEL, "return [features(wave, rate=rate) for wave, rate in loader]", False),
        (MEL, "return [features(*row) for row in loader]", False),
        (MEL, f"{EACH}; return map(features, loader, range(9))", False),
        ("change = T.AmplitudeToDB()", EACH, False),  # which computes nothing when it is made
        ("change = torch.nn.Softplus()", EACH, False),
        ("change = mel_of(rate)", EACH, False),
    ],
)
def test_tables_that_a_helper_computes_for_each_batch_of_another_file(
    tmp_path: Path, made: str, use: str, is_told: bool
) -> None:
    files = {
        "features.py": FEATURES.format(made=made),
        "train.py": f"""
            from features import features

            def train(net, loader, optimizer):
                {use}
        """,
    }
    project = Project(tmp_path, files)
    assert project.found() == (["features.py: TLK301 note"] if is_told else [])
    assert project.found("features.py") == []  # nobody is seen to call it
