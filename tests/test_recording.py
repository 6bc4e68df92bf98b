"""Histories of the allocator that a training fills without end, and how they are bounded."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.fix import fix_source
from torchlint.source import Source

HEAD = "import sys\nimport torch.cuda.memory as memory\nfrom itertools import islice\n"

TRAIN = """
def train(batches):
    for x in batches:
        model(x).sum().backward()
        optimizer.step()
"""


def recorded(source: str) -> int:
    """How many unbounded recordings are found."""
    return len(Program(HEAD + TRAINING + TRAIN + source).facts.recordings)


@pytest.mark.parametrize(
    "call",
    [
        "memory._record_memory_history()",
        "memory._record_memory_history('all', stacks='python')",
        "torch.cuda.memory._record_memory_history(max_entries=sys.maxsize)",
    ],
)
def test_a_history_without_bound_is_found(call: str) -> None:
    assert recorded(f"{call}\ntrain(loader)\n") == 1


@pytest.mark.parametrize(
    "call",
    [
        "memory._record_memory_history(max_entries=1000)",
        "memory._record_memory_history('all', 'all', 'python', 1000)",
        "memory._record_memory_history('state')",
        "memory._record_memory_history(True)",
        "memory._record_memory_history(*options)",
    ],
)
def test_another_history_is_not(call: str) -> None:
    assert recorded(f"options = []\n{call}\ntrain(loader)\n") == 0


def test_it_takes_a_long_training_afterwards() -> None:
    start = "memory._record_memory_history()\n"
    assert recorded(start) == 0
    assert recorded("train(loader)\n" + start) == 0
    assert recorded(f"{start}model(torch.ones(3)).sum().backward()\n") == 0
    assert recorded(start + "for step, x in zip(range(3), loader):\n    model(x).sum().backward()\n") == 0


def test_a_framework_may_train() -> None:
    source = (
        "from lightning import Trainer\nmemory._record_memory_history()\nTrainer(max_epochs=3).fit(model, loader)\n"
    )
    assert recorded(source) == 1


def test_who_switches_it_off_ends_it() -> None:
    assert recorded("memory._record_memory_history()\ntrain(loader)\nmemory._record_memory_history(None)\n") == 0


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        ("memory._record_memory_history()", "memory._record_memory_history(max_entries=100000)"),
        (
            "memory._record_memory_history('all', stacks='all')",
            "memory._record_memory_history('all', stacks='all', max_entries=100000)",
        ),
        (
            "memory._record_memory_history(max_entries=sys.maxsize)",
            "memory._record_memory_history(max_entries=100000)",
        ),
        ("memory._record_memory_history(\n    'all',\n)", "memory._record_memory_history(\n    'all',\n)"),
    ],
)
def test_the_repair_bounds_it(call: str, fixed: str) -> None:
    before = Program(f"{HEAD}{TRAINING}{TRAIN}{call}\ntrain(loader)\n").text
    rule = rule_of("TLK504")
    assert rule is not None
    source = Source("program.py", before, "utf-8", False)
    outcome = fix_source(source, lambda s: check(s, [rule]).diagnostics, unsafe=False)
    assert outcome.text == before.replace(call, fixed)
