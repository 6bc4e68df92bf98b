"""The command line where it repairs: files, differences, and standard input."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from invoking import LEAK, REPAIRED, by_marks, torchlint, write

from torchlint.cli import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with an analysis that finds what comments say."""
    by_marks(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestFix:
    def test_applies_the_safe_repairs_and_reports_the_rest(self, project, capsys):
        path = write(project, "a.py", "x = 1  # finds TLK101 error safe\ny = 1  # finds TLK102 error unsafe\n")
        assert main(["--fix"]) == 1
        assert path.read_text().splitlines()[1].startswith("y = 1")
        assert path.read_text().startswith("fixed")

    def test_unsafe_fixes_applies_all_with_and_without_fix(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        path = write(tmp_path, "a.py", LEAK)
        assert main(["--unsafe-fixes"]) == 0
        assert path.read_text() == REPAIRED
        assert capsys.readouterr().out == "No leak left found in 1 file (1 uses torch); 1 fixed.\n"

    def test_a_repair_is_seen_by_whatever_name_torch_has(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        infers = "def predict(loader):\n    net = torch.nn.Linear(3, 3)\n    net.eval()\n"
        infers += "    for x in loader:\n        print(net(x))\n"
        path = write(tmp_path, "a.py", f"from torch import torch\n\n\n{infers}")
        assert main(["--fix", "--no-cache"]) == 0
        repaired = path.read_text()
        assert "@torch.no_grad()\n" in repaired
        assert main(["--fix", "--no-cache"]) == 0 and path.read_text() == repaired

    def test_leaves_a_file_without_repairs_untouched(self, project, capsys):
        path = write(project, "a.py", "x = 1  # finds TLK101 error\n")
        before = path.stat()
        main(["--fix"])
        assert path.stat().st_mtime_ns == before.st_mtime_ns and path.stat().st_ino == before.st_ino

    def test_repairs_nothing_on_a_suppressed_line(self, project, capsys):
        path = write(project, "a.py", "x = 1  # noqa  # finds TLK101 error safe\n")
        assert main(["--fix"]) == 0
        assert path.read_text().startswith("x = 1")

    def test_repairs_nothing_that_is_not_selected(self, project, capsys):
        path = write(project, "a.py", "x = 1  # finds TLK101 error safe\n")
        assert main(["--fix", "--ignore", "TLK101"]) == 0
        assert path.read_text().startswith("x = 1")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
    def test_a_file_that_cannot_be_written_is_one_line(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        write(tmp_path, "a.py", LEAK)
        tmp_path.chmod(0o555)
        try:
            assert main(["--fix"]) == 2
        finally:
            tmp_path.chmod(0o755)
        out, err = capsys.readouterr()
        assert "TLK101" in out and err.startswith("a.py: cannot be fixed: ")

    def test_a_failed_write_is_one_line_and_the_findings_are_those_of_the_file(self, tmp_path, monkeypatch, capsys):
        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("torchlint.rewrite.write_atomic", refuse)
        write(tmp_path, "a.py", LEAK)
        assert main(["--fix"]) == 2
        out, err = capsys.readouterr()
        assert out.startswith("a.py:11:9: TLK101 ")
        assert err == "a.py: cannot be fixed: Permission denied\n"


class TestDiff:
    def test_shows_what_would_change_and_writes_nothing(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        path = write(tmp_path, "a.py", LEAK)
        assert main(["--diff"]) == 1
        out, err = capsys.readouterr()
        assert "-        total += loss\n+        total += loss.detach()\n" in out
        assert err == "Would fix 1 finding in 1 file.\n"
        assert path.read_text() == LEAK

    def test_without_a_change_is_exit_0(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 error\n")
        assert main(["--diff"]) == 0
        assert capsys.readouterr() == ("", "Nothing to fix.\n")

    def test_keeps_the_line_ends_of_the_file(self, tmp_path):
        write(tmp_path, "a.py", LEAK.replace("\n", "\r\n"))
        done = torchlint("--diff", "a.py", cwd=tmp_path)
        assert b"+        total += loss.detach()\r\n" in done.stdout


class TestStandardInput:
    def test_is_checked_under_the_name_it_is_given(self, tmp_path):
        done = torchlint("-", "--stdin-filename", "src/model.py", cwd=tmp_path, stdin=LEAK)
        assert done.returncode == 1
        assert done.stdout.startswith(b"src/model.py:11:9: TLK101 ")

    def test_has_a_dash_for_a_name_otherwise(self, tmp_path):
        done = torchlint("-", cwd=tmp_path, stdin=LEAK)
        assert done.stdout.startswith(b"-:11:9: TLK101 ")

    def test_with_fix_comes_out_repaired_with_the_report_on_standard_error(self, tmp_path):
        done = torchlint("--fix", "-", cwd=tmp_path, stdin=LEAK.replace("\n", "\r\n"))
        assert done.returncode == 0
        assert done.stdout == REPAIRED.replace("\n", "\r\n").encode()
        assert done.stderr == b"No leak left found in 1 file (1 uses torch); 1 fixed.\n"

    @pytest.mark.parametrize("data", [b"x = (\n", b"\xff\n", b"x\0\n", b"", b"x = 1\r"])
    def test_with_fix_comes_out_as_it_went_in_when_there_is_nothing_to_repair(self, tmp_path, data):
        done = torchlint("--fix", "-", cwd=tmp_path, stdin=data)
        assert done.stdout == data

    def test_is_configured_by_the_folder_of_its_name(self, tmp_path):
        write(tmp_path, "sub/pyproject.toml", '[tool.torchlint]\nignore = ["TLK101"]\n')
        done = torchlint("-", "--stdin-filename", "sub/new.py", cwd=tmp_path, stdin=LEAK)
        assert done.returncode == 0
