"""Learners that adapt themselves: learn2learn asks for the gradients of what a learner gives, and adds to none."""

from __future__ import annotations

import pytest
from programs import Program
from torchlint.rules.tlk102_graph_stored import GraphStored
from torchlint.rules.tlk203_frozen_forward_with_grad import FrozenForwardWithGrad

PROGRAM = """
import learn2learn as l2l
from torch.nn import functional as F

def adapted(learner, task):
    x, y, u, v = task
    for _ in range(3):
        learner.adapt(F.cross_entropy(learner(x), y))
    return F.cross_entropy(learner(u), v)

def measure(net, tasks):
    maml, errors = l2l.algorithms.MAML(net, lr=0.1), []
    for task in tasks:
        learner = maml.clone()
        errors.append({kept})
    print(torch.tensor(errors).mean())
"""

TRAINED = """
def train(net, tasks):
    maml = l2l.algorithms.MAML(net, lr=0.1)
    optimizer = torch.optim.Adam(maml.parameters())
    for task in tasks:
        optimizer.zero_grad()
        learner = maml.clone()
        F.cross_entropy(learner(task[0]), task[1]).backward()
        optimizer.step()
        print(adapted(maml.clone(), task).item())
"""


@pytest.mark.parametrize(
    ("kept", "number"),
    [
        ("adapted(learner, task)", 1),
        ("adapted(learner, task).detach()", 0),
        ("adapted(learner, task).item()", 0),
        ("adapt(learner, task)", 0),  # of which nothing is seen
    ],
)
def test_what_an_adapted_learner_gives_has_a_graph(kept: str, number: int) -> None:
    facts = Program(PROGRAM.format(kept=kept)).facts
    assert len(list(GraphStored().check(facts))) == number  # nothing else says so: no backward is seen


def test_a_learner_that_is_cloned_and_adapted_gets_no_gradients_in_vain() -> None:
    facts = Program(PROGRAM.format(kept="adapted(learner, task).detach()") + TRAINED).facts
    assert not list(FrozenForwardWithGrad().check(facts))
