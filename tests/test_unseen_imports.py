"""One file of a project, alone: what it imports is not there, and what it says all the same is enough, or is not."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchlint.catalog import rules
from torchlint.engine import check
from torchlint.source import Source


def told(program: str) -> list[str]:
    """The codes of all findings, notes among them."""
    return [one.code for one in check(Source("program.py", dedent(program)), rules()).diagnostics]


MODEL_OF_A_REQUEST = """
    import torch
    from fastapi import FastAPI
    from wiki.modeling import {name}, tokenizer

    app = FastAPI()
    kept = {name}(8)

    @app.post("/translate")
    def translate(text: str):
        model = {made}
        model.to("cuda")
        model.eval()
        with torch.inference_mode():
            return model(tokenizer(text)).argmax(1).tolist()
"""


@pytest.mark.parametrize(
    ("name", "made", "codes"),
    [
        ("Translator", "Translator(8)", ["TLK301"]),
        ("translator", "translator(8)", []),
        ("Translator", "Translator(kept.eval())", []),
        ("Translator", "kept", []),
    ],
    ids=["a class", "a function, which may remember", "a wrapper", "made once"],
)
def test_what_is_written_as_a_class_and_used_as_a_network_is_a_new_one(name: str, made: str, codes: list[str]) -> None:
    assert told(MODEL_OF_A_REQUEST.format(name=name, made=made)) == codes


FIGURES = """
    import matplotlib.pyplot as plt
    import torch
    from flows import build, Minimizer

    @torch.no_grad()
    def draw(flow, epoch):
        flow.eval()
        fig, ax = plt.subplots()
        ax.imshow(flow.log_prob(torch.zeros(4, 2)).view(2, 2).cpu().numpy())
        fig.savefig(f"{{epoch}}.png")
        {close}

    def main(args):
        flow = build(args)
        minimizer = Minimizer(flow)
        for epoch in range(args.epochs):
            {mode}
            for x in args.rows:
                minimizer.take(-flow.log_prob(x).mean())
            draw(flow, epoch)
"""


@pytest.mark.parametrize(
    ("mode", "close", "codes"),
    [
        ("flow.train()", "pass", ["TLK503"]),
        ("flow.train()", "plt.close(fig)", []),
        ("flow.train(False)", "plt.close(fig)", ["TLK201"]),
        ("args.train()", "plt.close(fig)", []),
    ],
)
def test_whoever_puts_a_model_into_training_mode_in_each_turn_trains_there(
    mode: str, close: str, codes: list[str]
) -> None:
    assert told(FIGURES.format(mode=mode, close=close)) == codes


PROTOTYPES = """
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Prototypes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(4, 8))
            self.register_buffer("mean", torch.zeros(4, 8))

        def follow(self, features, labels):
            self.mean = 0.9 * self.mean + 0.1 * (F.one_hot(labels, 4).float().t() @ {features})

        def forward(self, features, labels=None):
            if {asked}:
                self.follow(features, labels)
            return features @ self.weight.t()

        def loss(self, features, labels):
            return F.cross_entropy({asks}, labels)
"""


@pytest.mark.parametrize(
    ("asked", "features", "asks", "codes"),
    [
        ("self.training", "features", "self(features, labels)", ["TLK103"]),
        ("self.training", "features", "features", ["TLK103"]),
        ("self.training", "features.detach()", "self(features, labels)", []),
        ("not self.training", "features", "self(features, labels)", []),
    ],
)
def test_a_method_that_runs_only_in_training_updates_a_state_there(
    asked: str, features: str, asks: str, codes: list[str]
) -> None:
    assert told(PROTOTYPES.format(asked=asked, features=features, asks=asks)) == codes


DECORATED = """
    import torch
    from torch import nn
    from engine import {name}

    class Learner(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 3)

        @{name}
        def loss(self, x):
            return self.net(x).pow(2).mean()

        @{name}
        def target(self):
            return nn.Linear(3, 3)

    def fit(learner, loader):
        learner = Learner()
        for x in loader:
            print(learner.loss(x).item())
"""


@pytest.mark.parametrize(("name", "codes"), [("optimizes", []), ("register_loss", ["TLK201"])])
def test_what_an_unseen_decorator_makes_of_a_function_is_not_known(name: str, codes: list[str]) -> None:
    assert told(DECORATED.format(name=name)) == codes


COPIED = """
    import copy
    import torch
    from torch import nn
    {imported}

    class Twins(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = nn.Linear(3, 3)

        {decorator}
        def twin(self):
            return copy.deepcopy(self.net).requires_grad_(False)

        def forward(self, x):
            with torch.no_grad():
                wanted = self.twin()(x)
            return (self.net(x) - wanted).pow(2).mean()
"""


def test_an_unseen_decorator_may_keep_what_is_made_once() -> None:
    assert told(COPIED.format(imported="from kit import singleton", decorator='@singleton("target")')) == []
    assert told(COPIED.format(imported="", decorator="")) == ["TLK301"]


ROLLED = """
    import torch
    from torch import nn

    class Dynamics(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRUCell(3, 3).cuda(), nn.Linear(3, 3).cuda()

        def advance(self, state, action):
            after = self.cell(action.cuda(), state)
            return after, self.head(after)

        @torch.no_grad()
        def observe(self, seen, actions):
            state, states = torch.zeros(4, 3).cuda(), []
            for action in actions:
                after, guess = self.advance({before}, action)
                state = after + seen
                states.append(after)
            return torch.cat(states)
"""


@pytest.mark.parametrize(("before", "codes"), [("state", []), ("seen", ["TLK401"])])
def test_what_a_recurrence_gives_at_each_step_is_one_sample(before: str, codes: list[str]) -> None:
    assert told(ROLLED.format(before=before)) == codes
