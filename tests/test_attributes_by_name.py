"""Attributes that a text names: what is put there grows as what is written plainly, and what empties them ends it."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program
from rule_programs import diagnose

from torchlint.source import Source

PROGRAM = """
from dataclasses import dataclass, fields
import torch
from torch import nn

class Log:
    def __init__(self):
        self.rows, self.more, self.total = [], [], 0.0
    def add(self, value, **named):
        {kept}
    def end(self):
        {end}
    def put(self, name, value):
        {put}

def main(loader):
    net, log = nn.Linear(4, 4), Log()
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        log.add(loss, rows=loss)
        log.put("rows", loss.item())
        log.end()
"""


def told(kept: str, end: str = "pass", put: str = "pass") -> set[str]:
    text = PROGRAM.replace("{kept}", kept).replace("{end}", end).replace("{put}", put)
    return {found.code for found in diagnose(Source("train.py", text))}


GROWING = [
    ('self.__dict__["rows"].append(value)', "TLK102"),
    ('vars(self)["rows"].append(value)', "TLK102"),
    ('for name in ("rows",): getattr(self, name).append(value)', "TLK102"),
    ("for name, one in named.items(): getattr(self, name).append(one)", "TLK105"),
    ("for name, one in named.items(): self.__dict__[name].append(one)", "TLK105"),
    ('self.__dict__["total"] += value', "TLK101"),
    ('vars(self)["total"] = self.total + value', "TLK101"),
    ("vars(self).update(total=self.total + value)", "TLK101"),
    ('self.__dict__.update({"total": self.total + value})', "TLK101"),
]

ENDS = {
    "TLK102": [
        'self.__dict__["rows"] = []',
        'vars(self)["rows"] = []',
        'self.__dict__["rows"].clear()',
        'self.__dict__.pop("rows")',
        'del self.__dict__["rows"]',
        "vars(self).update(rows=[])",
        'for name in ("rows", "total"): setattr(self, name, [])',
        "for name in vars(self): self.__dict__[name] = []",
        "for name in self.__dict__: setattr(self, name, [])",
        "for name, old in vars(self).items(): setattr(self, name, [])",
        "for one in fields(self): setattr(self, one.name, [])",
    ],
    "TLK101": ['self.__dict__["total"] = 0.0', 'for name in ("rows", "total"): setattr(self, name, 0.0)'],
}


@pytest.mark.parametrize(("kept", "code"), GROWING)
def test_an_attribute_that_a_text_names_is_that_attribute(kept: str, code: str) -> None:
    assert code in told(kept)
    assert not told(kept.replace("value", "value.item()").replace("(one)", "(one.item())"))


@pytest.mark.parametrize("end", ENDS["TLK102"])
def test_what_sets_it_anew_by_its_name_ends_it(end: str) -> None:
    assert "TLK102" not in told("self.rows.append(value)", end)


@pytest.mark.parametrize("end", ENDS["TLK101"])
def test_so_it_is_with_a_sum(end: str) -> None:
    assert "TLK101" not in told("self.total += value", end)


def test_what_ends_another_attribute_does_not() -> None:
    assert "TLK102" in told("self.rows.append(value)", 'self.__dict__["total"] = 0.0')
    assert "TLK102" in told("self.rows.append(value)", 'for name in ("total", "more"): setattr(self, name, 0.0)')


@pytest.mark.parametrize(("name", "found"), [("rows", False), ("more", True)])
def test_a_name_that_the_callers_pass_is_what_they_write(name: str, found: bool) -> None:
    text = PROGRAM.replace('"rows", loss.item()', f'"{name}", loss').replace("{kept}", "pass")
    text = text.replace("{put}", "self.__dict__[name].append(value)").replace("{end}", "self.rows.clear()")
    assert ("TLK102" in {one.code for one in diagnose(Source("train.py", text))}) is found


def test_what_is_read_by_the_name_that_a_caller_passes_is_not_what_another_one_reads() -> None:
    text = PROGRAM.replace("{kept}", "self.last, self.seen = value, 3").replace("{end}", "pass")
    text = text.replace('log.put("rows", loss.item())', 'total += log.put("seen", 0); print(log.put("last", 0))')
    text = text.replace("    for x in", "    total = 0\n    for x in").replace("{put}", "return getattr(self, name)")
    assert "TLK101" not in {found.code for found in diagnose(Source("train.py", text))}


def test_a_function_of_its_own_that_is_named_vars_says_nothing() -> None:
    shadowed = PROGRAM.replace("class Log", "def vars(one):\n    return {}\n\nclass Log")
    text = shadowed.replace("{kept}", "self.rows.append(value)").replace("{end}", 'vars(self)["rows"] = []')
    assert "TLK102" in {found.code for found in diagnose(Source("train.py", text.replace("{put}", "pass")))}


def test_of_methods_that_callers_name_each_runs_its_own() -> None:
    text = """
import torch
from torch import nn

class Work:
    def __init__(self):
        self.net = nn.Linear(4, 4)
    def tune(self, x):
        self.net(x).sum().backward()
    def score(self, x):
        return self.net(x).argmax(1)
    def run(self, name, x):
        return getattr(self, name)(x)

def main(loader):
    work = Work()
    for x in loader:
        work.run("tune", x)
        with torch.no_grad():
            work.run("score", x)
"""
    assert not diagnose(Source("train.py", text))
    assert [one.line for one in diagnose(Source("train.py", text.replace("torch.no_grad()", "open(x)")))] == [10]


LISTED = 'class Log:\n    listed = ("rows", "total")\n'


@pytest.mark.parametrize(
    ("put", "end", "grows"),
    [
        ("pass", "for name in self.listed: setattr(self, name, [])", False),
        ('self.listed = ("more",)', "for name in self.listed: setattr(self, name, [])", True),
        ("pass", "for name in self.others: setattr(self, name, [])", True),
    ],
)
def test_the_names_may_stand_in_the_body_of_the_class(put: str, end: str, grows: bool) -> None:
    text = PROGRAM.replace("class Log:\n", LISTED).replace("{kept}", "self.rows.append(value)")
    text = text.replace("{put}", put).replace("{end}", end)
    assert ("TLK102" in {found.code for found in diagnose(Source("train.py", text))}) is grows


FIELDS = """
from dataclasses import dataclass
{at_top}

@dataclass
class Step:
    fit: torch.Tensor
    size: torch.Tensor
    pace: float

def step(x):
    fit = model(x).sum()
    size = fit.abs()
    (fit + size).backward()
    return Step(fit, size, 0.1)

totals = dict.fromkeys(["fit", "size", "pace"], 0.0)
for x, y in loader:
    done = step(x)
    for name in {names}:
        totals[name] += getattr(done, name){ending}
"""


@pytest.mark.parametrize(
    ("at_top", "names", "ending", "grows"),
    [
        ("pass", "('fit', 'size')", "", True),
        ("KEPT = ['fit', 'size']", "KEPT", "", True),
        ("pass", "('fit', 'size')", ".detach()", False),
        ("pass", "('pace',)", "", False),
        ("KEPT = ['fit']; KEPT = load()", "KEPT", "", False),
    ],
)
def test_the_fields_of_a_record_may_be_read_by_listed_names(at_top: str, names: str, ending: str, grows: bool) -> None:
    program = Program(TRAINING + FIELDS.format(at_top=at_top, names=names, ending=ending))
    assert bool(program.leaks()) is grows
