"""Operators that classes of the project define, and the assignment of an item: they run a method like any call."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

LOG = """
class Log:
    def __init__(self):
        self.rows, self.total, self.last = [], 0.0, None

    def {method}:
        {keeps}
        return self

log = Log()
"""

STEP = """
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {noted}
print(log)
"""


def leaks(method: str, keeps: str, noted: str) -> list[str]:
    return Program(LOG.format(method=method, keeps=keeps) + TRAINING + STEP.format(noted=noted)).leaks()


@pytest.mark.parametrize(
    ("method", "noted"),
    [
        ("__iadd__(self, value)", "log += loss"),
        ("__add__(self, value)", "log += loss"),
        ("__add__(self, value)", "log = log + loss"),
        ("__lshift__(self, value)", "log << loss"),
        ("__imatmul__(self, value)", "log @= loss"),
        ("__setitem__(self, name, value)", "log['loss'] = loss"),
        ("__setitem__(self, name, value)", "log['loss', 0] = loss"),
        ("__setitem__(self, name, value)", "for name in ('a', 'b'):\n        log[name] = loss"),
    ],
)
@pytest.mark.parametrize(
    ("keeps", "holder"),
    [("self.rows.append(value)", "self.rows"), ("self.total = self.total + value", "self.total")],
)
def test_a_method_that_an_operator_runs_keeps_what_it_is_given(
    method: str, noted: str, keeps: str, holder: str
) -> None:
    assert leaks(method, keeps, noted) == [holder]


@pytest.mark.parametrize("keeps", ["self.rows.append(float(value))", "self.total += value.detach()", "print(value)"])
@pytest.mark.parametrize(
    ("method", "noted"),
    [("__iadd__(self, value)", "log += loss"), ("__setitem__(self, name, value)", "log['loss'] = loss")],
)
def test_one_that_keeps_a_number_keeps_no_graph(method: str, noted: str, keeps: str) -> None:
    assert leaks(method, keeps, noted) == []


TERMS = """
class Terms:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Terms(self.value + other.value)

for x, y in loader:
    terms = Terms(F.cross_entropy(model(x), y)) + Terms(model(x).square().mean())
    optimizer.zero_grad()
    terms.value.backward()
    optimizer.step()
"""


def test_a_sum_of_objects_is_one_more_object_of_the_step() -> None:
    assert Program(TRAINING + TERMS).leaks() == []


def test_an_item_of_a_dictionary_is_assigned_beside_a_class_that_does_so_itself() -> None:
    log = LOG.format(method="__setitem__(self, name, value)", keeps="self.rows.append(float(value))")
    noted = "rows[len(rows)] = loss\n    log['loss'] = loss"
    assert Program(f"rows = {{}}\n{log}{TRAINING}{STEP.format(noted=noted)}print(rows)").leaks() == ["rows"]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("Scaled() * loss", {"live"}),
        ("loss * 2", {"live"}),
        ("Scaled() / loss", {"no tensor"}),
    ],
)
def test_what_an_operator_gives_is_what_its_method_returns(expression: str, kind: set[str]) -> None:
    source = f"""
class Scaled:
    def __mul__(self, value):
        return 3 * value

    def __truediv__(self, value):
        return self

{TRAINING}
loss = model(torch.zeros(1, 3)).sum()
print({expression})
"""
    program = Program(source)
    assert program.kinds(program.shown()) == kind


TOTALS = """
from dataclasses import dataclass

@dataclass
class Totals:
    loss: float = 0.0
    count: int = 0

    def __add__(self, other):
        return Totals(self.loss + other.loss, self.count + other.count)

totals = Totals()
"""


@pytest.mark.parametrize(("given", "found"), [("loss", ["totals"]), ("loss.item()", []), ("loss.detach()", [])])
def test_a_sum_of_records_holds_what_each_of_them_was_made_with(given: str, found: list[str]) -> None:
    noted = f"totals = totals + Totals({given}, 1)"
    assert Program(TOTALS + TRAINING + STEP.format(noted=noted).replace("print(log)", "print(totals)")).leaks() == found


BOOK = """
from collections import defaultdict

class Average:
    def __init__(self):
        self.total, self.n = 0.0, 0
    def __iadd__(self, pair):
        value, n = pair
        self.total += {kept}
        self.n += n
        return self

class Book:
    def __init__(self):
        self.pages = defaultdict(Average)
    def __getitem__(self, name):
        return self.pages[name]
    def __setitem__(self, name, page):
        self.pages[name] = page

log = Book()
"""


@pytest.mark.parametrize(("kept", "found"), [("value * n", ["self.total"]), ("float(value) * n", [])])
def test_a_pair_that_is_added_to_an_item_is_told_where_that_keeps_it(kept: str, found: list[str]) -> None:
    source = BOOK.format(kept=kept) + TRAINING + STEP.format(noted='log["loss"] += (loss, len(x))')
    assert Program(source).leaks() == found
