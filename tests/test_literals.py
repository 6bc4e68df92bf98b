"""Constants through variables, and what is none."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.literals import UNWRITTEN, literal

HEAD = """
import os
N = 3
M = 1
M = os.getpid()
class Settings:
    def __init__(self, size):
        self.width = 7
        self.size = size
        self.open = True
    def close(self):
        self.open = False
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("5", 5),
        ("'all'", "all"),
        ("None", None),
        ("False", False),
        ("N", 3),
        ("here", 0.5),
        ("Settings(1).width", 7),
        ("given", UNWRITTEN),
        ("usual", 9),
        ("M", UNWRITTEN),
        ("Settings(1).open", UNWRITTEN),
        ("os.getpid()", UNWRITTEN),
        ("N + 1", UNWRITTEN),
    ],
)
def test_a_constant_is_read_through_variables(expression: str, value: object) -> None:
    program = Program(f"{HEAD}\ndef run(given, usual=9):\n    here = 0.5\n    print({expression})\n")
    found = literal(program.facts.solution, program.shown())
    assert found is value if value in (UNWRITTEN, None, False) else found == value


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ("run(4)", 4),
        ("run(4)\nrun(usual=4)", 4),
        ("run()", 9),
        ("run(4)\nrun()", UNWRITTEN),
        ("run(4)\nrun(5)", UNWRITTEN),
        ("run(1)\nrun(True)", UNWRITTEN),
        ("run(*given)", UNWRITTEN),
    ],
)
def test_a_parameter_is_what_all_calls_agree_on(calls: str, value: object) -> None:
    program = Program(f"def run(usual=9):\n    print(usual)\n{calls}\n")
    found = literal(program.facts.solution, program.shown())
    assert found is value if value is UNWRITTEN else found == value
