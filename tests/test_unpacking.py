"""What unpacking a result tells of it, and what takes only the type of another tensor."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program
from rule_programs import diagnose

from torchlint.facts.turns.unit_tests import UnitTests
from torchlint.source import Source

JUDGE = """
def judge(scores, y, both):
    loss = F.cross_entropy(scores, y)
    if both:
        return loss, float(y.sum())
    return loss
"""


def test_who_unpacks_a_result_has_asked_for_the_tuple() -> None:
    source = f"{TRAINING}{JUDGE}for x, y in loader:\n    loss, share = judge(model(x), y, True)\n"
    program = Program(f"{source}    print(loss, share)\n")
    assert [program.facts.flows.live(part) is not None for part in program.printed()] == [True, False]


def test_a_column_of_rows_is_made_of_their_items() -> None:
    source = f"{TRAINING}pairs = []\nfor x, y in loader:\n    pairs.append((model(x).sum(), y))\n"
    program = Program(f"{source}for column in zip(*pairs):\n    print(torch.stack(column).detach(), column[0])\n")
    assert [program.facts.flows.live(part) is not None for part in program.printed()] == [False, True]


def accumulated(update: str) -> list[str]:
    """What an attribute of a decoder takes from a tensor with a graph."""
    source = (
        f"{TRAINING}class Grid:\n    def __init__(self):\n        self.cells = torch.ones(3)\n"
        f"    def decode(self, heat):\n        self.cells = {update}\n        return self.cells * 2\n"
        "grid = Grid()\nfor x, y in loader:\n    grid.decode(model(x))\n"
    )
    facts = Program(source).facts
    return [facts.name_of(use) for found in facts.accumulations for use in found.added]


def test_a_type_taken_from_another_tensor_brings_no_graph() -> None:
    assert accumulated("self.cells + heat") == ["heat"]
    assert accumulated("self.cells.to(heat)") == []
    assert accumulated("self.cells.expand_as(heat)") == []


def test_what_tests_inherit_holds_tests() -> None:
    source = "class {name}:\n    def test_shapes(self):\n        assert self.build()(1) == 2\n"
    named = {
        name: Program(source.format(name=name)).facts.unit_tests for name in ("RoundTripTesterMixin", "ContestMixin")
    }
    assert [_has(tests) for tests in named.values()] == [True, False]


def _has(tests: UnitTests) -> bool:
    return any(tests.has(function) for function in tests.solution.graph.functions)


def counted(end: str) -> list[str]:
    source = (
        "def judge(model, rows):\n    model.eval()\n    seen = 0\n    for row in rows:\n        out = model(row)\n"
        f"        seen += out['seen']\n    {end}\n"
    )
    facts = Program(source).facts
    return [facts.name_of(use) for found in facts.accumulations for use in found.added]


def test_what_is_summed_up_to_divide_by_is_a_number() -> None:
    assert len(counted("return seen / 3")) == 1
    assert counted("return 3 / seen") == []


def stored(after: str) -> int:
    """How many tensors with a graph a loop over drawn cells stores in a field that a library makes."""
    source = (
        f"{TRAINING}import mesh\ndef grow(loader):\n    field = mesh.Field()\n    for x, y in loader:\n"
        f"        field.rows['x'][y] = model(x)\n        {after}\n"
    )
    return len(Program(source).facts.insertions)


def test_what_unseen_code_computes_on_is_no_record() -> None:
    assert stored("print(field)") == 1
    assert stored("edges = mesh.dual(field)\n        edges.pull()") == 0


def shared(again: str) -> bool:
    """Whether what a function puts into a dictionary, and then replaces, has a graph for who gets it."""
    source = (
        f"{TRAINING}def tides(x):\n    parts = {{'ebb': model(x).sum(), 'flow': model(x).max()}}\n"
        f"    for name, part in parts.items():\n        parts[name] = {again}\n    return parts\n"
        "for x, y in loader:\n    print(tides(x)['ebb'])\n"
    )
    program = Program(source)
    return program.facts.flows.live(program.shown()) is not None


def test_what_replaces_every_item_of_a_dictionary_is_all_that_is_in_it() -> None:
    assert shared("part * 2")
    assert not shared("part.detach()")


ROLLOUT = """
import torch
from torch import nn


class Rollout:
    def __init__(self):
        self.clear()

    def clear(self):
        self.chances, self.worths = [], []

    def keep(self, chance, worth, reward=0.0):
        self.chances.append(chance)
        self.worths.append(worth)

    def stacked(self):
        return torch.stack(self.chances), torch.stack(self.worths)


class Learner:
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
        self.rollout = Rollout()

    def act(self, seen):
        out = self.net(seen)
        return out.argmax(), (out[0], out[1])

    def update(self):
        chances, worths = self.rollout.stacked()
        loss = (chances * worths).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.rollout.clear()


def main(world):
    learner = Learner()
    for _ in range(1000):
        for _ in range(5):
            action, answers = learner.act(world.look())
            reward = world.step(action.item())
            {kept}
        learner.update()
"""


@pytest.mark.parametrize(
    "passed", ["*answers", "*answers, reward", "answers[0], *answers[1:], reward", "*answers, reward=reward"]
)
def test_what_a_star_spreads_over_parameters_is_what_these_are(passed: str) -> None:
    text = ROLLOUT.replace("{kept}", f"learner.rollout.keep({passed})")
    assert not diagnose(Source("act.py", text))
