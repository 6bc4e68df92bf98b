"""Methods of networks that are not seen, of which one answer is trained on and another one cut off."""

from __future__ import annotations

import pytest
from programs import Program
from torchlint.rules.tlk102_graph_stored import GraphStored

PROGRAM = """
from networks import Judge

class Player:
    def __init__(self, world):
        self.world, self.judge, self.other = world, Judge(), Judge()
        self.optimizer = torch.optim.SGD([*self.judge.parameters(), *self.other.parameters()], lr=0.1)

    def play(self, x):
        worths, seen = [], []
        for _ in range(self.steps):
            {asked}
            x = self.world.step(x, float({cut}.sum()))
            worths.append(worth)
            seen.append(x)
        back = sum(worth.sum().item() for worth in worths)
        for x in seen:
            self.optimizer.zero_grad()
            ({trained} - back).pow(2).mean().backward()
            self.optimizer.step()
"""


def told(
    asked: str = "worth = self.judge.value(x)", cut: str = "worth.data", trained: str = "self.judge.value(x)"
) -> bool:
    """Whether a list of worths is told to keep graphs."""
    facts = Program(PROGRAM.format(asked=asked, cut=cut, trained=trained)).facts
    return bool(list(GraphStored().check(facts)))


def test_who_trains_by_one_answer_and_cuts_another_one_knows_of_its_graph() -> None:
    assert told()
    assert told(trained="look(self.world.seen(x), self.judge.value(x))")
    assert told(cut="worth")  # a backward proves it, too
    assert told(asked="worth, _ = self.judge.value(x)", trained="self.judge.value(x)[0]")


@pytest.mark.parametrize(
    ("asked", "cut", "trained"),
    [
        (
            "worth = self.judge.value(x)",
            "worth",
            "look(self.world.seen(x), self.judge.value(x))",
        ),  # nothing is proven or cut
        ("worth = self.judge.value(x)", "worth.data", "self.judge(x)"),  # nobody trains by the method
        ("worth = self.judge.value(x)", "worth.data", "self.judge.worth(x)"),
        ("worth = self.judge.value(x)", "worth.data", "self.other.value(x)"),
        ("worth = self.judge.value(x)", "worth.data", "self.judge.value(x, learn=True)"),
        ("worth = self.judge.value(x, 0)", "worth.data", "self.judge.value(x, 1)"),
        ("worth, _ = self.judge.value(x)", "worth.data", "self.judge.value(x)[1]"),
        ("worth, _ = self.judge.value(x)", "worth.data", "self.judge.value(x)"),
        (
            "worth = self.judge.value(x.tanh())",
            "worth.data",
            "self.judge.value(self.other(x))",
        ),  # it may come from there
        ("with torch.no_grad(): worth = self.judge.value(x)", "worth.data", "self.judge.value(x)"),
    ],
)
def test_an_answer_of_which_that_is_not_known(asked: str, cut: str, trained: str) -> None:
    assert not told(asked, cut, trained)
