"""Functions that are chosen by what they are given, and properties that change what they are given."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

JOURNAL = """
    from functools import singledispatchmethod

    class Journal:
        def __init__(self):
            self.rows = []

        {dispatch}
        def plain(self, value):
            return value

        {register}
        def _(self, value: torch.Tensor):
            return value.item()

        def add(self, **row):
            self.rows.append({{name: self.plain(one) for name, one in row.items()}})
"""


def test_what_a_dispatched_function_gives_is_not_what_its_first_form_does(tmp_path: Path) -> None:
    journal = JOURNAL.format(dispatch="@singledispatchmethod", register="@plain.register")
    source = fit(journal, "journal = Journal()", "journal.add(loss=loss)")
    assert Project(tmp_path, {"run.py": source}).found() == []


def test_a_function_that_is_not_dispatched_gives_what_it_gives(tmp_path: Path) -> None:
    source = fit(JOURNAL.format(dispatch="", register=""), "journal = Journal()", "journal.add(loss=loss)")
    assert [one.split()[1] for one in Project(tmp_path, {"run.py": source}).found()] == ["TLK102"]


CARRY = """
    import torch
    from torch import nn
    from torch.utils._pytree import tree_map

    class Carry:
        def __init__(self):
            self._value = None

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, new):
            self._value = {kept}

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.LSTM(8, 8), nn.Linear(8, 2)

        def forward(self, x, carry: Carry):
            h, carry.value = self.layer(x, carry.value)
            return self.head(h)

    def fit(parts):
        net, carry = Reader(), Carry()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in parts:
            loss = nn.functional.cross_entropy(net(x, carry).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("tree_map(torch.Tensor.detach, new)", []),
        ("tuple(part.detach() for part in new)", []),
        ("new", ["run.py: TLK104 error"]),
    ],
)
def test_a_state_goes_on_as_the_setter_of_a_property_keeps_it(tmp_path: Path, kept: str, found: list[str]) -> None:
    told = Project(tmp_path, {"run.py": CARRY.format(kept=kept)}).found()
    assert [one.split()[1] for one in told] == [one.split()[1] for one in found]
