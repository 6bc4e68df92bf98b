"""Profilers around whole trainings, and those that look at a few steps."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

HEAD = """
from itertools import islice
from contextlib import ExitStack, nullcontext
from torch.autograd import profiler
from torch.profiler import profile, schedule
"""

TRAIN = """
def train(batches):
    for x in batches:
        model(x).sum().backward()
        optimizer.step()
"""


def found(source: str) -> int:
    """How many profilers are found."""
    return len(Program(HEAD + TRAINING + TRAIN + source).facts.profilings)


@pytest.mark.parametrize(
    "source",
    [
        "with profile() as p:\n    train(loader)\n",
        "with ExitStack() as stack:\n    p = stack.enter_context(profile())\n    train(loader)\n",
        "with profile(schedule=None), torch.no_grad():\n    for x in loader:\n        print(model(x))\n",
        "with profiler.profile(enabled=args.on):\n    train(loader)\n",
        "p = profile()\np.start()\ntrain(loader)\np.stop()\n",
        "p = profile() if args.on else nullcontext()\nwith p:\n    train(loader)\n",
        "with profile() if args.on else nullcontext():\n    train(loader)\n",
        "def make():\n    return profile() if args.on else nullcontext()\nwith make() as p:\n    train(loader)\n",
        "def make():\n    return profile()\nwith ExitStack() as s:\n    s.enter_context(make())\n    train(loader)\n",
        "def make():\n    return profile()\np = make()\np.start()\ntrain(loader)\np.stop()\n",
        "def fit(p):\n    with p:\n        train(loader)\nfit(profile())\n",
        "def make():\n    p = profile()\n    return p\ndef fit(xs, p):\n    with p:\n        train(xs)\n"
        "def begin(p):\n    fit(loader, p=p)\nbegin(make())\n",
        "import contextlib\n@contextlib.contextmanager\ndef timed():\n    with profile() as p:\n        yield p\n"
        "with timed():\n    train(loader)\n",
    ],
)
def test_a_whole_training_is_recorded(source: str) -> None:
    assert found("args = input()\n" + source) == 1


@pytest.mark.parametrize(
    "source",
    [
        "with profile(schedule=schedule(wait=1, warmup=1, active=2)):\n    train(loader)\n",
        "with profile(schedule=args.schedule):\n    train(loader)\n",
        "with profile(**args):\n    train(loader)\n",
        "with profiler.profile(False):\n    train(loader)\n",
        "with profile():\n    train(islice(loader, 4))\n",
        "import contextlib\n@contextlib.contextmanager\ndef timed():\n    with profile() as p:\n        yield p\n"
        "with timed():\n    train(islice(loader, 4))\n",
        "def make():\n    return profile()\ndef fit(p):\n    with p:\n        train(islice(loader, 4))\nfit(make())\n",
        "def make():\n    return profile(), nullcontext()\nwith make()[1]:\n    train(loader)\n",
        "def fit(p, q):\n    with q:\n        train(loader)\nfit(profile(), nullcontext())\n",
        "with profile():\n    model(torch.ones(3))\ntrain(loader)\n",
        "for x in loader:\n    with profile():\n        model(x).sum().backward()\n",
        "p = profile()\np.start()\ntrain(islice(loader, 4))\np.stop()\ntrain(loader)\n",
        "p = profile()\np.start()\nfor i, x in enumerate(loader):\n    model(x).sum().backward()\n"
        "    if i == args.last:\n        p.stop()\n",
    ],
)
def test_a_few_steps_are(source: str) -> None:
    assert found("args = input()\n" + source) == 0


@pytest.mark.parametrize(
    ("made", "is_asked_for"),
    [("profile()", False), ("profiler.profile(True)", False), ("profiler.profile(enabled=args.on)", True),
     ("profile() if args.on else nullcontext()", True)],
)  # fmt: skip
def test_who_switches_a_profiler_on_asks_for_all_of_it(made: str, is_asked_for: bool) -> None:
    program = Program(f"{HEAD}{TRAINING}{TRAIN}args = input()\nwith {made}:\n    train(loader)\n")
    assert [profiling.is_asked_for for profiling in program.facts.profilings] == [is_asked_for]


def test_a_unit_test_profiles_a_handful_of_items() -> None:
    source = "{}\n    with profile() as p:\n        for x in track(batches):\n            model(x)\n    assert p\n"
    assert found("from elsewhere import track\n" + source.format("def run(batches):") + "run(loader)\n") == 1
    assert found("from elsewhere import track\n" + source.format("def test_run(batches):")) == 0
