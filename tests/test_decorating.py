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


# -- what callers get --------------------------------------------------------------------------------------------------

GIVING = """
import functools
def give(function):
    @functools.wraps(function)
    def wrapper(*args):
        {body}
    return wrapper
"""

GIVER = "def give_as(unit):\n" + indent(GIVING.strip(), "    ") + "\n    return give\n"

STEP = """
@{decorator}
def step(x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss

losses = []
for x, y in loader:
    losses.append(step(x, y))
"""

GIVES = pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("return function(*args)", True),
        ("answer = function(*args); print(answer); return answer", True),
        ("for _ in range(3): return function(*args)", True),
        ("return function(*args).item()", False),
        ("answer = function(*args); return answer.detach()", False),
        ("answer = function(*args); answer = float(answer); return answer", False),
        ("return {'loss': function(*args).item()}", False),
        ("return strip(function(*args))", False),
    ],
)


@GIVES
def test_what_a_decorator_makes_of_an_answer_is_what_callers_get(body: str, leaks: bool) -> None:
    for decorator, applied in ((GIVING, "give"), (GIVER, "give_as('loss')")):
        declared = decorator.format(body=body) + STEP.format(decorator=applied)
        assert bool(Program(TRAINING + declared).leaks()) is leaks


@GIVES
def test_so_it_is_where_the_decorator_and_the_step_stand_in_another_file(
    tmp_path: Path, body: str, leaks: bool
) -> None:
    step, _, loop = STEP.format(decorator="give").partition("\n\n")
    steps = f"{HEAD}\nfrom giving import give\n{TRAINING}{step}\n"
    train = f"{HEAD}\nfrom steps import step\nloader = DataLoader(dataset)\n{loop}"
    project = Project(tmp_path, {"giving.py": GIVING.format(body=body), "steps.py": steps, "train.py": train})
    assert bool(project.found("train.py")) is leaks


EVENTS = """
class Loop:
    def __init__(self):
        self.handlers = []
    def on(self, every):
        def put(function):
            self.handlers.append({kept})
            return function
        return put
    def fire(self, value):
        for {taken} in self.handlers:
            function(value)
def course_of(loop):
    values = []
    @loop.on(3)
    def note(value):
        values.append({noted})
    return values
loop = Loop()
values = course_of(loop)
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loop.fire(loss)
"""


@pytest.mark.parametrize(
    ("kept", "taken"),
    [("function", "function"), ("(every, function)", "every, function"), ("(function, every)", "function, every")],
)
def test_who_is_put_into_a_list_by_a_decorator_is_called_from_there(kept: str, taken: str) -> None:
    assert Program(TRAINING + EVENTS.format(kept=kept, taken=taken, noted="value")).leaks()
    assert not Program(TRAINING + EVENTS.format(kept=kept, taken=taken, noted="value.item()")).leaks()
