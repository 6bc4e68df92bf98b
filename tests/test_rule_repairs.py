"""The repairs of every rule on its folder of programs: they give the repaired twin, once and for all."""

from __future__ import annotations

import tokenize
from io import StringIO
from pathlib import Path

import libcst as cst
import pytest
from rule_programs import diagnose, named, programs

from torchlint.fix import fix_source
from torchlint.source import Source, read_source
from torchlint.verify.programs import read_settings


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_the_repair_gives_the_repaired_program(path: Path) -> None:
    kind = read_settings(path.read_text()).fix
    source = read_source(path)
    if kind == "manual":
        pytest.skip("this one is repaired by hand")
    outcome = fix_source(source, diagnose, unsafe=kind == "unsafe")
    twin = read_source(path.with_name(path.name.replace("leak_", "fixed_", 1)))
    assert outcome.text == twin.text


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_repairing_twice_changes_nothing_more(path: Path) -> None:
    source = read_source(path)
    once = fix_source(source, diagnose, unsafe=True).text
    again = fix_source(Source(source.path, once, source.encoding, source.has_bom), diagnose, unsafe=True).text
    assert again == once
    cst.parse_module(once)
    assert comments(once) == comments(source.text)


def comments(text: str) -> list[str]:
    return [
        token.string for token in tokenize.generate_tokens(StringIO(text).readline) if token.type == tokenize.COMMENT
    ]
