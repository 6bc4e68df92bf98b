"""The nesting guard: what people write passes, what would end libcst's process is refused in words."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest

from torchlint.source import Unreadable, read_source
from torchlint.syntax.depth import (
    NESTING_LIMIT,
    check_nesting,
    deep_recursion,
    nesting_of_text,
    nesting_of_tree,
    parse_shallow,
)

STANDARD_LIBRARY = Path(ast.__file__).parent


def nested_blocks(count: int, head: str = "if a:") -> str:
    return "".join(f"{' ' * level}{head}\n" for level in range(count)) + " " * count + "pass\n"


def one_in_another(opening: str, count: int, closing: str) -> str:
    return "x = " + opening * count + "a" + closing * count + "\n"


CHECKED = {
    "200 chained calls": "x = a" + ".b()" * 200 + "\n",
    "400 additions": "x = a" + " + a" * 400 + "\n",
    "99 nested ifs": nested_blocks(99),
    "99 nested functions": nested_blocks(99, "def f():"),
    "80 nested lists": one_in_another("[", 80, "]"),
    "190 parentheses": one_in_another("(", 190, ")"),
    "400 elifs": "if a:\n    pass\n" + "elif b:\n    pass\n" * 400,
    "400 alternatives": "x = a" + " or a" * 400 + "\n",
    "300 joined strings": "x = (" + "'a'\n" * 300 + ")\n",
    "a table of 1,000 rows": "x = [\n" + "    (1.5, -2, 'a', f(b.c)),\n" * 1000 + "]\n",
    "5,000 statements": "x = a.b(c)\n" * 5000,
    "a pattern in patterns": "match a:\n    case {'k': [A(b=(1, [c]))]}:\n        pass\n",
    "a docstring full of quotes": 'x = """' + "'a' " * 2000 + '"""\n',
}

REFUSED = {
    "1,000 chained calls": "x = a" + ".b()" * 1000 + "\n",
    "5,000 additions": "x = a" + " + a" * 5000 + "\n",
    "1,000 subscripts": "x = a" + "[0]" * 1000 + "\n",
    "1,000 lambdas": "x = " + "lambda a, b: " * 1000 + "a\n",
    "1,000 conditions": "x = " + "a if b else " * 1000 + "a\n",
    "1,000 elifs": "if a:\n    pass\n" + "elif b:\n    pass\n" * 1000,
    "1,000 alternatives": "x = a" + " or a" * 1000 + "\n",
    "2,000 joined strings": "x = (" + "'a' " * 2000 + ")\n",
    "2,000 joined f-strings": "x = (" + "f'{a}' " * 2000 + ")\n",
    "1,000 dots in an import": "import a" + ".b" * 1000 + "\n",
    "12 nested pattern mappings": "match a:\n case " + "{1:" * 12 + "b" + "}" * 12 + ":\n  pass\n",
    "12 parentheses around a pattern": "match a:\n case " + "(" * 12 + "b" + ")" * 12 + ":\n  pass\n",
    "a pattern begun on an earlier line": "match a:\n case (\n" + "(" * 12 + "b\n" + ")" * 13 + ":\n  pass\n",
}


@pytest.mark.parametrize("name", CHECKED)
def test_what_people_write_is_checked_like_any_file(name: str) -> None:
    text = CHECKED[name]
    tree = parse_shallow(text)
    check_nesting(text, None)
    with deep_recursion():
        assert cst.parse_module(text).code == text
    assert nesting_of_tree(tree) <= nesting_of_text(text) <= NESTING_LIMIT


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_end_the_process_is_refused(name: str) -> None:
    with pytest.raises(Unreadable, match="nested too deep"):
        parse_shallow(REFUSED[name])
    with pytest.raises(Unreadable, match="nested too deep"):
        check_nesting(REFUSED[name], None)


@pytest.mark.parametrize("count", [150, 250, 5000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("[", "]"), ("f(", ")"), ("-", ""), ("not ", "")])
def test_any_depth_ends_in_a_verdict(opening: str, closing: str, count: int) -> None:
    text = one_in_another(opening, count, closing)
    try:
        parse_shallow(text)
    except SyntaxError:
        assert nesting_of_text(text) >= min(count, NESTING_LIMIT)
    except Unreadable:
        assert count > 200


@pytest.mark.parametrize(
    ("text", "nesting"),
    [
        ("", 1),
        ("pass\n", 2),
        ("if a:\n    pass\n", 3),
        ("x = a + b\n", 4),
        ("x = a + b + c\n", 5),
        ("x = a or b\n", 4),
        ("x = a or b or c\n", 5),
        ("import a\n", 3),
        ("import a.b.c\n", 5),
    ],
)
def test_levels_are_those_of_libcst(text: str, nesting: int) -> None:
    assert nesting_of_tree(ast.parse(text)) == nesting


def test_an_estimate_from_the_text_is_not_below_the_tree() -> None:
    for path in sorted(STANDARD_LIBRARY.glob("*.py")):
        text = read_source(str(path)).text
        assert nesting_of_tree(ast.parse(text)) <= nesting_of_text(text) <= NESTING_LIMIT, path


def test_text_that_no_tokenizer_accepts_still_has_an_estimate() -> None:
    assert nesting_of_text("x = '''(((\n") < 20
    assert nesting_of_text(")]}" * 1000) < 20
    assert nesting_of_text("x = 'a\ny = \"b\n\\\n") < 20


def test_syntax_errors_stay_syntax_errors_and_warnings_stay_away() -> None:
    with pytest.raises(SyntaxError):
        parse_shallow("x = = 1\n")
    with pytest.raises(SyntaxError):
        parse_shallow("x = 1\0\n")
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            r"import torchlint.syntax.depth as d; d.parse_shallow('\'\\d\'\n1 is 1')",
        ],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_recursion_limit_is_restored() -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(KeyError), deep_recursion():
        assert sys.getrecursionlimit() > before
        raise KeyError
    assert sys.getrecursionlimit() == before


DEEPEST = {
    "additions": "x = a" + " + a" * (NESTING_LIMIT - 3) + "\n",
    "chained calls": "x = a" + ".b()" * (NESTING_LIMIT // 2 - 2) + "\n",
    "lambdas": "x = " + "lambda: " * (NESTING_LIMIT // 2 - 3) + "a\n",
    "blocks, brackets and a chain": nested_blocks(99).replace(
        "pass\n", "x = " + "(" * 190 + "a" + ")" * 190 + ".b()" * 180 + "\n"
    ),
    "joined strings": "x = (" + "'a' " * NESTING_LIMIT + ")\n",
    "elifs": "if a:\n    pass\n" + "elif b:\n    pass\n" * (NESTING_LIMIT - 4),
    "patterns": "match a:\n case " + "{1:" * 8 + "b" + "}" * 8 + ":\n  pass\n",
}


@pytest.mark.parametrize("name", DEEPEST)
def test_libcst_survives_the_deepest_that_is_accepted(name: str) -> None:
    program = (
        "import sys, libcst; from torchlint.syntax.depth import deep_recursion, parse_shallow\n"
        "text = sys.stdin.read(); parse_shallow(text); module = libcst.parse_module(text)\n"
        "with deep_recursion(): assert module.code == text\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=DEEPEST[name],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
