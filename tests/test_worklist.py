"""The order in which values are run: one sweep after the other, from the first value to the last."""

from __future__ import annotations

import libcst as cst
import pytest

from torchlint.facts import Facts
from torchlint.facts.values.graph import Value
from torchlint.facts.values.worklist import WorkList


@pytest.fixture
def values() -> list[Value]:
    """Some values in the order of their file."""
    return list(Facts(cst.parse_module("a = f()\nb = g()\nc = a + b\nd = h(c)\n")).solution.graph.all_values())


def test_values_are_run_in_the_order_of_the_file_each_once(values: list[Value]) -> None:
    work = WorkList()
    work.add(reversed(values))
    work.add(values)
    assert list(work) == values
    assert list(work) == []


def test_what_changes_ahead_is_run_in_the_same_sweep(values: list[Value]) -> None:
    first, second, third = values[:3]
    work = WorkList()
    work.add([first, third])
    running = iter(work)
    assert next(running) is first
    work.add([second])
    assert list(running) == [second, third]


def test_what_changes_behind_waits_for_the_next_sweep(values: list[Value]) -> None:
    first, second, third = values[:3]
    work = WorkList()
    work.add([second, third])
    running = iter(work)
    assert next(running) is second
    work.add([first, second])
    assert list(running) == [third, first, second]


def test_an_empty_list_gives_nothing() -> None:
    assert list(WorkList()) == []
