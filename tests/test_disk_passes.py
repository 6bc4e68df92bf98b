"""Loops over what lies on a disk: each turn brings another file, or another row of one."""

from __future__ import annotations

import pytest
from programs import Program

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
