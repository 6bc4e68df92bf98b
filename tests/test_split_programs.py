"""A program in two files is told as in one: what it does is the same, and so is what is known of it.

What is not so yet is written down, with what is lost and what is told in two files alone; who mends it takes it out.
"""

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

KEPT = frozenset(["TLK101", "TLK102", "TLK103", "TLK104", "TLK105", "TLK106", "TLK111"])
"""What tells of one and the same graph: of another file it is said where that is given it."""

KNOWN = {
    "bases TLK101-leak_parts_beside_the_loss": "-TLK10*",
    "bases TLK103-leak_hebbian_trace": "-TLK10*",
    "bases TLK104-leak_plan_of_the_next_moves": "-TLK10*",
    "bases TLK107-leak_trainer_with_scaler": "-TLK107",
    "bases TLK110-leak_views_of_an_input": "-TLK110",
    "bases TLK111-leak_sharpness_of_each_layer": "-TLK10*",
    "bases TLK202-leak_base_class_raises_not_implemented": "-TLK202 +TLK201",
    "bases TLK203-leak_master_taught_before": "-TLK203",
    "bases TLK305-leak_service_freezes_its_net": "+TLK301",
    "bases TLK401-leak_ranking_metric": "-TLK401",
    "bases TLK402-leak_last_step_by_speaker": "-TLK402",
    "bases TLK404-leak_server_answers_by_request": "-TLK404",
    "bases TLK501-leak_windows_added_one_by_one": "-TLK501",
    "bases TLK106-clean_latest_activation": "-TLK10*",
    "bases TLK111-clean_last_loss_of_an_agent": "-TLK10*",
    "classes TLK101-leak_parts_beside_the_loss": "+TLK10*",
    "classes TLK103-leak_hebbian_trace": "-TLK10*",
    "classes TLK104-leak_plan_of_the_next_moves": "-TLK10*",
    "classes TLK111-leak_sharpness_of_each_layer": "-TLK10*",
    "classes TLK202-leak_base_class_raises_not_implemented": "+TLK201",
    "classes TLK401-leak_ranking_metric": "-TLK401",
    "classes TLK402-leak_last_step_by_speaker": "-TLK402",
    "classes TLK408-leak_stages_of_a_closed_chain": "+TLK506",
    "classes TLK103-clean_input_scaler": "+TLK10*",
    "classes TLK106-clean_latest_activation": "-TLK10*",
    "functions TLK201-leak_pass_without_optimizer": "-TLK201",
    "functions TLK201-leak_step_with_bound_network": "-TLK201",
    "functions TLK102-clean_parts_concatenated": "+TLK110",
    "functions TLK107-clean_norms_of_each_task_first": "+TLK107",
    "functions TLK108-clean_copy_given_back": "-TLK301",
}
"""By the split and the program: what is told in one file alone, and what only in two."""

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


def _family(code: str) -> str:
    return "TLK10*" if code in KEPT else code


def _told(folder: Path, files: dict[str, str]) -> set[str]:
    """What is told of files that are checked in one run."""
    for name, text in {"pyproject.toml": "", **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {_family(one.code) for one in check_paths([folder], settings=Settings(notes=True))}


@cache
def _chosen() -> tuple[tuple[str, Path, dict[str, str]], ...]:
    """The programs that are divided, each with the split and the files that it gives."""
    paths = [path for prefix in ("leak", "clean") for path in programs(prefix)]
    chosen = [(split, path) for split in SPLITS for path in paths if _is_chosen(split, named(path))]
    divided = ((split, path, split_program(path.read_text(encoding="utf-8"), split)) for split, path in chosen)
    return tuple((split, path, files) for split, path, files in divided if files is not None)


def _is_chosen(split: str, program: str) -> bool:
    return crc32(program.encode()) % SAMPLE == 0 or f"{split} {program}" in MENDED


def _changed(before: set[str], after: set[str]) -> list[str]:
    """What is told in one file and not in two, with a minus, and what in two alone, with a plus."""
    return [*(f"-{one}" for one in sorted(before - after)), *(f"+{one}" for one in sorted(after - before))]


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
    known = KNOWN.get(f"{split} {named(path)}", "").split()
    assert set(_changed(before, after)) <= set(known)


def test_the_halves_are_programs() -> None:
    assert len(_chosen()) > 100
    for _, _, files in _chosen():
        for text in files.values():
            ast.parse(text)


def test_what_is_known_is_of_programs_that_are_divided() -> None:
    assert {*KNOWN, *MENDED} <= {f"{split} {named(path)}" for split, path, _ in _chosen()}
