"""Drawn programs of training before and after their repair, run: what `--fix` leaves computes the same, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from repaired_programs import checked, outcome, written
from training_programs import training_program

from torchlint.run import Repairs

SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_safe_repair_changes_no_result(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = training_program(seed)
    before, after = written(tmp_path / "before", files), written(tmp_path / "after", files)
    repaired = [one for one in checked(before, Repairs.NONE) if one.endswith(" safe")]
    if not repaired:
        return
    checked(after, Repairs.SAFE)
    expected = computed(before)
    assert expected is None or computed(after) == expected


def computed(folder: Path) -> object:
    """What the program computes; None where it goes twice over a graph, as a drawn one may."""
    try:
        return outcome(folder)
    except RuntimeError:
        return None


def test_a_seed_names_a_program() -> None:
    assert training_program(7) == training_program(7) != training_program(8)
