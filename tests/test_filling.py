"""The ways in which a program puts a loss into what stays: each is told, and none where a number goes in."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

PROGRAM = """
import bisect, heapq, operator
from collections import defaultdict
import torch
from torch import nn

net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


class Log:
    pass


def main(loader):
    {before}
    for i, x in enumerate(loader):
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {kept}
    return i
"""

GROWING = [
    ("rows = {}", "rows.update({i: loss})"),
    ("rows = {}", "rows |= {i: loss}"),
    ("rows = {}", "rows.setdefault(i, {}).update({'loss': loss})"),
    ("rows = {}", "rows.setdefault(i % 3, []).append(loss)"),
    ("rows = {}", "operator.setitem(rows, i, loss)"),
    ("rows, other = {}, {}", "rows[i], other[i] = loss, loss.item()"),
    ("rows = []", "rows.append({'step': i} | {'loss': loss})"),
    ("rows = []; put = rows.append", "put(loss)"),
    ("rows = []", "rows = rows + [loss]"),
    ("rows = []", "rows = [*rows, loss]"),
    ("rows = ()", "rows = (*rows, loss)"),
    ("rows = ()", "rows += (loss,)"),
    ("rows = []", "rows.append((i, loss))"),
    ("rows = []", "heapq.heappush(rows, (i, loss))"),
    ("rows = []", "bisect.insort(rows, loss, key=float)"),
    ("rows, other = [], []", "[k.append(v) for k, v in zip((rows, other), (loss, loss))]"),
    ("rows = []\n    new = []", "new.append(loss); rows.extend(new)"),
]

ADDING = [
    ("total = (0.0, 0.0)", "total = tuple(map(operator.add, total, (loss, loss)))"),
    ("total = 0.0", "total = operator.add(total, loss)"),
    ("total = 0.0", "total = operator.iadd(total, loss)"),
    ("log = Log(); log.total = 0.0", "setattr(log, 'total', getattr(log, 'total') + loss)"),
    ("log = Log(); log.total = 0.0", "setattr(log, 'total', getattr(log, 'total', 0.0) + loss)"),
]


def told(before: str, kept: str) -> set[str]:
    text = PROGRAM.replace("{before}", before).replace("{kept}", kept)
    return {found.code for found in diagnose(Source("train.py", text))}


@pytest.mark.parametrize(("before", "kept"), GROWING)
def test_what_a_container_is_given_is_told(before: str, kept: str) -> None:
    assert "TLK102" in told(before, kept)


@pytest.mark.parametrize(("before", "kept"), ADDING)
def test_what_is_added_to_a_sum_is_told(before: str, kept: str) -> None:
    assert told(before, kept) == {"TLK101"}


@pytest.mark.parametrize(("before", "kept"), [*GROWING, *ADDING])
def test_a_number_is_not_told(before: str, kept: str) -> None:
    assert not told(before, kept.replace("loss)", "loss.item())").replace("loss,", "loss.item(),")
                    .replace("loss}", "loss.item()}").replace("loss]", "loss.item()]"))  # fmt: skip


def test_a_key_that_stays_the_same_keeps_one() -> None:
    assert "TLK102" not in told("rows = {}", "rows.update(last=loss)")
    assert "TLK102" not in told("rows = {}", "rows.update({'last': loss})")


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("level = None", "level = loss.detach() if level is None else 0.9 * level + loss"),
        ("level = None", "if level is None: level = loss.detach()\n        else: level = 0.9 * level + loss"),
        ("level = None", "if level is None: level = 0.0\n        level = level + loss"),
        ("sums = {}", "if 'a' not in sums: sums['a'] = 0.0\n        sums['a'] += loss"),
        ("log = Log()", "if not hasattr(log, 'sum'): log.sum = 0.0\n        log.sum = log.sum + loss"),
    ],
)
def test_what_is_assigned_the_first_time_resets_nothing(before: str, kept: str) -> None:
    assert told(before, kept) & {"TLK101", "TLK103"}


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("total = 0.0", "total = total + loss.detach()\n        if i % 10 == 0: total = 0.0"),
        ("level = None", "if level is None or i % 10 == 0: level = 0.0\n        level = level + loss.detach()"),
    ],
)
def test_numbers_that_begin_anew_are_not_told(before: str, kept: str) -> None:
    assert not told(before, kept)


BEGUN = """
import torch
from torch import nn

net = nn.Linear(4, 4)


class Log:
    def add(self, value):
        {begin}
        self.rows.append(value)

    def end(self):
        self.rows = None


def collected(value, rows=None):
    if rows is None:
        rows = []
    rows.append(value)
    return len(rows)


def main(loader):
    log = Log()
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        {step}
"""

BEGINNINGS = [
    'if not hasattr(self, "rows"): self.rows = []',
    'if "rows" not in self.__dict__: self.rows = []',
    'if getattr(self, "rows", None) is None: self.rows = []',
    "if self.rows is None: self.rows = []",
    'self.__dict__.setdefault("rows", [])',
]


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_list_that_is_begun_once_stays_as_long_as_its_object(begin: str) -> None:
    def found(step: str) -> list[str]:
        text = BEGUN.replace("{begin}", begin).replace("{step}", step)
        return [one.code for one in diagnose(Source("train.py", text))]

    assert found("log.add(loss)") == ["TLK102"]
    for step in ("Log().add(loss)", "log.add(loss); log.end()", "log.add(loss.item())", "collected(loss)"):
        assert not {"TLK101", "TLK102", "TLK105"} & set(found(step)), step


SUMS = """
import torch
from torch import nn

net = nn.Linear(4, 4)


class Sum:
    def __init__(self):
        self.total = 0.0

    def add(self, value):
        self.total += value


class Board:
    def __init__(self):
        self.sums, self.whole = {}, None

    def note(self, name, value):
        {note}

    def empty(self):
        self.sums.clear()
        self.whole = None


def main(loader):
    board = Board()
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        {step}
"""


@pytest.mark.parametrize(
    "note",
    [
        "self.sums.setdefault(name, Sum()).add(value)",
        "if name not in self.sums: self.sums[name] = Sum()\n        self.sums[name].add(value)",
        "if self.whole is None: self.whole = Sum()\n        self.whole.add(value)",
    ],
)
def test_an_object_that_is_made_for_what_has_none_is_no_new_one_each_time(note: str) -> None:
    def found(step: str) -> list[str]:
        text = SUMS.replace("{note}", note).replace("{step}", step)
        return [one.code for one in diagnose(Source("train.py", text))]

    assert found("board.note('loss', loss)") == ["TLK101"]
    for step in ("Board().note('loss', loss)", "board.note('loss', loss); board.empty()", "Sum().add(loss)"):
        assert not found(step), step
