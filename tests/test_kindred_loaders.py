"""Loaders that are known by what the same code gives beside them."""

from __future__ import annotations

import pytest
from programs import Program

FRONT = "from corpora import both_sides, opened, chained\nimport itertools\n"

METHOD = """
class Adapter:
    def __init__(self, options):
        self.model = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        {made}
    def fit(self):
        for epoch in range(9):
            for x, y in {first}:
                {drawn}
                loss = F.cross_entropy(self.model(x.cuda()), y.cuda()) + self.model(z).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
"""

BOTH = "self.near, self.far = both_sides(options)"
DRAWN = "z, _ = next(iter(self.far)); z = z.cuda()"


def drawn_anew(text: str) -> int:
    kinds = [one.product.kind for one in Program(FRONT + text).facts.constructions]
    return kinds.count("iterator")


@pytest.mark.parametrize(
    ("made", "first", "drawn", "expected"),
    [
        (BOTH, "self.near", DRAWN, 1),
        (BOTH, "enumerate(self.near)", DRAWN.replace("far", "near"), 1),
        ("self.near, self.far = opened(options.near), opened(options.far)", "self.near", DRAWN, 1),
        ("self.sides = both_sides(options)", "self.sides['near']", DRAWN.replace("far", "sides['far']"), 1),
        ("self.near, (self.far, self.last) = both_sides(options)", "self.near", DRAWN, 1),
        ("self.near, self.far = opened(options), chained(options)", "self.near", DRAWN, 0),
        ("self.near, self.far = list(options.near), list(options.far)", "self.near", DRAWN, 0),
        ("self.near, self.far = itertools.cycle(options[0]), itertools.cycle(options[1])", "self.near", DRAWN, 0),
        ("self.near, self.far = options.near, options.far", "self.near", DRAWN, 0),
        (BOTH, "options", DRAWN, 0),
        (BOTH, "self.near", "z = self.read(next(iter(self.far)))", 0),
        (BOTH, "self.near", "z, _ = next(self.far); z = z.cuda()", 0),
        (BOTH + "; self.rest = iter(self.far)", "self.near", "z, _ = next(self.rest); z = z.cuda()", 0),
    ],
)
def test_what_is_given_beside_a_loader_of_each_epoch_is_one(made: str, first: str, drawn: str, expected: int) -> None:
    assert drawn_anew(METHOD.format(made=made, first=first, drawn=drawn)) == expected


def test_what_is_gone_through_once_may_be_an_iterator() -> None:
    text = METHOD.format(made=BOTH, first="self.near", drawn=DRAWN)
    assert drawn_anew(text.replace("for epoch in range(9)", "if self.near")) == 0


@pytest.mark.parametrize(("callers", "expected"), [("", 1), ("adapt(model, optimizer, [a, b])\n", 0)])
def test_an_item_of_what_is_given_is_like_the_other_items(callers: str, expected: int) -> None:
    text = """
def adapt(model, optimizer, sides):
    near, far = sides
    for epoch in range(9):
        for x, y in near:
            z, _ = next(iter(far))
            loss = F.cross_entropy(model(x), y) + model(z.cuda()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
    assert drawn_anew(text + callers) == expected


@pytest.mark.parametrize(
    ("made", "given", "expected"),
    [
        ("near, far = both_sides(options)", "near, far", 1),
        ("sides = both_sides(options)", "sides['near'], sides['far']", 1),
        ("near, far = opened(options), chained(options)", "near, far", 0),
    ],
)
def test_loaders_that_are_handed_on_stay_what_they_are(made: str, given: str, expected: int) -> None:
    text = f"""
def epoch(model, optimizer, near, far):
    for x, y in near:
        z = next(iter(far))[0].to(x.device)
        loss = F.cross_entropy(model(x), y) + model(z).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def adapt(model, optimizer, options):
    {made}
    for number in range(9):
        epoch(model, optimizer, {given})
"""
    assert drawn_anew(FRONT + text) == expected


def test_nothing_is_known_of_the_workers_of_such_a_loader() -> None:
    program = Program(FRONT + METHOD.format(made=BOTH, first="self.near", drawn=DRAWN))
    (found,) = (one for one in program.facts.constructions if one.product.kind == "iterator")
    assert not found.product.starts_workers
