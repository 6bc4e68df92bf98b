"""Every rule against its folder of programs: what leaks is found, what only looks like it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rule_programs import findings, named, programs

from torchlint.catalog import codes, fixture_folder, rules
from torchlint.diagnostic import Level
from torchlint.engine import check
from torchlint.source import read_source

MARK = re.compile(r"#\s*expect(-todo)?:\s*([\w, ]+)")


def marks(path: Path) -> Iterator[tuple[int, str, bool]]:
    """(line, code, whether it is only hoped for) of each mark."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if (match := MARK.search(line)) is not None:
            for code in match[2].split(","):
                yield number, code.strip(), bool(match[1])


@pytest.mark.parametrize("code", codes())
def test_a_rule_has_its_folder_of_programs(code: str) -> None:
    folder = fixture_folder(code)
    assert folder is not None, f"fixtures/{code}-... is missing"
    assert len(list(folder.glob("leak_*.py"))) >= 4
    assert len(list(folder.glob("clean_*.py"))) >= 6
    for leak in folder.glob("leak_*.py"):
        assert leak.with_name(leak.name.replace("leak_", "fixed_", 1)).exists()


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_what_leaks_is_found_where_it_is_marked(path: Path) -> None:
    expected = {(line, code) for line, code, hoped in marks(path) if not hoped}
    hoped_for = {(line, code) for line, code, hoped in marks(path) if hoped}
    found = {(d.line, d.code) for d in findings(path)}
    loud = {(d.line, d.code) for d in findings(path) if d.level is not Level.NOTE}
    assert expected <= found
    assert loud <= expected | hoped_for


@pytest.mark.parametrize("path", [*programs("clean")], ids=named)
def test_what_only_looks_like_a_leak_is_not_found(path: Path) -> None:
    assert [d for d in findings(path) if d.level is not Level.NOTE] == []


@pytest.mark.parametrize("path", programs("fixed"), ids=named)
def test_a_repaired_program_is_quiet(path: Path) -> None:
    assert [d for d in findings(path) if d.level is not Level.NOTE] == []


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_a_finding_says_who_holds_and_how_it_came(path: Path) -> None:
    for diagnostic in findings(path):
        assert "\n" not in diagnostic.message
        assert "`" in diagnostic.message
        assert diagnostic.evidence
        assert diagnostic.line >= 1
        assert diagnostic.column >= 1


@pytest.mark.parametrize("path", [*programs("leak"), *programs("clean")], ids=named)
def test_the_screen_hides_no_finding(path: Path) -> None:
    unscreened = check(read_source(path), rules(), use_screen=False).diagnostics
    assert unscreened == findings(path)
