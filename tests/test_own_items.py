"""Classes that are containers themselves, ``class Tally(dict)``: what is put into ``self``, and how long it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import HEAD, TRAINING, Program
from projects import Project

from torchlint import check_source

IMPORTS = f"{HEAD}from collections import OrderedDict, UserDict, defaultdict, deque\n"

STEP = """
{made}
for x, y in loader:
    {anew}
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {noted}
print(log)
"""


def leaks(cls: str, noted: str = "log.note(loss)", made: str = "log = Log()", anew: str = "pass") -> list[str]:
    program = cls + TRAINING + STEP.format(made=made, noted=noted, anew=anew)
    return Program(program, head=IMPORTS).leaks()


SUMS = """
class Log({base}):
    def note(self, loss):
        self["loss"] = {old} + {new}
"""


@pytest.mark.parametrize("base", ["dict", "OrderedDict", "UserDict", "defaultdict"])
def test_a_sum_that_an_object_has_under_a_key(base: str) -> None:
    assert leaks(SUMS.format(base=base, old="self.get('loss', 0)", new="loss")) == ["self"]
    assert leaks(SUMS.format(base=base, old="self['loss']", new="loss")) == ["self"]
    assert leaks(SUMS.format(base=base, old="self['loss']", new="loss.detach()")) == []
    assert leaks(SUMS.format(base=base, old="self['loss']", new="float(loss)")) == []


PAIRS = """
class Log(dict):
    def __missing__(self, key):
        self[key] = (0.0, 0)
        return self[key]

    def note(self, loss):
        total, count = self["loss"]
        self["loss"] = total + {new}, count + 1
"""


def test_a_sum_beside_a_count() -> None:
    assert leaks(PAIRS.format(new="loss")) == ["self"]
    assert leaks(PAIRS.format(new="loss.item()")) == []


ROWS = """
class Log({base}):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def note(self, loss):
        self.steps += 1
        {notes}
"""


@pytest.mark.parametrize(
    ("base", "notes"),
    [
        ("list", "self.append(loss)"),
        ("deque", "self.append((self.steps, loss))"),
        ("dict", "self[len(self)] = loss"),
        ("dict", "self[self.steps] = loss"),
        ("dict", "self.setdefault('loss', []).append(loss)"),
        ("list", "self.extend([loss])"),
    ],
)
def test_a_list_that_an_object_is(base: str, notes: str) -> None:
    assert len(leaks(ROWS.format(base=base, notes=notes))) == 1


@pytest.mark.parametrize(
    "noted",
    ["log.append(loss)", "log += [loss]", "log.extend([loss])"],
)
def test_who_has_it_puts_into_it(noted: str) -> None:
    assert leaks("class Log(list):\n    pass\n", noted) == ["log"]


@pytest.mark.parametrize(
    ("base", "notes"),
    [("list", "self.append(loss.detach())"), ("dict", "self['last'] = loss"), ("dict", "self[self.steps % 9] = loss"),
     ("list", "self.append(loss)\n        self.clear()"), ("list", "self.append(loss)\n        self.pop(0)"),
     ("object", "self.append(loss)"), ("nn.ModuleList", "self.append(loss)")],
)  # fmt: skip
def test_numbers_and_what_goes_away_again(base: str, notes: str) -> None:
    assert leaks(ROWS.format(base=base, notes=notes)) == []


def test_an_object_of_each_step_goes_with_it() -> None:
    cls = SUMS.format(base="dict", old="self.get('loss', 0)", new="loss")
    assert leaks(cls, made="pass", anew="log = Log()") == []


TERMS = """
class Terms(dict):
    def total(self):
        return sum(self.values())

for x, y in loader:
    terms = Terms()
    terms["fit"] = F.cross_entropy(model(x), y)
    terms["size"] = model(x).square().mean()
    optimizer.zero_grad()
    terms.total().backward()
    optimizer.step()
"""


def test_terms_of_one_step() -> None:
    assert Program(TRAINING + TERMS).leaks() == []


@pytest.mark.parametrize(
    ("cls", "expression", "kind"),
    [
        ("class Log(dict):\n    def note(self, v):\n        self['a'] = v", "log['a']", {"without graph"}),
        (
            "class Log(dict):\n    def note(self, v):\n        self['a'] = v",
            "log.get('a', 3)",
            {"no tensor", "without graph"},
        ),
        ("class Log(dict):\n    def note(self, v):\n        self['a'] = v", "log['b']", {"unknown"}),
        ("class Log(dict):\n    def note(self, v):\n        self.a = v", "log.a", {"without graph"}),
        (
            "class Log(dict):\n    def get(self, k):\n        return 3\n    def note(self, v):\n        self['a'] = v",
            "log.get('a')",
            {"no tensor"},
        ),
    ],
)
def test_what_is_read_is_what_was_put_in(cls: str, expression: str, kind: set[str]) -> None:
    program = Program(f"{cls}\nlog = Log()\nlog.note(torch.zeros(3))\nprint({expression})\n")
    assert program.kinds(program.shown()) == kind


BOARD = """
class Meter:
    def __init__(self):
        self.rows = []

    def update(self, value):
        self.rows.append(value{ending})

class Board({base}):
    {initializer}
    def update_all(self, value):
        for meter in {all}:
            meter.update(value)
"""


@pytest.mark.parametrize(
    ("base", "all_of_it", "made"),
    [
        ("dict", "self.values()", "log = Board(first=Meter(), second=Meter())"),
        ("dict", "self.values()", "log = Board({'first': Meter()})"),
        ("OrderedDict", "self.values()", "log = Board(first=Meter())"),
        ("list", "self", "log = Board([Meter(), Meter()])"),
        ("UserDict", "self.values()", "meters = {'first': Meter()}\nlog = Board(meters)"),
    ],
)
def test_an_object_that_is_a_container_begins_with_what_it_is_given(base: str, all_of_it: str, made: str) -> None:
    def found(ending: str, initializer: str = "") -> list[str]:
        board = BOARD.format(ending=ending, base=base, initializer=initializer, all=all_of_it)
        return leaks(board, "log.update_all(loss)", made)

    assert found("") == ["self.rows"]
    assert found(".detach()") == []
    assert found("", "def __init__(self, *args, **named): pass") == []  # it takes what it is given for itself


BOARD_TRAINED = """
    import torch
    from torch import nn
    from board import Board, Meter

    def train(loader):
        model = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        log = {made}
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.update_all(loss)
"""


@pytest.mark.parametrize(
    ("made", "ending", "told"),
    [
        ("Board(first=Meter())", "", ["train.py: TLK105 warning"]),
        ("Board({'first': Meter()})", "", ["train.py: TLK105 warning"]),
        ("Board(first=Meter())", ".item()", []),
        ("Board(first=1.0)", "", []),
    ],
)
def test_a_board_of_another_file_hands_on_to_the_meters_that_it_begins_with(
    tmp_path: Path, made: str, ending: str, told: list[str]
) -> None:
    board = BOARD.format(ending=ending, base="dict", initializer="", all="self.values()")
    assert Project(tmp_path, {"board.py": board, "train.py": BOARD_TRAINED.format(made=made)}).found() == told


BOARD_OF_GIVEN = """
class Meter:
    def __init__(self):
        self.rows = []

    def update(self, value):
        self.rows.append(value{ending})

class Board:
    def __init__(self, meters):
        self.meters = meters

    def update_all(self, value):
        for meter in self.meters{each}:
            meter.update(value)
"""


@pytest.mark.parametrize(("given", "each"), [("[Meter()]", ""), ("{'first': Meter()}", ".values()")])
def test_a_meter_of_another_file_is_no_dict_that_a_loss_makes_longer(tmp_path: Path, given: str, each: str) -> None:
    def found(ending: str) -> list[str]:
        board, train = BOARD_OF_GIVEN.format(ending=ending, each=each), BOARD_TRAINED.format(made=f"Board({given})")
        return Project(tmp_path, {"board.py": board, "train.py": train}).found()

    assert found("") == ["train.py: TLK105 warning"]
    assert found(".item()") == []


MADE_ON_DEMAND = """
class Row:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append({kept})

class Log({base}):
    def __init__(self):
        {begin}

    def note(self, **terms):
        for name, value in terms.items():
            self[name].add(value)
"""

BEGINNINGS = [
    ("defaultdict", "super().__init__(Row)"),
    ("defaultdict", "super(Log, self).__init__(Row)"),
    ("defaultdict", "defaultdict.__init__(self, Row)"),
    ("defaultdict", "super().__init__(lambda: Row())"),
    ("dict", "super().__init__(loss=Row())"),
    ("dict", "super().__init__({'loss': Row()})"),
    ("OrderedDict", "OrderedDict.__init__(self, loss=Row())"),
]


@pytest.mark.parametrize(("base", "begin"), BEGINNINGS)
def test_items_of_which_the_base_is_told(base: str, begin: str) -> None:
    """What an item does with what it is given is what its class says, and not what its method is called like."""
    step = STEP.format(made="log = Log()", noted="log.note(loss=loss)", anew="pass")
    for kept, expected in (("value", ["TLK102"]), ("value.item()", [])):
        program = IMPORTS + MADE_ON_DEMAND.format(base=base, begin=begin, kept=kept) + TRAINING + step
        assert [finding.code for finding in check_source(program)] == expected
