"""A program in two files is told as in one: what it does is the same, and so is what is known of it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from rule_programs import named, programs
from split_programs import SPLITS, split_program

from torchlint import check_paths
from torchlint.config import Settings

SAMPLE = 9
"""Every so manieth program is divided, by its name."""

MENDED = frozenset(
    [
        "bases TLK105-clean_bank_filled_without_gradients",
        "bases TLK106-clean_rows_flushed_to_disk",
        "bases TLK301-clean_head_for_each_survey",
        "bases TLK303-leak_handles_kept_until_closed",
        "bases TLK303-clean_removed_by_another_method",
        "bases TLK407-clean_let_go_at_the_end",
        "classes TLK111-clean_cleared_by_the_loop",
        "classes TLK303-clean_under_a_first_time",
        "classes TLK402-clean_single_output_column",
        "classes TLK407-clean_let_go_at_the_end",
        "classes TLK407-clean_weak_reference",
        "classes TLK507-clean_flat_gradient_buffer",
        "functions TLK201-clean_frozen_one_by_one",
        "functions TLK507-clean_noise_added_before_backward",
    ]
)
"""Programs that are divided besides: in two files they were told once though nothing is wrong, or look like these."""


def _told(folder: Path, files: dict[str, str]) -> set[str]:
    """What is told of files that are checked in one run."""
    for name, text in {"pyproject.toml": "", **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {one.code for one in check_paths([folder], settings=Settings(notes=True))}


@cache
def _chosen() -> tuple[tuple[str, Path, dict[str, str]], ...]:
    """The programs that are divided, each with the split and the files that it gives."""
    paths = [path for prefix in ("leak", "clean") for path in programs(prefix)]
    chosen = [(split, path) for split in SPLITS for path in paths if _is_chosen(split, named(path))]
    divided = ((split, path, split_program(path.read_text(encoding="utf-8"), split)) for split, path in chosen)
    return tuple((split, path, files) for split, path, files in divided if files is not None)


def _is_chosen(split: str, program: str) -> bool:
    return crc32(program.encode()) % SAMPLE == 0 or f"{split} {program}" in MENDED


@pytest.mark.parametrize(
    ("split", "path", "files"), [pytest.param(*one, id=f"{one[0]} {named(one[1])}") for one in _chosen()]
)
def test_a_program_in_two_files_is_told_as_in_one(
    tmp_path: Path, split: str, path: Path, files: dict[str, str]
) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    before = _told(tmp_path / "one", {"program.py": path.read_text(encoding="utf-8")})
    after = _told(tmp_path / "two", files)
    assert before == after


def test_the_halves_are_programs() -> None:
    assert len(_chosen()) > 100
    for _, _, files in _chosen():
        for text in files.values():
            ast.parse(text)


def test_what_was_mended_is_of_programs_that_are_divided() -> None:
    assert {f"{split} {named(path)}" for split, path, _ in _chosen()} >= MENDED
