"""Sums that are kept under names, in rows or in records, and that each step makes anew from the last ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

SUMS = {
    "a comprehension": (
        "def merge(old, new):\n        return {name: old.get(name, 0.0) + term for name, term in new.items()}"
    ),
    "a choice for each name": (
        "def merge(old, new):\n        return {n: (old[n] + term if n in old else term) for n, term in new.items()}"
    ),
    "a copy that is added to": (
        "def merge(old, new):\n        out = dict(old)\n        for name, term in new.items():\n"
        "            out[name] = out.get(name, 0.0) + term\n        return out"
    ),
    "a new table": (
        "def merge(old, new):\n        out = {}\n        for name, term in new.items():\n"
        "            out[name] = old.get(name, 0.0) + term\n        return out"
    ),
    "the old table": (
        "def merge(old, new):\n        for name, term in new.items():\n"
        "            old[name] = old.get(name, 0.0) + term\n        return old"
    ),
}

ADDED = "terms = {{'main': loss{ending}, 'scaled': (loss * 2){ending}}}; totals = merge(totals, terms)"


@pytest.mark.parametrize("merge", SUMS.values(), ids=SUMS)
def test_sums_under_names_are_told(tmp_path: Path, merge: str) -> None:
    source = fit(merge, "totals = {}", ADDED.format(ending=""), "print(totals)")
    assert Project(tmp_path, {"run.py": source}).found() == ["run.py: TLK101 warning"]


@pytest.mark.parametrize("merge", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("ending", [".item()", ".detach()"])
def test_sums_of_numbers_are_not(tmp_path: Path, merge: str, ending: str) -> None:
    source = fit(merge, "totals = {}", ADDED.format(ending=ending), "print(totals)")
    assert Project(tmp_path, {"run.py": source}).found() == []


@pytest.mark.parametrize("merge", SUMS.values(), ids=SUMS)
def test_nor_is_a_table_that_begins_anew_with_each_step(tmp_path: Path, merge: str) -> None:
    source = fit(merge, "pass", "totals = {}; " + ADDED.format(ending=""), "print(totals)")
    assert Project(tmp_path, {"run.py": source}).found() == []


RECORD = """
    from typing import NamedTuple
    import operator
    import torch
    from torch import nn

    class Terms(NamedTuple):
        fit: torch.Tensor
        size: torch.Tensor

        def whole(self, weight):
            return self.fit + weight * self.size

    class Coder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            code = self.layer(x)
            return Terms((code - x).pow(2).mean(), code.abs().mean())

    def train(loader):
        coder = Coder()
        optimizer = torch.optim.SGD(coder.parameters(), lr=0.1)
        totals = Terms(torch.zeros(()), torch.zeros(()))
        for x in loader:
            terms = coder(x)
            optimizer.zero_grad()
            terms.whole(0.1).backward()
            optimizer.step()
            totals = {added}
        print(totals)
"""


@pytest.mark.parametrize(
    ("added", "found"),
    [
        ("Terms(totals.fit + terms.fit, totals.size + terms.size)", ["run.py: TLK101 warning"] * 2),
        ("Terms(*map(operator.add, totals, terms))", ["run.py: TLK101 warning"]),
        ("Terms(*(a + b for a, b in zip(totals, terms)))", ["run.py: TLK101 warning"]),
        ("Terms(totals.fit + terms.fit.detach(), totals.size + terms.size.item())", []),
        ("Terms(*(a + b.detach() for a, b in zip(totals, terms)))", []),
    ],
)
def test_sums_in_a_record_whose_method_makes_the_loss(tmp_path: Path, added: str, found: list[str]) -> None:
    assert Project(tmp_path, {"run.py": RECORD.format(added=added)}).found() == found


@pytest.mark.parametrize("added", ["kept += parts(loss)", "kept.extend(parts(loss))", "kept += [*parts(loss)]"])
@pytest.mark.parametrize(("ending", "found"), [("", ["TLK102"]), (".item()", [])])
def test_a_list_is_made_longer_by_what_a_function_gives(
    tmp_path: Path, added: str, ending: str, found: list[str]
) -> None:
    parts = f"def parts(loss):\n        return [part{ending} for part in (loss, loss)]"
    source = fit(parts, "kept = []", added, "return [float(one) for one in kept]")
    assert [one.split()[1] for one in Project(tmp_path, {"run.py": source}).found()] == found
