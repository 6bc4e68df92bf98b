"""Functions that a program keeps under the names of events: which of them run in a step, which only after a pass."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

BUS = """
import gc
from collections import defaultdict
from enum import Enum, auto

class Moment(Enum):
    BATCH = auto()
    PASS = auto()

class Bus:
    def __init__(self):
        self.listeners = {table}
    def {listening}
    def tell(self, moment, *told):
        for listener in {taken}:
            listener(*told)
    def relay(self, moment):
        self.tell(moment, self)

bus = Bus()

def clear(bus):
    {cleared}

{registered}

for epoch in range(9):
    for x, y in loader:
        model(x).sum().backward()
        optimizer.step()
        {batch}
    {passed}
"""

DECORATING = """when(self, moment):
        def keep(function):
            self.listeners[moment].append(function)
            return function
        return keep"""

GIVEN = {
    "table": "defaultdict(list)",
    "listening": "add(self, moment, function):\n        self.listeners[moment].append(function)",
    "taken": "self.listeners[moment]",
    "cleared": "gc.collect()",
    "registered": 'bus.add("batch", clear)',
    "batch": 'bus.tell("batch", bus)',
    "passed": 'bus.tell("pass", bus)',
}

DECORATED = {
    **GIVEN,
    "listening": DECORATING,
    "registered": '@bus.when("batch")\ndef tidy(bus):\n    torch.cuda.empty_cache()',
}


def tidying(changed: dict[str, str], base: dict[str, str] = GIVEN) -> int:
    """How many calls tidy up in each step of the program."""
    return len(Program(TRAINING + BUS.format(**{**base, **changed})).facts.emptyings)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"table": "{}", "listening": "add(self, m, f):\n        self.listeners.setdefault(m, []).append(f)"},
        {"table": "{}", "listening": "add(self, m, f):\n        self.listeners[m] = [f]"},
        {"taken": "self.listeners.get(moment, [])"},
        {"registered": "bus.add(Moment.BATCH, clear)", "batch": "bus.tell(Moment.BATCH, bus)"},
        {"batch": 'bus.relay("batch")', "passed": 'bus.relay("pass")'},
        {"registered": 'bus.add("batch", clear)\nbus.add("pass", clear)'},
    ],
)
def test_what_is_kept_for_the_event_of_a_step_runs_in_each(changed: dict[str, str]) -> None:
    assert tidying(changed) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"registered": 'bus.add("pass", clear)'},
        {"registered": "bus.add(Moment.PASS, clear)", "batch": "bus.tell(Moment.BATCH, bus)"},
        {"registered": 'bus.add("pass", clear)', "batch": 'bus.relay("batch")', "passed": 'bus.relay("pass")'},
        {"registered": "bus.add(chosen, clear)"},
        {"cleared": "if epoch % 5 == 0:\n        gc.collect()"},
        {"registered": "for moment in chosen:\n    bus.add(moment, clear)"},
        {
            "table": '{"batch": [], "pass": [clear]}',
            "registered": "",
            "listening": "__len__(self):\n        return len(self.listeners)",
        },
    ],
)
def test_what_is_kept_for_other_events_runs_in_no_step(changed: dict[str, str]) -> None:
    assert tidying(changed) == 0


ONE_LIST = "when(self, function):\n        self.rows.append(function)\n        return function"


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({}, 1),
        ({"registered": '@bus.when("pass")\ndef tidy(bus):\n    torch.cuda.empty_cache()'}, 0),
        ({"registered": "@bus.when(chosen)\ndef tidy(bus):\n    torch.cuda.empty_cache()"}, 0),
        ({"registered": '@other.when("batch")\ndef tidy(bus):\n    torch.cuda.empty_cache()'}, 0),
        (
            {
                "listening": ONE_LIST.replace("rows", "listeners"),
                "table": "[]",
                "taken": "self.listeners",
                "registered": "@bus.when\ndef tidy(bus):\n    torch.cuda.empty_cache()",
            },
            1,
        ),
        (
            {
                "listening": ONE_LIST,
                "table": "[]\n        self.rows = []",
                "taken": "self.listeners",
                "registered": "@bus.when\ndef tidy(bus):\n    torch.cuda.empty_cache()",
            },
            0,
        ),
    ],
)
def test_a_method_of_an_object_may_be_the_decorator_that_keeps_it(changed: dict[str, str], count: int) -> None:
    assert tidying(changed, DECORATED) == count


def test_a_validation_after_each_pass_makes_no_pass_of_a_step() -> None:
    validated = """
@bus.when("pass")
def validate(bus):
    with torch.no_grad():
        for x, y in loader:
            print(model(x).sum().item())

@bus.when("batch")
def tidy(bus):
    torch.cuda.empty_cache()

def step(x):
    model(x).sum().backward()
    optimizer.step()
    bus.tell("batch", bus)
"""
    changed = {"registered": validated, "batch": "step(x)"}
    assert tidying(changed, DECORATED) == 1


HANDED = """
import gc
from torch.cuda import empty_cache

class Ring:
    def __init__(self, **bells):
        self.bells = dict(turn=[], lap=[])
        {gathered}
    def strike(self, name):
        for bell in self.bells[name]:
            bell()

class Tally:
    def __init__(self):
        self.count = 0
    def up(self):
        self.count += 1

def strike_all(bells):
    for bell in bells:
        bell()

tally = Tally()
ring = Ring({given})

def run(after_turn, after_lap):
    for lap in range(9):
        for x, y in loader:
            model(x).sum().backward()
            optimizer.step()
            {turn}
        {lap}

run({passed})
"""
RINGING = {
    "gathered": "for name, many in bells.items():\n            self.bells[name].extend(many)",
    "given": "turn=[tally.up, torch.cuda.empty_cache], lap=[gc.collect]",
    "turn": 'ring.strike("turn")',
    "lap": 'ring.strike("lap")',
    "passed": "None, None",
}


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({}, 1),
        ({"given": "turn=[empty_cache, gc.collect]"}, 2),
        ({"gathered": "for name, many in bells.items():\n            self.bells[name] = list(many)"}, 1),
        ({"gathered": "for name in bells:\n            self.bells[name] = bells[name]"}, 1),
        ({"gathered": "self.bells = bells"}, 1),
        ({"given": "turn=[lambda: torch.cuda.empty_cache(), tally.up], lap=[gc.collect]"}, 1),
        ({"given": "turn=[tally.up], lap=[gc.collect, empty_cache]"}, 0),
        ({"given": "turn=[tally.up], lap=[lambda: gc.collect()]"}, 0),
        ({"given": "turn=[tally.up], lap=[gc.collect]", "gathered": "self.bells = bells"}, 0),
        ({"given": "turn=[tally.up], lap=[gc.collect]", "turn": "ring.strike(chosen)"}, 0),
        ({"turn": 'if lap % 4 == 0:\n                ring.strike("turn")'}, 0),
        ({"turn": "pass"}, 0),
        ({"given": "", "turn": "strike_all([tally.up, gc.collect])"}, 1),
        ({"given": "", "turn": "strike_all([tally.up])", "lap": "strike_all([gc.collect])"}, 0),
        ({"given": "", "turn": "after_turn()", "passed": "empty_cache, gc.collect"}, 1),
        ({"given": "", "turn": "after_turn()", "lap": "after_lap()", "passed": "tally.up, gc.collect"}, 0),
        ({"given": "", "turn": "strike_all(after_turn)", "passed": "(empty_cache,), [gc.collect]"}, 1),
        ({"given": "", "lap": "strike_all(after_lap)", "passed": "(empty_cache,), [gc.collect]"}, 0),
    ],
)
def test_an_imported_function_that_is_handed_in_runs_when_its_event_comes(changed: dict[str, str], count: int) -> None:
    assert len(Program(TRAINING + HANDED.format(**{**RINGING, **changed})).facts.emptyings) == count
