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
