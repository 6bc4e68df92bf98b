"""Which loops end after a handful of turns."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

HEAD = "import itertools\nfrom tqdm import tqdm, trange\nLIMIT = 5\n"


def is_short(header: str, body: str = "pass") -> bool:
    """What is said of a loop with this first line and body."""
    program = Program(f"{HEAD}{TRAINING}def run(args, most=20):\n    {header}\n        {body}\n")
    return program.facts.loop_lengths.is_short(program.loop(header))


@pytest.mark.parametrize(
    "header",
    [
        "for i in range(10):",
        "for i in tqdm(range(LIMIT)):",
        'for i in trange(LIMIT, desc="steps"):',
        "for i, x in zip(range(8), loader):",
        "for x in itertools.islice(loader, most):",
        "for x in (1, 2, 3):",
    ],
)
def test_a_counted_header_is_short(header: str) -> None:
    assert is_short(header)


@pytest.mark.parametrize(
    "header",
    ["for x in loader:", "for i in range(10000):", "for i in range(args.n):", "for i in trange(10000):", "while True:"],
)
def test_an_open_header_is_not(header: str) -> None:
    assert not is_short(header)


def test_a_loop_that_is_left_early_is_short() -> None:
    assert is_short("for step, x in enumerate(loader):", "if step >= LIMIT: break")
    assert not is_short("for step, x in enumerate(loader):", "if step >= args.steps: break")
    assert not is_short("for step, x in enumerate(loader):", "if step >= 100000: break")
    assert not is_short("for step, x in enumerate(loader):", "if step >= LIMIT: print(x)")


def test_a_short_training_is_no_trial() -> None:
    program = Program(
        f"{TRAINING}for i in range(8):\n    model(x).sum().backward()\n"
        "for j in range(8):\n    model(x).sum().backward()\n    optimizer.step()\n"
    )
    lengths = program.facts.loop_lengths
    assert lengths.is_trial(program.loop("for i in"))
    assert not lengths.is_trial(program.loop("for j in"))


BATCHES = """
def batches(count, seed=0):
    {body}
for x, y in batches({count}):
    model(x).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "count", "is_short"),
    [
        ("for _ in range(count):\n        yield draw(seed), seed", "3", True),
        ("for _ in range(count):\n        yield draw(seed), seed", "30000", False),
        ("for _ in range(count):\n        yield draw(seed), seed", "many", False),
        ("while True:\n        yield draw(seed), seed", "3", False),
        ("yield from loader", "3", False),
    ],
)
def test_a_generator_yields_as_often_as_it_is_told(body: str, count: str, is_short: bool) -> None:
    facts = Program(TRAINING + BATCHES.format(body=body, count=count)).facts
    (loop,) = [loop for loop in facts.graph.loops if loop.function is facts.graph.module]
    assert facts.loop_lengths.is_short(loop) is is_short
