"""What is known where a statement runs: the tests around it, and those before it that would have left."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from torchlint.syntax.conditions import always_run, holding
from torchlint.syntax.tree import parents, walk


def known(text: str) -> list[str]:
    """The conditions under which ``here()`` stands; a test that does not hold is written behind ``not``."""
    module = cst.parse_module(dedent(text))
    here = next(node for node in walk(module) if isinstance(node, cst.Name) and node.value == "here")
    written = ((module.code_for_node(test), truth) for test, truth in holding(parents(module), here))
    return [code if truth else f"not {code}" for code, truth in written]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a:\n    here()", ["a"]),
        ("if a:\n    pass\nelse:\n    here()", ["not a"]),
        ("if a:\n    pass\nelif b:\n    here()", ["b", "not a"]),
        ("if not a:\n    here()", ["not a"]),
        ("if a and not b:\n    here()", ["a", "not b"]),
        ("if a or b:\n    here()", []),
        ("if a or b:\n    pass\nelse:\n    here()", ["not a", "not b"]),
        ("while a:\n    here()", ["a"]),
        ("while a:\n    if b or not c:\n        continue\n    here()", ["not b", "c", "a"]),
        ("while a:\n    if b:\n        pass\n    here()", ["a"]),
        ("while a:\n    if b:\n        break\n    elif c:\n        continue\n    here()", ["not b", "not c", "a"]),
        ("while a:\n    if b:\n        here()\n    else:\n        break\n    pass", ["b", "a"]),
        ("while a:\n    if b:\n        pass\n    else:\n        break\n    here()", ["b", "a"]),
        ("while a:\n    here()\n    if b:\n        break", ["a"]),
        ("while a:\n    if b: break\n    here()", ["not b", "a"]),
        ("if here():\n    pass", []),
    ],
)
def test_a_statement_runs_under_the_tests_around_it_and_behind_those_that_leave(text: str, expected: list[str]) -> None:
    inside = "def f():\n" + "\n".join("    " + line for line in text.splitlines())
    assert known(inside) == expected


def test_the_tests_of_a_function_around_say_nothing_of_when_the_inner_one_runs() -> None:
    assert known("if a:\n    def f():\n        here()") == []


BRANCHES = """
def f():
    one()
    with guard:
        two()
    if a:
        three()
    try:
        four()
    finally:
        pass
"""


def test_what_always_runs_stands_in_no_branch() -> None:
    function = cst.parse_module(BRANCHES).body[0]
    lines = [node for node in always_run(function) if isinstance(node, cst.SimpleStatementLine)]
    assert {cst.Module([line]).code.strip() for line in lines} == {"one()", "two()", "four()"}
