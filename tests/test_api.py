"""torchlint as a library."""

from __future__ import annotations

from pathlib import Path

import pytest
from invoking import LEAK, by_marks

import torchlint
from torchlint import check_paths, check_source
from torchlint.config import BadConfig, Settings
from torchlint.plan import MissingPath
from torchlint.selection import Choice
from torchlint.source import Unreadable


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder to work in, with an analysis that finds what comments say."""
    by_marks(monkeypatch)
    monkeypatch.chdir(tmp_path)


def places(found: list[torchlint.Diagnostic]) -> list[str]:
    return [f"{one.path}:{one.line}:{one.column} {one.code}" for one in found]


class TestCheckSource:
    @pytest.mark.parametrize(
        "text",
        [
            "x = 1  # finds TLK101 error\n",
            b"x = 1  # finds TLK101 error\n",
            b"\xef\xbb\xbfx = 1  # finds TLK101 error",
        ],
    )
    def test_takes_text_and_bytes(self, text):
        assert places(check_source(text)) == ["<string>:1:1 TLK101"]

    def test_puts_the_given_name_into_findings(self):
        assert places(check_source("x = 1  # finds TLK101 error\n", "a.py")) == ["a.py:1:1 TLK101"]

    def test_heeds_noqa_and_keeps_notes_back(self):
        assert check_source("x = 1  # noqa  # finds TLK101 error\ny = 1  # finds TLK102 note\n") == []

    def test_takes_settings_and_no_file_besides(self, tmp_path):
        (tmp_path / "pyproject.toml").write_text('[tool.torchlint]\nignore = ["TLK"]\n')
        text = "x = 1  # finds TLK101 error\ny = 1  # finds TLK102 note\n"
        assert places(check_source(text)) == ["<string>:1:1 TLK101"]
        settings = Settings(choices=(Choice(ignore=("TLK101",)),), notes=True)
        assert places(check_source(text, settings=settings)) == ["<string>:2:1 TLK102"]

    @pytest.mark.parametrize("text", ["syntax error", b"\0", b"\xff"])
    def test_raises_for_what_cannot_be_checked(self, text):
        with pytest.raises(Unreadable):
            check_source(text)

    def test_is_found_in_the_package_itself(self, monkeypatch):
        monkeypatch.undo()
        assert torchlint.check_source(LEAK)[0].code == "TLK101"


class TestCheckPaths:
    def test_takes_files_and_folders_and_sorts(self, tmp_path):
        (tmp_path / "sub").mkdir()
        for name in ("b.py", "a.py", "sub/c.py"):
            (tmp_path / name).write_text("x = 1  # finds TLK101 error\n")
        assert [one.path for one in check_paths(["sub", Path("b.py"), "a.py"])] == [
            "a.py",
            "b.py",
            "sub/c.py",
        ]

    def test_is_configured_by_the_nearest_pyproject_or_by_the_caller(self, tmp_path):
        (tmp_path / "pyproject.toml").write_text('[tool.torchlint]\nignore = ["TLK101"]\n')
        (tmp_path / "a.py").write_text("x = 1  # finds TLK101 error\n")
        assert check_paths(["a.py"]) == []
        assert places(check_paths(["a.py"], settings=Settings())) == ["a.py:1:1 TLK101"]

    def test_raises_for_a_missing_path_and_a_broken_pyproject(self, tmp_path):
        with pytest.raises(MissingPath, match="gone"):
            check_paths(["gone"])
        (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\nnonsense = 1\n")
        with pytest.raises(BadConfig):
            check_paths(["."])

    def test_raises_for_what_cannot_be_checked_unless_it_is_told_whom_to_tell(self, tmp_path):
        (tmp_path / "a.py").write_text("syntax error\n")
        (tmp_path / "b.py").write_text("x = 1  # finds TLK101 error\n")
        with pytest.raises(Unreadable, match=r"a\.py: cannot be checked: is no Python"):
            check_paths(["."])
        told: list[tuple[str, str]] = []
        found = check_paths(["."], on_failure=lambda path, why: told.append((path, why)))
        assert places(found) == ["b.py:1:1 TLK101"]
        assert told == [("a.py", "cannot be checked: is no Python")]
