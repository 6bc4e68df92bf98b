"""Summaries that are kept from one run to the next: what they say, where they lie, and what makes them worthless."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
from projects import FIT, METER
from rule_programs import named, programs

from torchlint.cache import Cache, cache_file
from torchlint.cache.folder import summaries_file
from torchlint.cache.key import Key
from torchlint.cache.summaries import read, written
from torchlint.catalog import codes
from torchlint.facts.summaries.encoded import decode, encode
from torchlint.project.kept_summaries import KeptSummaries
from torchlint.project.summarised import summarised
from torchlint.run import Job, check_files
from torchlint.selection import Selection

SELECTION = Selection(frozenset(codes()))

SUMMING, COUNTING = dedent(METER).format(ending=""), dedent(METER).format(ending=".item()")

TRAINING = dedent(FIT).format(
    imports="from meter import Meter", before="meter = Meter()", each="meter.update(loss)", after="return meter"
)


@pytest.mark.parametrize("path", programs("leak")[::4], ids=named)
def test_what_is_kept_says_what_was_made(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    names = [
        line.split("(")[0].split(":")[0].split()[1] for line in text.splitlines() if line.startswith(("def ", "class "))
    ]
    for name in names:
        made = summarised(text, name)
        assert made is not None
        assert decode(encode(made)) == made


def test_of_what_cannot_be_parsed_it_is_kept_that_there_is_none() -> None:
    assert decode(encode(None)) is None


@pytest.mark.parametrize("line", ['{"": 99}', '{"": 0}', '{"": 13, "kind": "nothing"}', "[1, 2]", "7", "{", '{"a": 1}'])
def test_what_was_not_written_by_it_is_no_summary(line: str) -> None:
    with pytest.raises((ValueError, KeyError, IndexError, TypeError)):
        decode(line)


def test_what_is_kept_is_not_made_again() -> None:
    first = KeptSummaries()
    made = first.of(SUMMING, "Meter")
    ((key, line),) = first.taken()
    assert first.taken() == ()
    second = KeptSummaries(lambda: {key: line.encode()})
    assert second.of(SUMMING, "Meter") == made
    assert second.taken() == ()


def test_another_name_and_another_text_are_made_anew() -> None:
    first = KeptSummaries()
    first.of(SUMMING, "Meter")
    kept = {key: line.encode() for key, line in first.taken()}
    for excerpt, name in [(SUMMING + "\n", "Meter"), (SUMMING, "Metre")]:
        other = KeptSummaries(partial(dict, kept))
        other.of(excerpt, name)
        assert len(other.taken()) == 1


def test_a_damaged_line_is_made_anew() -> None:
    first = KeptSummaries()
    made = first.of(SUMMING, "Meter")
    ((key, _),) = first.taken()
    second = KeptSummaries(lambda: {key: b"{"})
    assert second.of(SUMMING, "Meter") == made
    assert [name for name, _ in second.taken()] == [key]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "kept.json")


def test_the_file_holds_what_was_written_the_latest_first(file: str) -> None:
    key = Key()
    Path(file).write_bytes(written({"a": b"1", "b": b"2"}, {"c": "3", "a": "4"}, key))
    assert [*read(file, key).items()] == [("c", b"3"), ("a", b"4"), ("b", b"2")]


@pytest.mark.parametrize("damage", [b"", b"\n", b"x", b"a b c\n{}", b"\xff\xfe \n"])
def test_a_damaged_file_holds_nothing(file: str, damage: bytes) -> None:
    Path(file).write_bytes(damage)
    assert read(file, Key()) == {}


def test_a_file_with_another_byte_holds_nothing(file: str) -> None:
    data = written({}, {"a": "1", "b": "2"}, Key())
    Path(file).write_bytes(data[:-1] + b"3")
    assert read(file, Key()) == {}


def test_a_file_of_another_installation_holds_nothing(file: str) -> None:
    class Other(Key):
        stamps = "other"
        content = "other"

    Path(file).write_bytes(written({}, {"a": "1"}, Other()))
    assert read(file, Key()) == {}
    assert read(file, Other()) == {"a": b"1"}


def checked(folder: Path, workers: int = 1) -> list[tuple[int, str]]:
    """What is found in the training of a folder, with a cache beside it; the meter is read for it alone."""
    jobs = [Job(str(folder / name), SELECTION) for name in ("plain.py", "train.py")]
    results = check_files(jobs, workers, Cache(cache_file(str(folder), str(folder / "cache"))))
    return [(one.line, one.code) for result in results for one in result.diagnostics]


def kept_in(folder: Path) -> dict[str, bytes]:
    return read(summaries_file(cache_file(str(folder), str(folder / "cache"))), Key())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_changed_file_is_told_the_same_of_what_it_imports(tmp_path: Path, workers: int) -> None:
    (tmp_path / "plain.py").write_text("import torch\n")
    (tmp_path / "meter.py").write_text(SUMMING)
    (tmp_path / "train.py").write_text(TRAINING)
    found = checked(tmp_path, workers)
    assert [code for _, code in found] == ["TLK105"]
    assert kept_in(tmp_path)
    (tmp_path / "train.py").write_text(TRAINING + "\n\nagain = train\n")
    assert checked(tmp_path, workers) == found
    (tmp_path / "meter.py").write_text(COUNTING)
    assert checked(tmp_path, workers) == []


def test_nothing_of_the_code_is_kept(tmp_path: Path) -> None:
    (tmp_path / "meter.py").write_text(SUMMING.replace("value * n", "value * n  # a secret"))
    (tmp_path / "train.py").write_text(TRAINING)
    checked(tmp_path)
    lines = b"".join(kept_in(tmp_path).values())
    assert b"secret" not in lines
    assert b"+=" not in lines


def test_results_are_the_same_with_and_without_it(tmp_path: Path) -> None:
    (tmp_path / "meter.py").write_text(SUMMING)
    (tmp_path / "train.py").write_text(TRAINING)
    job = Job(str(tmp_path / "train.py"), SELECTION)
    (alone,) = check_files([job])
    (kept,) = check_files([job], 1, Cache(str(tmp_path / "one" / "1-a.json")))
    assert replace(kept, consulted=None, made=()) == replace(alone, consulted=None, made=())
