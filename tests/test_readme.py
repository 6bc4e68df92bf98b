"""The README says what is true today."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module, util
from pathlib import Path
from types import ModuleType

import pytest
from invoking import ROOT

from torchlint.catalog import codes
from torchlint.config import Settings, read_settings

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    """The script that writes the generated parts."""
    spec = util.spec_from_file_location("write_readme", ROOT / "scripts" / "write_readme.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(language: str) -> list[str]:
    """The README's blocks of code in this language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_generated_parts_are_current(writer):
    current = writer.written(README, writer.parts())
    assert current == README, "run: python scripts/write_readme.py"


def test_the_picture_shows_what_torchlint_prints(writer):
    assert writer.PICTURE.read_text(encoding="utf-8") == writer.picture(writer.finding())


def test_the_table_names_every_rule(writer):
    table = re.search(r"<!-- symptoms:.*?<!-- /symptoms -->", README, re.DOTALL)
    assert table is not None
    assert sorted(set(re.findall(r"TLK\d{3}", table[0]))) == list(codes())


def test_no_rule_is_listed_by_hand(writer):
    by_hand = writer.written(README, {"finding": "", "symptoms": ""}) + (ROOT / "CHANGELOG.md").read_text()
    assert set(re.findall(r"TLK\d{3}", by_hand)) <= {"TLK101"}


def test_ci_runs_the_readmes_test_command():
    (command,) = (line for block in blocks("sh") for line in block.splitlines() if "pytest" in line)
    assert """bash -c "$(grep -m1 -- '-m pytest' README.md)"\n""" in (ROOT / ".ci" / "run").read_text()
    assert command == next(line for line in README.splitlines() if "-m pytest" in line)


def test_the_configuration_shown_is_valid_and_shows_every_key(tmp_path: Path):
    shown = next(block for block in blocks("toml") if "[tool.torchlint]" in block)
    (tmp_path / "pyproject.toml").write_text(shown)
    settings = read_settings(tmp_path / "pyproject.toml")
    assert settings is not None
    assert (settings.max_file_size, settings.respect_gitignore) == (Settings().max_file_size, True)
    readers = import_module("torchlint.config")._READERS
    assert all(f"\n{key} = " in shown for key in readers)


def test_the_options_shown_exist():
    shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(re.findall(r"torchlint [^`\n]*", README))))
    known = "".join(help_of(*command) for command in ((), ("check",), ("verify",)))
    assert shown and all(option in known for option in shown)


def help_of(*command: str) -> str:
    """What ``torchlint COMMAND --help`` prints; without a command what ``torchlint --help`` does."""
    words = [sys.executable, "-m", "torchlint", *command, "--help"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", ["README.md", "CHANGELOG.md", "pyproject.toml", ".ci/run", ".pre-commit-hooks.yaml"])
def test_no_file_names_a_place_that_only_one_machine_has(path):
    assert not re.search(r"/(work|root|home|tmp)/", (ROOT / path).read_text())
