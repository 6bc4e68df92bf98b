"""Repairs touch their own bytes and no others: whatever a file's encoding and line ends, the rest stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.catalog import fixture_folder, rules
from torchlint.diagnostic import Diagnostic
from torchlint.engine import check
from torchlint.fix.applying import fix_source
from torchlint.source import Source, decode_source, encode_source

PROGRAMS = [
    "TLK101/leak_epoch_sum",
    "TLK101/leak_loss_parts",
    "TLK102/leak_batch_records",
    "TLK201/leak_request_handler",
]


def diagnose(source: Source) -> tuple[Diagnostic, ...]:
    return check(source, rules()).diagnostics


def repaired(data: bytes) -> bytes:
    source = decode_source(data, "program.py")
    return encode_source(source, fix_source(source, diagnose, unsafe=False).text)


def pair(name: str) -> tuple[bytes, bytes]:
    """A leaking program and its repaired twin."""
    code, program = name.split("/")
    folder = fixture_folder(code)
    assert folder is not None
    leak = Path(folder, f"{program}.py")
    return leak.read_bytes(), leak.with_name(leak.name.replace("leak_", "fixed_")).read_bytes()


def dos_lines(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def mixed_lines(data: bytes) -> bytes:
    """The last line ends otherwise than those before it."""
    return data.removesuffix(b"\n") + b"\r\n"


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda data: data,
    "DOS line ends": dos_lines,
    "mixed line ends": mixed_lines,
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "latin-1": lambda data: b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + data,
    "cp1252 and DOS line ends": lambda data: dos_lines(b"# coding: cp1252\n# \x80 20\n" + data),
    "no final newline": lambda data: data.rstrip(b"\n"),
    "a form feed": lambda data: data.replace(b"\n\n", b"\n\x0c\n", 1),
    "trailing blanks": lambda data: data.replace(b":\n", b":  \n"),
    "wide characters": lambda data: "# 数 → β\n".encode() + data,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("form", FORMS)
def test_a_repair_keeps_every_other_byte(name: str, form: str) -> None:
    leak, fixed = pair(name)
    assert repaired(FORMS[form](leak)) == FORMS[form](fixed)


COMMENT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12).map(
    lambda text: f"# {text}"
)
BLANK = st.sampled_from(["", "   ", "\t", "\f"])


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), COMMENT | BLANK), max_size=6), st.sampled_from(PROGRAMS))
def test_comments_and_blank_lines_anywhere_are_kept(insertions: list[tuple[int, str]], name: str) -> None:
    leak, fixed = (data.decode().split("\n") for data in pair(name))
    shared = [i for i, line in enumerate(leak[: len(fixed)]) if line == fixed[i]]
    at = shared[: next((i for i, (a, b) in enumerate(zip(leak, fixed, strict=False)) if a != b), len(shared))]
    for place, text in insertions:
        line = at[place % len(at)] if at else 0
        leak.insert(line, text)
        fixed.insert(line, text)
    assert repaired("\n".join(leak).encode()) == "\n".join(fixed).encode()
