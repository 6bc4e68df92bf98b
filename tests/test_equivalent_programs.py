"""What behaves the same is told the same: the rules' programs, written in other ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from equivalent_programs import FORMS, Form, codes_by_line, expecting, text_of
from rule_programs import diagnose, programs
from test_rules import marks

from torchlint.diagnostic import Level
from torchlint.source import Source

ONE_IN = 14
"""Of how many programs each form is tried on one; which ones those are differs from form to form."""

KNOWN: frozenset[tuple[str, str]] = frozenset()
"""The forms of programs of which something else is told than it should be, by the names of both."""

PROGRAMS = [*programs("leak"), *programs("clean")]


def differences(form: Form, path: Path) -> list[str] | None:
    """What is told of a program in another form and should not be, and what is not; None where nothing changes."""
    text = path.read_text(encoding="utf-8")
    expected = [(line, code) for line, code, hoped in marks(path) if not hoped]
    tree = expecting(text, expected)
    if not form(tree):
        return None
    told = {(one.line, one.code): one.level for one in diagnose(Source("rewritten.py", text_of(tree)))}
    by_line = codes_by_line(tree)
    hoped_for = {code for _, code, hoped in marks(path) if hoped}
    found = [code for line, code in told if code in by_line.get(line, ())]
    lost = [f"{code} is not told" for _, code in expected if code not in found]
    new = [(line, code) for (line, code), level in told.items() if level is not Level.NOTE and code not in hoped_for]
    return lost + [f"{code} in line {line}" for line, code in new if code not in by_line.get(line, ())]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_behaves_the_same_is_told_the_same(form: Form) -> None:
    chosen = PROGRAMS[FORMS.index(form) :: ONE_IN]
    found = {path: differences(form, path) for path in chosen}
    assert sum(one is not None for one in found.values()) > 4
    different = {(form.__name__, path.stem): one for path, one in found.items() if one}
    known = {(name, stem) for name, stem in KNOWN if name == form.__name__}
    assert {key: one for key, one in different.items() if key not in known} == {}
    assert known <= different.keys()
