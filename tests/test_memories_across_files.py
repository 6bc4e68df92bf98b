"""Memories in another file: of records, whether what they give is trained on, and of what is asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, loop

# -- memories of records -------------------------------------------------------------------------------------------

MEMORY = """
    import random
    from collections import deque, namedtuple
    from dataclasses import dataclass
    from typing import NamedTuple

    import torch

    Pair = namedtuple("Pair", ["shown", "told"])

    class Row(NamedTuple):
        shown: torch.Tensor
        told: torch.Tensor

    @dataclass
    class Entry:
        shown: torch.Tensor
        told: torch.Tensor

    class Memory:
        def __init__(self):
            self.data, self.at = [], 0

        def push(self, {parameters}):
            one = {record}
            if len(self.data) < 1000:
                self.data.append(one)
            else:
                self.data[self.at] = one
            self.at = (self.at + 1) % 1000

        def sample(self, number):
            rows = random.sample(self.data, number)
            return {drawn}
"""

FIT = """
        def fit(self, optimizer):
            loss = torch.stack([one.told for one in self.data]).mean()
            loss.backward()
            optimizer.step()
"""

DETACHED = "[torch.stack(column).detach() for column in zip(*rows)]"


def remembered(folder: Path, parameters: str, record: str, drawn: str = DETACHED, more: str = "pass") -> list[str]:
    """What is found where each step pushes ``net(x)`` and trains on a sample."""
    drawing = "shown, told = memory.sample(8); optimizer.zero_grad()"
    training = f"(net(shown) - told).pow(2).mean().backward(); optimizer.step(); {more}"
    train = loop("from memory import Memory", "memory = Memory()", f"memory.push(x, net(x)); {drawing}; {training}")
    memory = MEMORY.format(parameters=parameters, record=record, drawn=drawn) + (FIT if "fit" in more else "")
    return Project(folder, {"memory.py": memory, "train.py": train}).found("train.py")


@pytest.mark.parametrize(
    ("parameters", "record"),
    [
        ("shown, told", "Pair(shown, told)"),
        ("shown, told", "Row(shown=shown, told=told)"),
        ("shown, told", "Entry(shown, told)"),
        ("shown, told", "(shown, told)"),
        ("*fields", "Row(*fields)"),
        ("*fields", "Pair(*fields)"),
        ("*fields", "fields"),
    ],
)
def test_a_memory_in_another_file_keeps_the_graphs_of_records(tmp_path: Path, parameters: str, record: str) -> None:
    assert remembered(tmp_path, parameters, record) == ["train.py: TLK105 error"]


@pytest.mark.parametrize(
    ("record", "drawn", "more"),
    [
        ("Row(shown, told.detach())", DETACHED, "pass"),
        ("Row(shown, told.tolist())", DETACHED, "pass"),
        ("Row(shown, told)", "[torch.stack(column) for column in zip(*rows)]", "pass"),
        ("Row(shown, told)", "Pair(*map(torch.stack, zip(*rows)))", "pass"),
        ("Row(shown, told)", "Row(*zip(*rows))", "pass"),
        ("Row(shown, told)", DETACHED, "memory.fit(optimizer)"),
        ("Row(shown, told)", DETACHED, "torch.stack([row.told for row in memory.data]).mean().backward()"),
    ],
)
def test_a_memory_that_is_trained_on_or_keeps_no_graph_is_not_told(
    tmp_path: Path, record: str, drawn: str, more: str
) -> None:
    assert "train.py: TLK105 error" not in remembered(tmp_path, "shown, told", record, drawn, more)


# -- records that are given on field by field ----------------------------------------------------------------------

REPLAY = """
    import random
    from typing import NamedTuple
    import torch

    class Turn(NamedTuple):
        seen: torch.Tensor
        done: torch.Tensor
        odds: torch.Tensor

    class Replay:
        def __init__(self):
            self.turns = []

        def push(self, {parameters}):
            self.turns.append({turn})

        def sample(self, number):
            rows = random.sample(self.turns, number)
            {drawn}
"""

STUDENT = """
    import torch
    from torch import nn

    class Student:
        def __init__(self):
            self.net = nn.Linear(3, 3)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def learn(self, turns):
            odds = torch.distributions.Categorical(logits=self.net(turns.seen)).log_prob(turns.done)
            {loss}
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

        def weigh(self, turns):
            return turns.odds.exp()
"""

PLAY = """
    import torch
    from replay import Replay
    from student import Student

    def play(env):
        student, replay, seen = Student(), Replay(), env.reset()
        for _ in range(9000):
            policy = torch.distributions.Categorical(logits=student.net(seen))
            done = policy.sample()
            replay.push(seen, done, policy.log_prob(done))
            seen = env.step(done)
            {learn}
"""

COLUMNS = "turns = Turn(*zip(*rows)); return Turn(torch.stack(turns.seen), torch.stack(turns.done), {})"
STACKED = COLUMNS.format("torch.stack(turns.odds)")
CUT = "loss = -((odds - turns.odds).exp().detach() * odds).mean()"
LEARN = "student.learn(replay.sample(8))"


def replayed(
    folder: Path, loss: str = CUT, drawn: str = STACKED, learn: str = LEARN, push: tuple[str, str] = ("*turn", "*turn")
) -> bool:
    """Whether it is told that the records keep the graph of the third thing that is pushed."""
    replay = REPLAY.format(parameters=push[0], turn=f"Turn({push[1]})", drawn=drawn)
    student, play = STUDENT.format(loss=loss), PLAY.format(learn=learn)
    found = Project(folder, {"replay.py": replay, "student.py": student, "play.py": play}).found("play.py")
    assert found in ([], ["play.py: TLK105 error"])
    return bool(found)


@pytest.mark.parametrize(
    ("loss", "leaks"),
    [
        (CUT, True),
        ("loss = -((odds - turns.odds.detach()).exp() * turns.seen).mean()", True),
        ("with torch.no_grad(): old = turns.odds.exp()\n            loss = -(odds / old).mean()", True),
        ("loss = -(odds - turns.odds).exp().mean()", False),
        ("loss = -(odds * self.weigh(turns)).mean()", False),
        ("_, _, old = turns; loss = -(odds - old).mean()", False),
        ("loss = -(odds - turns[2]).mean()", False),
        ("loss = -(odds - turns._asdict()['odds']).mean()", False),
        ("loss = -(odds - getattr(turns, 'odds')).mean()", False),
        ("old = lambda: turns.odds; loss = -(odds - old()).mean()", False),
        ("self.turns = turns; loss = -(odds - self.turns.odds).mean()", False),
    ],
)
def test_a_field_of_replayed_records_that_is_used_without_its_graph(tmp_path: Path, loss: str, leaks: bool) -> None:
    assert replayed(tmp_path, loss) is leaks


@pytest.mark.parametrize(
    ("drawn", "leaks"),
    [
        (STACKED, True),
        (COLUMNS.format("odds=torch.stack(turns.odds).view(-1)"), True),
        ("return Turn(*zip(*rows))", True),
        ("return rows[0]", True),
        (COLUMNS.format("torch.stack(turns.odds + turns.seen)"), False),
        ("a, b, c = zip(*rows); return Turn(torch.stack(c), torch.stack(b), torch.stack(a))", False),
        ("turns = Turn(*zip(*rows)); return Turn(turns.odds, turns.done, turns.seen)", False),
        ("return random.choice([Turn(c, b, a) for a, b, c in rows])", False),
        ("return weighted(rows)", False),
    ],
)
def test_what_gives_replayed_records_on_field_by_field(tmp_path: Path, drawn: str, leaks: bool) -> None:
    assert replayed(tmp_path, drawn=drawn) is leaks


@pytest.mark.parametrize(
    ("learn", "leaks"),
    [
        ("turns = replay.sample(8); student.learn(turns)", True),
        ("turns = replay.sample(8); student.learn(turns); print(turns.odds.mean().item())", True),
        ("turns = replay.sample(8); turns.odds.mean().backward()", False),
        ("turns = replay.sample(8); student.learn(turns); (student.net(seen) * turns.odds).sum().backward()", False),
        ("student.learn(replay.sample(8)); replay.turns[0].odds.backward()", False),
        ("student.learn(replay.sample(8)); sum(turn.odds for turn in replay.turns).backward()", False),
        ("student.learn(replay.sample(8)); replay.turns.clear()", False),
        ("env.turns = replay.sample(8); student.learn(env.turns); env.turns.odds.mean().backward()", False),
        ("turns = replay.sample(8); student.learn(turns); late = lambda: turns.odds.mean(); late().backward()", False),
    ],
)
def test_what_else_is_done_with_replayed_records(tmp_path: Path, learn: str, leaks: bool) -> None:
    assert replayed(tmp_path, learn=learn) is leaks


@pytest.mark.parametrize(
    ("push", "leaks"),
    [
        (("seen, done, odds", "seen, done, odds"), True),
        (("seen, done, odds", "seen=seen, done=done, odds=odds"), True),
        (("*turn", "*turn"), True),
        (("seen, done, odds", "odds, done, seen"), False),  # which then is learnt from
        (("seen, done, odds", "seen + odds, done, odds"), False),
        (("seen, done, odds", "seen, done, odds.detach()"), False),
    ],
)
def test_under_which_field_something_is_replayed(tmp_path: Path, push: tuple[str, str], leaks: bool) -> None:
    assert replayed(tmp_path, push=push) is leaks


# -- caches --------------------------------------------------------------------------------------------------------

STORE = """
    class Store:
        def __init__(self):
            self.items = {{}}

        def get(self, key):
            return self.items.get(key)

        def put(self, key, value):
            self.items[key] = value
            {more}

        def fetch(self, key, make):
            if key not in self.items:
                self.put(key, make())
            return self.items[key]
"""

SERVER = """
    import torch
    from fastapi import FastAPI
    from transformers import AutoModel, AutoTokenizer
    from store import Store

    app = FastAPI()
    tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
    model = AutoModel.from_pretrained("bert-base-uncased").eval()
    store = Store()

    def embed(text):
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state.mean(1)

    @app.post("/embed")
    def handle(text: str):
        {body}
        return vector.tolist()
"""

ASKED = "vector = store.get(text); vector = embed(text) if vector is None else vector; store.put(text, vector)"


@pytest.mark.parametrize(
    ("body", "more", "leaks"),
    [
        (ASKED, "pass", True),
        ("vector = store.fetch(text, lambda: embed(text))", "pass", True),
        ("vector = embed(text); store.put(text, vector)", "pass", False),
        (ASKED, "while len(self.items) > 100: self.items.pop(next(iter(self.items)))", False),
        ("vector = store.get(text) or embed(text); store.put('last', vector)", "pass", False),
        ("vector = embed(text); store.get(text); store.put(text, vector.tolist())", "pass", False),
    ],
)
def test_a_cache_of_another_file_is_filled_here(tmp_path: Path, body: str, more: str, leaks: bool) -> None:
    files = {"store.py": STORE.format(more=more), "serve.py": SERVER.format(body=body)}
    found = Project(tmp_path, files).found()
    assert any(one.startswith("serve.py: TLK404") for one in found) is leaks


ENCODER = """
    import torch
    from transformers import AutoModel, AutoTokenizer

    class Encoder:
        def __init__(self):
            self.tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
            self.model = AutoModel.from_pretrained("bert-base-uncased").eval()
            self.vectors = {{}}

        @torch.no_grad()
        def vector(self, text):
            if text not in self.vectors:
                tokens = self.tokenizer(text, return_tensors="pt")
                made = self.model(**tokens).last_hidden_state.mean(1)
                self.vectors[{key}] = {kept}
                {more}
            return self.vectors[text]

        def similarity(self, first, second):
            return torch.cosine_similarity(self.vector(first), self.vector(second)).item()
"""

ANSWERS = """
    from fastapi import FastAPI
    from encoder import Encoder

    app = FastAPI()
    encoder = Encoder()

    @app.post("/similar")
    def handle(text: str, other: str):
        {made}
        return {answer}
"""


@pytest.mark.parametrize(
    ("encoder", "answers", "leaks"),
    [
        ({}, {}, True),
        ({}, {"answer": "encoder.vector(text).tolist()"}, True),
        ({"key": "'last'"}, {}, False),
        ({"kept": "made.tolist()"}, {}, False),
        ({"more": "while len(self.vectors) > 64: self.vectors.pop(next(iter(self.vectors)))"}, {}, False),
        ({}, {"made": "encoder = Encoder()"}, False),
        ({}, {"made": "encoder.vectors.clear()"}, False),
        ({}, {"made": "encoder.vectors = {}"}, False),
        ({}, {"answer": "encoder.similarity('yes', 'no')"}, False),
    ],
)
def test_a_method_of_another_file_fills_the_cache_of_its_object(
    tmp_path: Path, encoder: dict[str, str], answers: dict[str, str], leaks: bool
) -> None:
    of_encoder = {"key": "text", "kept": "made", "more": "pass", **encoder}
    of_answers = {"made": "pass", "answer": "encoder.similarity(text, other)", **answers}
    files = {"encoder.py": ENCODER.format(**of_encoder), "answers.py": ANSWERS.format(**of_answers)}
    found = Project(tmp_path, files).found()
    assert any(one.startswith("answers.py: TLK404") for one in found) is leaks, found


PHRASES = """
    known = {{}}

    def embedded(encoder, phrase, words):
        if phrase not in known:
            known[{key}] = encoder({given})
        return known[{key}]

    def embedded_twice(encoder, phrase, words):
        return embedded(encoder, phrase.strip(), words), embedded(encoder, phrase.lower(), words)

    def begin_anew():
        {anew}
"""

PAINTER = """
    import torch
    from phrases import embedded, embedded_twice

    class Painter:
        def __init__(self, encoder, net, words):
            self.encoder, self.net, self.words = encoder, net, words

        @torch.no_grad()
        def paint(self, phrase):
            return self.net({embedded})
"""

PAINTING = """
    import sys
    import torch
    from torch import nn
    from painter import Painter

    def words(text):
        return torch.tensor([[ord(letter) for letter in text]])

    def main():
        painter = Painter({encoder}, nn.Linear(8, 3), words)
        for line in sys.stdin:
            print(painter.paint(line).argmax())
"""


@pytest.mark.parametrize(
    ("parts", "leaks"),
    [
        ({}, True),
        ({"embedded": "embedded_twice(self.encoder, phrase, self.words)[0]"}, True),
        ({"given": "words(phrase), scale=2"}, True),
        ({"anew": "known.clear()"}, False),
        ({"anew": "del known[next(iter(known))]"}, False),
        ({"encoder": "str.upper"}, False),
        ({"encoder": "words"}, False),
        ({"key": "phrase[0] == 'a'"}, False),
        ({"embedded": "embedded(self.encoder, 'a cat', self.words)"}, False),
        ({"embedded": "embedded(self.encoder, len(self.words), self.words)"}, False),
    ],
)
def test_a_cache_of_what_a_network_gives_that_two_files_hand_on(
    tmp_path: Path, parts: dict[str, str], leaks: bool
) -> None:
    filled = {
        "key": "phrase",
        "given": "words(phrase)",
        "anew": "pass",
        "embedded": "embedded(self.encoder, phrase, self.words)",
        "encoder": "nn.Embedding(128, 8)",
        **parts,
    }
    texts = {"phrases.py": PHRASES, "painter.py": PAINTER, "main.py": PAINTING}
    project = Project(tmp_path, {name: text.format(**filled) for name, text in texts.items()})
    found = [one for one in project.found() if "TLK404" in one]
    assert found == (["painter.py: TLK404 note"] if leaks else [])


BANK = """
    import torch
    import torch.nn.functional as F

    class Bank:
        def __init__(self, width, device):
            self.rows = torch.empty(0, width, device=device)
            self.names = []

        def add(self, rows, names):
            {added}
            self.names.extend(names)

        def nearest(self, row):
            return (self.rows @ row).argmax().item()
"""

FILL = """
    import torch
    from bank import Bank

    @torch.no_grad()
    def fill(net, loader, other, device):
        bank = Bank(128, device)
        found = []
        for x, names in loader:
            {each}
        for x, names in other:
            found.append(bank.nearest(net(x)[0]))
        return found
"""


@pytest.mark.parametrize(
    ("added", "each", "told"),
    [
        ("self.rows = torch.cat((self.rows, rows))", "bank.add(net(x), names)", True),
        ("self.rows = torch.cat([self.rows, F.normalize(rows)])", "bank.add(net(x), names)", True),
        ("self.rows = torch.cat((self.rows, rows))[-64:]", "bank.add(net(x), names)", False),
        ("self.rows = torch.cat((rows, rows.flip(0)))", "bank.add(net(x), names)", False),
        ("self.rows = torch.cat((self.rows, rows))", "bank.add(net(x), names); print(bank.nearest(x))", False),
        ("self.rows = torch.cat((self.rows, rows))", "net(x)", False),
    ],
)
def test_a_bank_that_another_file_fills_row_by_row(tmp_path: Path, added: str, each: str, told: bool) -> None:
    files = {"bank.py": BANK.format(added=added), "fill.py": FILL.format(each=each)}
    found = Project(tmp_path, files).found()
    assert [one for one in found if "TLK401" in one] == ["bank.py: TLK401 note"] * told


AGENT = """
    import torch
    from torch import nn

    class Agent:
        def __init__(self):
            self.cell = nn.GRUCell(4, 8)
            self.head = nn.Linear(8, 2)
            self.state = torch.zeros(1, 8)

        def begin(self):
            self.state = torch.zeros(1, 8)

        def act(self, seen):
            self.state = self.cell(seen, self.state)
            return int(self.head(self.state).argmax())
"""

STREAM = """
    import torch
    from agent import Agent

    def play(stream):
        agent = Agent()
        agent.begin()
        {loop}
"""


@pytest.mark.parametrize(
    ("loop", "is_told"),
    [
        ("for seen in stream: stream.send(agent.act(seen))", True),
        ("for seen in stream: agent.begin(); stream.send(agent.act(seen))", False),
        ("for seen in stream: agent = Agent(); stream.send(agent.act(seen))", False),
        (
            "for game in stream:\n            agent.begin()\n"
            "            for seen in game: stream.send(agent.act(seen))",
            True,
        ),
        ("stream.send(agent.act(next(stream)))", False),
        ("with torch.no_grad():\n            for seen in stream: stream.send(agent.act(seen))", False),
    ],
)
def test_a_state_goes_on_where_another_file_calls_its_method_in_a_loop(
    tmp_path: Path, loop: str, is_told: bool
) -> None:
    files = {"agent.py": AGENT, "stream.py": STREAM.format(loop=loop)}
    found = [one for one in Project(tmp_path, files).found() if "TLK104" in one]
    assert found == (["agent.py: TLK104 error"] if is_told else [])


WORDS = """
    from torch import nn
    from states import carry

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.GRU(8, 8), nn.Linear(8, 4)

        def forward(self, words, state=None):
            {begins}
            out, state = self.rnn(words, state)
            return self.head(out), state
"""

READS = """
    import torch
    import torch.nn.functional as F
    from words import Words

    def fit(windows):
        net, state = Words(), None
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in windows:
            out, state = net(x, state)
            loss = F.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("begins", "is_told"), [("state = None if state is None else carry(state)", False), ("words = words.float()", True)]
)
def test_a_third_file_may_cut_the_state_off_before_anything_is_made_of_it(
    tmp_path: Path, begins: str, is_told: bool
) -> None:
    files = {
        "states.py": "def carry(state):\n    return state.detach()\n",
        "words.py": WORDS.format(begins=begins),
        "fit.py": READS,
    }
    assert any("TLK104" in one for one in Project(tmp_path, files).found()) is is_told


# -- caches of what a third file computes --------------------------------------------------------------------------

SIGNAL = """
    import torch

    def sine(pitch, count=4000):
        return torch.sin(torch.arange(count) * pitch)

    def bands(wave, size=64):
        parts = torch.stft(wave, size, window=torch.hann_window(size), return_complex=True)
        return parts.abs().log1p().{ending}

    def doubled(pitch):
        return 2 * pitch
"""

INPUTS = """
    from functools import cache, lru_cache
    from signal_parts import bands, doubled, sine

    @{cache}
    def example(pitch, shift):
        wave = sine(pitch)
        return {result}
"""


@pytest.mark.parametrize(
    ("parts", "leaks"),
    [
        ({}, True),
        ({"cache": "cache"}, True),
        ({"result": "bands(wave)[:, shift:]"}, True),
        ({"result": "wave, bands(wave)"}, True),
        ({"ending": "transpose(0, 1)"}, True),
        ({"cache": "lru_cache(maxsize=32)"}, False),
        ({"ending": "tolist()"}, False),
        ({"result": "doubled(pitch)"}, False),  # a number
        ({"shift": "0"}, False),
        ({"shift": "pitch % 4"}, False),
    ],
)
def test_a_cache_of_what_a_third_file_computes(tmp_path: Path, parts: dict[str, str], leaks: bool) -> None:
    filled = {
        "cache": "lru_cache(None)",
        "result": "bands(wave[shift:])",
        "ending": "T",
        "shift": "time.time()",
        **parts,
    }
    text = loop("import time\n    from inputs import example", "pitch = 3", f"example(pitch, {filled['shift']})")
    files = {"signal_parts.py": SIGNAL.format(**filled), "inputs.py": INPUTS.format(**filled), "fit.py": text}
    found = [one for one in Project(tmp_path, files).found() if "TLK404" in one]
    assert found == (["fit.py: TLK404 error"] if leaks else [])


ROLLOUT = """
    class Rollout:
        def __init__(self):
            self.chances, self.values, self.rewards = [], [], []

        def add(self, chance, value):
            self.chances.append(chance)
            self.values.append(value)

        def clear(self):
            for kept in (self.chances, self.values, self.rewards):
                kept.clear()
"""

POLICY = """
    from torch import nn

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.act, self.worth = nn.Linear(4, 2), nn.Linear(4, 1)

        def forward(self, x):
            return self.act(x).log_softmax(-1), self.worth(x)
"""


@pytest.mark.parametrize(
    ("values", "clear", "told"),
    [
        ("(ret - torch.cat(rollout.values)).pow(2).mean()", "rollout.clear()", []),
        ("0.0", "rollout.chances.clear()", ["play.py: TLK105 warning"]),
    ],
)
def test_a_learner_of_a_third_file_trains_on_what_is_put_into_a_memory_of_another(
    tmp_path: Path, values: str, clear: str, told: list[str]
) -> None:
    """Whoever plays imports the memory from one file and the learner, which never names that, from another."""
    learner = f"""
        import torch

        class Learner:
            def __init__(self, policy):
                self.optimizer = torch.optim.Adam(policy.parameters(), 1e-3)

            def learn(self, rollout):
                ret = torch.tensor(rollout.rewards)
                loss = {values} - (torch.stack(rollout.chances) * ret).sum()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                {clear}
    """
    play = """
        from gym import make
        from learner import Learner
        from policy import Policy
        from rollout import Rollout

        def play(env, policy, rollout):
            over, obs = False, env.reset()
            while not over:
                scores, worth = policy(obs)
                rollout.add(scores[0, 0], worth)
                obs, reward, over = env.step(0)
                rollout.rewards.append(reward)

        if __name__ == "__main__":
            env, policy, rollout = make("CartPole-v1"), Policy(), Rollout()
            learner = Learner(policy)
            for _ in range(1000):
                play(env, policy, rollout)
                learner.learn(rollout)
    """
    files = {"rollout.py": ROLLOUT, "policy.py": POLICY, "learner.py": learner, "play.py": play}
    assert Project(tmp_path, files).found() == told
