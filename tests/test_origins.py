"""Where values come from, constants on which all ways agree, and what a spread dictionary brings."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.literals import UNWRITTEN
from torchlint.facts.values.origins import agreed, spread_options

CALLS = """
class Plan:
    def __init__(self, often, slow=True):
        self.often, self.slow = often, slow

def chosen(text):
    if text:
        return "all"
    return "all"

def show(value, usual=4):
    print({})

plan = Plan(3)
{}
"""


@pytest.mark.parametrize(
    ("shown", "calls", "expected"),
    [
        ("value", "show(1)\nshow(1)", 1),
        ("value", "show(1)\nshow(2)", UNWRITTEN),
        ("value", "show(1)\nshow(True)", UNWRITTEN),
        ("value", "show(*rest)", UNWRITTEN),
        ("value", "", UNWRITTEN),
        ("usual", "show(1)", 4),
        ("usual", "show(1)\nshow(1, usual=4)", 4),
        ("usual", "show(1)\nshow(1, usual=5)", UNWRITTEN),
        ("usual", "show(1, **rest)", UNWRITTEN),
        ("not value", "show(plan.slow)", False),
        ("not value", "show(False)", True),
        ("not value", "show(plan.often)", UNWRITTEN),
        ("value", "show(plan.often)", 3),
        ("value", "show(plan.often)\nplan.often = 5", UNWRITTEN),
        ("chosen(value)", "", "all"),
        ("value", "show(input())", UNWRITTEN),
        ("value", "show(1 + 1)", UNWRITTEN),
    ],
)
def test_what_all_ways_agree_on(shown: str, calls: str, expected: object) -> None:
    program = Program("rest = input()\n" + CALLS.format(shown, calls))
    found = agreed(program.facts.solution, program.shown())
    assert found == expected
    assert type(found) is type(expected)


SPREAD = """
import sys

def made(args):
    options = {{"a": 1, "b": args}}
    {}
    return options

class Switch:
    def __init__(self, options):
        self.options = options
    def turn(self):
        print({})

switch = Switch(made(sys.argv))
{}
switch.turn()
"""


def names(built: str = "pass", call: str = "f(**self.options)", after: str = "pass") -> list[str] | None:
    """The names that a spread dictionary is known to bring."""
    program = Program("from m import f\n" + SPREAD.format(built, call, after))
    options = spread_options(program.facts.solution, program.shown())
    return None if options is None else sorted(options)


def test_a_dictionary_that_a_function_makes_and_an_object_keeps() -> None:
    assert names() == ["a", "b"]
    assert names(call="f(1, **self.options, c=2)") == ["a", "b"]
    assert names(call="f(1, c=2)") == []
    assert names("options['c'] = 1") == names(after="switch.options['c'] = 2") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("built", "call", "after"),
    [
        ("options['a'] = 1", "f(**self.options)", "pass"),
        ("options.update(sys.argv)", "f(**self.options)", "pass"),
        ("options.pop('a')", "f(**self.options)", "pass"),
        ("pass", "f(**self.options)", "switch.options['b'] = 2"),
        ("pass", "f(**self.options)", "switch.options = {}"),
        ("pass", "f(*self.options)", "pass"),
        ("pass", "f(**self.others)", "pass"),
        ("if args:\n        return {}", "f(**self.options)", "pass"),
    ],
)
def test_a_dictionary_of_which_not_all_is_known(built: str, call: str, after: str) -> None:
    assert names(built, call, after) is None


HANDED = """
from m import f
def begin({parameters}):
    print(f(**options))
{calls}
"""


@pytest.mark.parametrize(
    ("parameters", "calls", "known"),
    [
        ("**options", "begin(a=1, b=2)", ["a", "b"]),
        ("name, **options", "begin('x', a=1)", ["a"]),
        ("name, **options", "begin(name='x', a=1)", ["a"]),
        ("**options", "begin()", []),
        ("**options", "begin(a=1)\nbegin(b=1)", None),
        ("**options", "begin(**settings)", None),
        ("**options", "pass", None),
        ("options", "begin(dict(a=1))", ["a"]),
    ],
)
def test_options_that_a_function_hands_on(parameters: str, calls: str, known: list[str] | None) -> None:
    program = Program(HANDED.format(parameters=parameters, calls=calls))
    options = spread_options(program.facts.solution, program.shown())
    assert (None if options is None else sorted(options)) == known
