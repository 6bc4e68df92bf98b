"""``# noqa``: for every text, line and code the same answer as flake8's own functions give."""

from __future__ import annotations

import argparse
import linecache
import os
import sys
from pathlib import Path

import pytest
from flake8.processor import FileProcessor  # type: ignore[import-untyped]
from flake8.violation import Violation  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.suppress import Suppressions

CODES = ["TLK101", "TLK102", "TLK201", "E501", "TLK1"]
OPTIONS = argparse.Namespace(
    hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0, disable_noqa=False
)


def flake8_covers(path: Path, text: str) -> dict[tuple[int, str], bool]:
    """What flake8 answers for each line of a file and each code."""
    path.write_bytes(text.encode())
    linecache.checkcache(str(path))
    processor = FileProcessor(str(path), OPTIONS)
    whole = processor.should_ignore_file()
    return {
        (line, code): whole
        or Violation(code, str(path), line, 1, "text", processor.noqa_line_for(line)).is_inline_ignored(False)
        for line in range(1, len(processor.lines) + 2)
        for code in CODES
    }


def torchlint_covers(text: str, keys: object) -> dict[tuple[int, str], bool]:
    suppressions = Suppressions.of(text)
    return {(line, code): suppressions.covers(line, code) for line, code in keys}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("x = 1\n", {}),
        ("x = 1  # noqa\n", {1: CODES}),
        ("x = 1  # NoQA\n", {1: CODES}),
        ("x = 1  # noqa: TLK101\n", {1: ["TLK101"]}),
        ("x = 1  # noqa:TLK101\n", {1: ["TLK101"]}),
        ("x = 1  # noqa: TLK1\n", {1: ["TLK101", "TLK102", "TLK1"]}),
        ("x = 1  # noqa: TLK101,E501\n", {1: ["TLK101", "E501"]}),
        ("x = 1  # noqa: TLK101 E501\n", {1: ["TLK101", "E501"]}),
        ("x = 1  # noqa: TLK101, E501 because\n", {1: ["TLK101", "E501"]}),
        ("x = 1  # noqa: TLK\n", {1: CODES}),
        ("x = 1  # noqa : TLK101\n", {1: CODES}),
        ("x = 1  # noqa:  TLK101\n", {1: CODES}),
        ("x = 1  # noqa: tlk101\n", {}),
        ("x = 1  #noqa\n", {}),
        ("x = 1  # type: ignore # noqa: E501\n", {1: ["E501"]}),
        ("x = '# noqa'\n", {1: CODES}),
        ("# noqa\nx = 1\n", {1: CODES}),
        ("x = (1,  # noqa\n     2)\n", {1: CODES}),
        ("x = (1,\n     2)  # noqa\n", {2: CODES}),
        ("x = '''\na\n'''  # noqa: E501\ny\n", {1: ["E501"], 2: ["E501"], 3: ["E501"]}),
        ("x = 1 + \\\n    2  # noqa\ny\n", {1: CODES, 2: CODES}),
        ("f('''\n''',  # noqa: E501\n  1)  # noqa: TLK101\n", {1: ["E501"], 2: ["E501"], 3: ["TLK101"]}),
        ("x = '''\n# noqa: E501\n'''  # noqa: TLK101\n", {1: ["E501"], 2: ["E501"], 3: ["E501"]}),
        ("def f():  # noqa: TLK101\n    x\n", {1: ["TLK101"]}),
        ("@a  # noqa\ndef f():\n    pass\n", {1: CODES}),
        ("# flake8: noqa\nx\n", {1: CODES, 2: CODES, 3: CODES}),
        ("x\n    # flake8: NOQA\n", {1: CODES, 2: CODES, 3: CODES}),
        ("# flake8: noqa: TLK101\nx\n", {1: CODES, 2: CODES, 3: CODES}),
        ("# flake8=noqa\nx\n", {1: CODES, 2: CODES, 3: CODES}),
        ("x  # flake8: noqa\n", {}),
        ("x = '''  # noqa\ny = 1  # noqa: E501\n", {1: CODES, 2: ["E501"]}),
        ("if a:\n  x\n y  # noqa\n", {3: CODES}),
        ("x = 1  # noqa", {1: CODES}),
        ("x = 1  # noqa\r\ny = 2\r\n", {1: CODES}),
        ("x = 1  # noqa\ry = 2\r", {1: CODES}),
        ("x = 1\x0c  # noqa\n\x0c\ny\n", {1: CODES}),
        ("\ufeffx = 1  # noqa\n", {1: CODES}),
        ("x = 1 \\\n", {}),
        # From 3.12 on a line end in a replacement field is a token of its own, and ends what a comment covers.
        ("x = f'''{\n1}'''  # noqa\n", {2: CODES} if sys.version_info >= (3, 12) else {1: CODES, 2: CODES}),
    ],
)
def test_the_table(tmp_path: Path, text: str, covered: dict[int, list[str]]) -> None:
    theirs = flake8_covers(tmp_path / "a.py", text)
    ours = torchlint_covers(text.removeprefix("\ufeff"), theirs)
    assert ours == theirs
    by_line: dict[int, list[str]] = {}
    for (line, code), is_covered in ours.items():
        if is_covered:
            by_line.setdefault(line, []).append(code)
    assert by_line == covered


PIECES = [
    *(
        "x",
        " = ",
        "1",
        "(",
        ")",
        "[",
        "]",
        ",",
        "'''",
        "'''",
        '"""',
        "\\",
        "\n",
        "\n",
        "\n    ",
        "\r\n",
        "\x0c",
    ),
    *(
        "# noqa",
        "# noqa:",
        "# NOQA: ",
        "TLK101",
        "TLK1",
        "E501",
        "tlk1",
        "#noqa",
        " # flake8: noqa",
        "# c",
        " ",
    ),
    *(":", "if a", "def f()", "f'{x}'", "f'''{", "}'''", "é", ";", "\u2028", "return"),
]


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    text = "".join(pieces)
    path = tmp_path_factory.getbasetemp() / "generated.py"
    theirs = flake8_covers(path, text)
    assert torchlint_covers(text, theirs) == theirs


def test_files_of_the_standard_library(tmp_path: Path) -> None:
    for source in sorted(Path(os.__file__).parent.glob("*.py"))[:60]:
        rows = source.read_text(encoding="utf-8").split("\n")
        marked = [
            f"{row}  # noqa: TLK101" if number % 7 == 0 and not row.endswith("\\") else row
            for number, row in enumerate(rows)
        ]
        text = "\n".join(marked)
        theirs = flake8_covers(tmp_path / "a.py", text)
        assert torchlint_covers(text, theirs) == theirs, source


def test_a_text_without_the_word_is_not_tokenized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenize.generate_tokens", None)
    assert Suppressions.of("x = 1\n" * 100) == Suppressions()
