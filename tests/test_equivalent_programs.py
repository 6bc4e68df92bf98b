"""What behaves the same is told the same: the rules' programs, written in other ways."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest
from equivalent_programs import FORMS, Form, codes_by_line, expecting, text_of
from rule_programs import diagnose, named, programs
from test_rules import marks

from torchlint.diagnostic import Level
from torchlint.source import Source

ONE_IN = 14
"""Of how many programs each form is tried on one: always on the same ones, whatever programs are added."""

KNOWN = {
    "TLK110-clean_codes_of_several_graphs": "with_iterators",  # parameters that `next` draws are not those of a network
    "TLK201-leak_margin_returned_as_tensor": "with_bodies_in_functions",  # its caller is told to be the evaluation
    "TLK104-leak_memory_read_without_gradients": "with_bodies_in_functions",  # a state that a helper gives back
    "TLK401-leak_pictures_for_each_batch": "with_bodies_in_functions",  # what a helper joins to what it is given
    "TLK401-leak_embeddings_added_to_a_list": "with_iterators",  # `while True:` is no pass over data
    "TLK303-leak_watched_every_few_epochs": "with_iterators",  # nor is it a loop of epochs
    "TLK401-leak_columns_by_name": "with_a_generator",  # nor is what a generator yields of what `items` gives
    "TLK102-leak_pages_of_an_album": "with_a_generator",  # the number that one hands on is taken for a new key
    "TLK301-leak_iterator_from_the_second_batch_on": "with_holders_in_a_dictionary",  # a count of turns is a variable
    "TLK301-leak_loader_for_each_batch": "with_a_generator",  # a loader that a generator is given is built for it
    "TLK201-clean_members_frozen_by_their_ensemble": "with_a_generator",  # which members one hands on is not followed
}
"""Programs of which something else is told than it should be in one of the forms."""

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
    chosen = [path for path in PROGRAMS if crc32(f"{form.__name__} {named(path)}".encode()) % ONE_IN == 0]
    found = {path: differences(form, path) for path in chosen}
    assert sum(one is not None for one in found.values()) > 4
    different = {named(path): one for path, one in found.items() if one}
    known = {program for program, name in KNOWN.items() if name == form.__name__}
    assert {program: one for program, one in different.items() if program not in known} == {}
    assert known <= different.keys()
