"""What holds for every program, on programs that nobody wrote; ``scripts/fuzz.py`` runs as many as one likes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from random import Random
from textwrap import dedent

import hypothesmith
import pytest
from generated_programs import training_program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_properties import diagnose, verdict
from spliced_programs import spliced_program

from torchlint.source import Source

FEW = {"derandomize": True, "deadline": None, "suppress_health_check": list(HealthCheck)}

RANDOM = st.randoms(use_true_random=False)


def problems(text: str) -> list[str]:
    return verdict(Source("generated.py", text))[2]


@settings(max_examples=60, **FEW)
@given(RANDOM)
def test_training_programs(random: Random) -> None:
    assert problems(training_program(random)) == []


@settings(max_examples=40, **FEW)
@given(RANDOM)
def test_mutations_of_the_rules_programs(random: Random) -> None:
    assert problems(spliced_program(random)) == []


@settings(max_examples=8, **FEW)
@given(hypothesmith.from_node())
def test_any_valid_python(text: str) -> None:
    assert problems("import torch\n" + text) == []


@pytest.mark.parametrize("generate", [training_program, spliced_program])
def test_a_seed_names_one_valid_program_and_many_hold_findings(generate: Callable[[Random], str]) -> None:
    texts = [generate(Random(seed)) for seed in range(30)]
    assert texts == [generate(Random(seed)) for seed in range(30)]
    assert all(ast.parse(text) for text in texts)
    assert sum(bool(diagnose(text)) for text in texts) > 2


FOUND = {
    "a function that returns what it returns itself": """
        def fold(x):
            return fold(x)

        kept = []
        for x in torch.utils.data.DataLoader(data):
            kept.append(fold(x))
        """,
    "a sum that stands in a tuple": """
        def fit(loss):
            global total
            loss.backward(create_graph=True)
            total, n = total + loss, 1
        """,
    "torch by way of itself": """
        import torch.torch as torch

        def show(x):
            net = torch.nn.Linear(3, 3)
            net.eval()
            print(net(x).argmax())
        """,
    "who holds a model, where it is computed with itself": """
        for i in a:
            total.add_(a)
        else:
            model = None
        model = a
        self = total.backward()
        match a:
            case None | False:
                total = a
        """,
    "a module that is moved again and again": """
        net = torch.nn.RNNCell(3, 3)
        state = torch.zeros(3)
        for x in loader:
            net = net.to(device)
            state = net(x, state)
            print(state)
        """,
    "a training loop whose backward runs in another file": """
        def train(model, loader):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                out = model(x)
                optimizer.step()
                out = out(out)
        """,
    "a state that is carried by a script without a function or a class": """
        for x in losses:
            loss.backward(retain_graph=True)
            loss = model(x)
            losses += [loss]
        """,
    "a figure whose name becomes another figure's": """
        import matplotlib.pyplot as plt
        for x in loader:
            loss.backward()
            fig, axes = plt.subplots(figsize=1)
            fig = plt.subplots(figsize=1)
        """,
}
"""Programs, made as small as can be, of which something did not hold once."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_wrong_once_stays_right(name: str) -> None:
    assert problems("import torch\n" + dedent(FOUND[name])) == []
