"""Loops over what lies on a disk: each turn brings another file, or another row of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

from torchlint.facts.turns.disk_passes import goes_over_disk

HEAD = """
import csv, glob
import torch, torchaudio
import numpy as np

def rows(table):
    with open(table) as file:
        for row in csv.DictReader(file):
            if row["kept"]:
                yield row["path"]

def numbers(count):
    for number in range(count):
        yield number

def load(path):
    wave, rate = torchaudio.load(str(path))
    return wave

def scaled(wave):
    return load("first.wav") * wave
"""


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for path in glob.glob('*.wav')", "work(path)"),
        ("for path in rows('songs.csv')", "work(path)"),
        ("for number, path in enumerate(rows('songs.csv'))", "work(path)"),
        ("for path in paths", "wave, rate = torchaudio.load(path)"),
        ("for path in paths", "array = np.load(str(path))"),
        ("for number, path in enumerate(paths)", "wave = load(path)"),
    ],
)
def test_a_loop_over_files_or_rows(loop: str, body: str) -> None:
    assert _goes_over_disk(loop, body)


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for path in paths", "work(path)"),
        ("for number in numbers(3)", "work(number)"),
        ("for path in ['a.wav', 'b.wav']", "wave = load(path)"),
        ("for path in paths", "wave = load('always.wav')"),
        ("for wave in paths", "wave = scaled(wave)"),
        ("while paths", "wave = load('always.wav')"),
    ],
)
def test_any_other(loop: str, body: str) -> None:
    assert not _goes_over_disk(loop, body)


def _goes_over_disk(loop: str, body: str) -> bool:
    facts = Program(f"def run(paths, work):\n    {loop}:\n        {body}\n", head=HEAD).facts
    (found,) = (one for one in facts.graph.loops if one.function.name == "run")
    return goes_over_disk(facts.solution, facts.steps, found)


SONGS = """
    import csv
    from pathlib import Path
    import torch
    import torchaudio

    def songs(root):
        {loop}
            wave, rate = torchaudio.load(str(path))
            yield path.stem, {given}

    def opening(wave):
        return wave[{part}]
"""

SHELF = """
    class Shelf:
        def __init__(self):
            self.items = {made}

        def put(self, name, wave, rate):
            {kept}
"""

INDEX = """
    import torch
    from shelf import Shelf
    from songs import opening, songs

    def index(root):
        shelf = Shelf()
        for name, wave, rate in songs(root):
            wave = (wave - wave.mean()) / (wave.std() + 1e-6)
            shelf.put({name}, {row}, rate)
        return shelf
"""

ALL = {
    "loop": "for path in sorted(Path(root).glob('*.wav')):", "given": "wave, int(rate)", "part": "wave.shape[0] // 2",
    "made": "{}", "kept": "self.items[name] = (wave, rate)", "name": "name", "row": "opening(wave)",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, True),
        ({"row": "wave[0]"}, True),
        ({"made": "[]", "kept": "self.items.append((name, wave))"}, True),
        ({"row": "opening(wave).clone()"}, False),
        ({"part": "wave.shape[0] // 2].clone()[:"}, False),
        ({"kept": "self.items[name] = (wave.clone(), rate)"}, False),
        ({"kept": "self.items[name] = (wave.mean(), rate)"}, False),
        ({"name": "'last'"}, False),
        ({"name": "root"}, False),
        ({"row": "wave"}, False),
        ({"loop": "for path in (Path(root) / 'first.wav', Path(root) / 'last.wav'):"}, False),
    ],
)
def test_a_generator_of_another_file_reads_what_lies_on_a_disk(
    tmp_path: Path, changed: dict[str, str], told: bool
) -> None:
    parts = {**ALL, **changed}
    files = {"songs.py": SONGS, "shelf.py": SHELF, "index.py": INDEX}
    project = Project(tmp_path, {name: text.format(**parts) for name, text in files.items()})
    assert project.found() == ["index.py: TLK402 error"] * told
