"""Decorators of a program that hand on other arguments than they are given, in its own file and in another."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from programs import HEAD, TRAINING, Program
from projects import Project

PLAIN = """
import functools
def hand(method):
    @functools.wraps(method)
    def wrapper({taken}):
        {before}
        return method({given})
    return wrapper
"""

MAKER = "def hand_in(unit):\n" + indent(PLAIN.strip(), "    ") + "\n    return hand\n"

HISTORY = """
class History:
    def __init__(self):
        self.rows = []
    @{decorator}
    def note(self, value):
        self.rows.append(value)
"""

LOOP = """
history = History()
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.note(loss)
"""

HANDS = pytest.mark.parametrize(
    ("taken", "before", "given", "leaks"),
    [
        ("self, *args, **kwargs", "pass", "self, *args, **kwargs", True),
        ("self, value", "print(value)", "self, value", True),
        ("*args", "args = [one.detach() for one in args]", "*args", False),
        ("self, value", "value = float(value)", "self, value", False),
        ("self, value", "pass", "self, value.item()", False),
        ("self, *args", "pass", "self, *strip(args)", False),
    ],
)


@HANDS
def test_what_a_decorator_changes_is_not_what_is_kept(taken: str, before: str, given: str, leaks: bool) -> None:
    for decorator, applied in ((PLAIN, "hand"), (MAKER, "hand_in('bytes')")):
        declared = decorator.format(taken=taken, before=before, given=given) + HISTORY.format(decorator=applied)
        assert bool(Program(TRAINING + declared + LOOP).leaks()) is leaks


@HANDS
def test_nor_is_it_where_the_decorator_stands_in_another_file(
    tmp_path: Path, taken: str, before: str, given: str, leaks: bool
) -> None:
    hands = PLAIN.format(taken=taken, before=before, given=given)
    history = "from hands import hand\n" + HISTORY.format(decorator="hand")
    train = HEAD + "from history import History\n" + TRAINING + LOOP
    project = Project(tmp_path, {"hands.py": hands, "history.py": history, "train.py": train})
    assert bool(project.found("train.py")) is leaks
