"""The command line: what it prints where, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from invoking import INTERRUPTIBLE, LEAK, ROOT, WITHOUT_TORCH, by_marks, modules_after, torchlint, write

from torchlint import __version__
from torchlint.catalog import codes
from torchlint.cli import main
from torchlint.run import internal_error


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with an analysis that finds what comments say."""
    by_marks(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestFindings:
    def test_are_a_line_each_sorted_by_path_line_column_and_code(self, project, capsys):
        write(project, "b.py", "import torch\nx = 1  # finds TLK201 error\n")
        write(
            project,
            "a.py",
            "y = 1  # finds TLK102 error\nx = 1  # finds TLK102 error # finds TLK101 warning\n",
        )
        assert main(["."]) == 1
        places = [line.partition(" `")[0] for line in capsys.readouterr().out.splitlines()[:-1]]
        assert places == ["a.py:1:1: TLK102", "a.py:2:1: TLK101", "a.py:2:1: TLK102", "b.py:2:1: TLK201"]

    def test_make_exit_1_and_with_exit_zero_0(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 warning\n")
        assert main(["a.py"]) == 1
        assert main(["a.py", "--exit-zero"]) == 0

    def test_are_the_same_with_and_without_the_word_check(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 error\n")
        assert main(["check", "a.py"]) == main(["a.py"]) == 1
        first, second = capsys.readouterr().out.splitlines()[:2], capsys.readouterr().out
        assert first[0].startswith("a.py:1:1: TLK101") and not second

    def test_a_file_named_twice_is_checked_once(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 error\n")
        main(["a.py", ".", str(project / "a.py")])
        assert capsys.readouterr().out.count("TLK101") == 1

    def test_under_noqa_are_silent(self, project, capsys):
        write(project, "a.py", "x = 1  # noqa: TLK101  # finds TLK101 error\n")
        assert main(["a.py"]) == 0

    def test_are_the_same_for_any_number_of_processes(self, tmp_path):
        for number in range(4):
            write(tmp_path, f"{number}.py", LEAK + "# Enough for a process of its own.\n" * 3000)
        alone, several = torchlint(".", cwd=tmp_path), torchlint("-j", "2", ".", cwd=tmp_path)
        assert alone.stdout == several.stdout
        assert alone.stdout.count(b"TLK101") == 4


class TestNotes:
    def test_are_counted_but_not_shown_and_never_fail_a_run(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK201 note\n")
        assert main(["a.py"]) == 0
        assert capsys.readouterr().out == "No leak found in 1 file (0 use torch); 1 note (--notes).\n"

    @pytest.mark.parametrize("words", [["--notes"], ["--extend-select", "TLK201"], ["--select", "TLK201"]])
    def test_are_shown_when_asked_for(self, project, capsys, words):
        write(project, "a.py", "x = 1  # finds TLK201 note\n")
        assert main(["a.py", *words]) == 0
        assert capsys.readouterr().out.startswith("a.py:1:1: TLK201 ")

    def test_are_not_shown_for_a_prefix(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK201 note\n")
        main(["a.py", "--select", "TLK2"])
        assert "TLK201" not in capsys.readouterr().out


class TestSummary:
    def test_says_what_to_do_first(self, project, capsys):
        write(project, "a.py", "v = 1  # finds TLK101 warning safe\n")
        write(project, "b.py", "v = 1\nw = 1  # finds TLK201 error safe\nx = 1  # finds TLK102 error unsafe\n")
        write(project, "c.py", "v = 1  # finds TLK102 error explained\nw = 1  # finds TLK103 note\n")
        main(["."])
        assert capsys.readouterr().out.splitlines()[-1] == (
            "2 keep GPU memory every step (start with b.py:2), 1 keep host memory every step; "
            "2 fixable with --fix; 1 more with --unsafe-fixes; 1 note (--notes)"
        )

    def test_of_nothing_says_what_was_looked_at(self, project, capsys):
        write(project, "a.py", "import torch\n")
        write(project, "b.py", "import os\n")
        assert main(["."]) == 0
        assert capsys.readouterr().out == "No leak found in 2 files (1 uses torch).\n"

    def test_of_no_file_says_so(self, project, capsys):
        assert main(["."]) == 0
        assert capsys.readouterr().out == "No Python file to check.\n"


class TestWhatCannotBeDone:
    def test_a_missing_path_is_one_line_and_nothing_is_checked_or_written(self, project, capsys):
        path = write(project, "a.py", "x = 1  # finds TLK101 error safe\n")
        assert main(["--fix", "a.py", "gone.py"]) == 2
        out, err = capsys.readouterr()
        assert (out, err) == ("", "torchlint: gone.py: no such file or folder\n")
        assert "fixed" not in path.read_text()

    @pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
    @pytest.mark.parametrize("code", ["TLK999", "E501", "tlk101", "T"])
    def test_an_unknown_code_is_one_line(self, project, capsys, option, code):
        assert main([option, f"TLK101,{code}"]) == 2
        out, err = capsys.readouterr()
        assert not out
        assert err == f"torchlint: {option}: unknown rule code '{code}'; \"torchlint rules\" lists all\n"

    def test_a_bad_option_is_one_line(self, tmp_path):
        done = torchlint("--nonsense", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)

    def test_a_broken_pyproject_is_one_line(self, project, capsys):
        write(project, "pyproject.toml", "[tool.torchlint\n")
        write(project, "a.py", "x = 1  # finds TLK101 error safe\n")
        assert main(["--fix"]) == 2
        out, err = capsys.readouterr()
        assert not out
        assert err.startswith(f"torchlint: {project / 'pyproject.toml'}: not valid TOML: ")
        assert err.count("\n") == 1

    def test_a_file_that_cannot_be_checked_does_not_keep_the_others_from_it(self, project, capsys):
        write(project, "a.py", "syntax error\n")
        write(project, "b.py", "x = 1  # finds TLK101 error\n")
        write(project, "c.py", "engine failure\n")
        (project / "d.py").write_bytes(b"\0")
        assert main(["."]) == 2
        out, err = capsys.readouterr()
        assert out.splitlines()[0].startswith("b.py:1:1: TLK101")
        assert out.splitlines()[1].endswith("; 3 could not be checked")
        assert err.splitlines() == [
            "a.py: cannot be checked: is no Python",
            "c.py: cannot be checked: internal error (RuntimeError: two lines)",
            "d.py: cannot be checked: contains null bytes",
        ]

    def test_an_internal_error_that_has_no_words_is_named_by_its_kind(self):
        class Shy:
            def __repr__(self):
                raise AttributeError("lpar")

        assert internal_error(KeyError(Shy())) == "internal error (KeyError)"

    def test_exit_zero_does_not_hide_it(self, project, capsys):
        write(project, "a.py", "syntax error\n")
        assert main(["--exit-zero"]) == 2

    @pytest.mark.parametrize("words", [["gone.py"], ["--select", "X"], ["."], ["-", "a.py"]])
    @pytest.mark.parametrize("format_", ["json", "sarif"])
    def test_what_reads_json_still_gets_json(self, project, capsys, words, format_):
        write(project, "a.py", "syntax error\n")
        assert main([*words, "--output-format", format_]) == 2
        json.loads(capsys.readouterr().out)

    def test_larger_files_than_allowed_are_not_read(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 error\n")
        assert main(["--max-file-size", "10"]) == 2
        assert capsys.readouterr().err == "a.py: cannot be checked: larger than 10 bytes\n"

    def test_a_failure_inside_torchlint_is_one_line(self, project, capsys, monkeypatch):
        monkeypatch.setattr("torchlint.commands.check._from_files", lambda *_: 1 / 0)
        assert main(["."]) == 2
        assert capsys.readouterr().err == "torchlint: internal error (ZeroDivisionError: division by zero)\n"

    def test_an_interruption_is_quiet(self, project, capsys, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("torchlint.commands.check._from_files", interrupt)
        assert main(["."]) == 130
        assert capsys.readouterr() == ("", "")

    def test_a_reader_that_goes_away_is_no_error(self, tmp_path):
        write(tmp_path, "a.py", LEAK)
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [sys.executable, "-m", "torchlint", "a.py"],
            cwd=tmp_path, stdout=write_end, stderr=subprocess.PIPE, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        os.close(write_end)
        assert (done.returncode, done.stderr) == (1, b"")


class TestExclude:
    @pytest.fixture(autouse=True)
    def files(self, project: Path) -> None:
        write(project, "pyproject.toml", '[tool.torchlint]\nexclude = ["old", "src/gone"]\n')
        for name in ("old/a.py", "src/gone/a.py", "src/kept/gone/a.py", ".venv/a.py"):
            write(project, name, "x = 1  # finds TLK101 error safe\n")

    def files_found(self, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
        main([*words, "--output-format", "github"])
        return re.findall(r"file=([^,]*)", capsys.readouterr().out)

    def test_passes_over_what_pyproject_says(self, capsys):
        assert self.files_found(capsys, ".") == ["src/kept/gone/a.py"]

    def test_counts_from_the_pyproject_wherever_the_run_is_started(self, project, capsys, monkeypatch):
        monkeypatch.chdir(project / "src")
        assert self.files_found(capsys, ".") == ["kept/gone/a.py"]
        monkeypatch.chdir(project / "old")
        assert self.files_found(capsys, "../src", "..") == [f"{project}/src/kept/gone/a.py"]

    def test_takes_a_file_that_is_given_unless_it_is_forced(self, capsys):
        assert self.files_found(capsys, "old/a.py") == ["old/a.py"]
        assert self.files_found(capsys, "--force-exclude", "old/a.py") == []

    def test_exclude_replaces_and_extend_exclude_adds(self, capsys):
        assert self.files_found(capsys, ".", "--exclude", "src") == ["old/a.py"]
        assert self.files_found(capsys, ".", "--extend-exclude", "src/kept,nothing") == []

    def test_gitignore_counts_unless_told_otherwise(self, project, capsys):
        (project / ".git").mkdir()
        write(project, ".gitignore", "kept/\n")
        assert self.files_found(capsys, ".") == []
        assert self.files_found(capsys, ".", "--no-respect-gitignore") == ["src/kept/gone/a.py"]


class TestStatistics:
    def test_count_by_code_the_most_frequent_first(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 error\n" + "y = 1  # finds TLK201 error safe\n" * 10)
        assert main(["--statistics"]) == 1
        assert capsys.readouterr().out.splitlines()[:2] == [
            "10  TLK201  [*] stands-in",
            " 1  TLK101      stands-in",
        ]

    def test_can_be_had_as_json(self, project, capsys):
        write(project, "a.py", "x = 1  # finds TLK101 error safe\n")
        main(["--statistics", "--output-format", "json"])
        expected = {"code": "TLK101", "name": "stands-in", "count": 1, "fixable": True, "fixable_count": 1}
        assert json.loads(capsys.readouterr().out) == [expected]


class TestRules:
    def test_are_listed_a_line_each_in_the_order_of_their_codes(self, capsys):
        assert main(["rules"]) == 0
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(codes())

    def test_are_listed_as_json(self, capsys):
        assert main(["rules", "--output-format", "json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert [rule["code"] for rule in listed] == list(codes())
        assert all(rule["summary"] and rule["symptoms"] and rule["explanation"] for rule in listed)

    @pytest.mark.parametrize("code", codes())
    def test_have_a_page_each(self, capsys, code):
        assert main(["rule", code]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{code} ")
        assert "What it does" in out and "symptoms:" in out and "fix:" in out

    def test_that_do_not_exist_are_one_line(self, capsys):
        assert main(["rule", "TLK1"]) == 2
        out, err = capsys.readouterr()
        assert not out and err.startswith("torchlint: there is no rule 'TLK1'") and err.count("\n") == 1


class TestStart:
    def test_version(self, tmp_path):
        assert torchlint("--version", cwd=tmp_path).stdout.decode() == f"torchlint {__version__}\n"

    @pytest.mark.parametrize("words", [["--help"], ["check", "--help"], ["rules", "--help"], ["rule", "--help"]])
    def test_help_is_there(self, tmp_path, words):
        done = torchlint(*words, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.startswith(b"usage: torchlint")

    @pytest.mark.parametrize("word", ["--version", "--help"])
    def test_needs_next_to_nothing(self, tmp_path, word):
        modules = modules_after("torchlint.cli:main", word, cwd=tmp_path)
        assert "torchlint.cli" in modules
        assert not modules & {
            "libcst",
            "torch",
            "flake8",
            "dataclasses",
            "json",
            "pathspec",
            "torchlint.engine",
        }

    @pytest.mark.parametrize("text", [WITHOUT_TORCH, LEAK])
    def test_linting_never_imports_torch_and_libcst_only_where_it_is_needed(self, tmp_path, text):
        write(tmp_path, "a.py", text)
        modules = modules_after("torchlint.cli:main", "a.py", cwd=tmp_path)
        assert "torchlint.engine" in modules and "torch" not in modules and "flake8" not in modules
        assert ("libcst" in modules) == (text == LEAK)


class TestConsole:
    def test_a_narrow_code_page_breaks_nothing(self, tmp_path):
        write(tmp_path, "größe_模型.py", LEAK)
        done = torchlint("--output-format", "full", ".", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 1
        assert b"gr\\xf6\\xdfe_\\u6a21\\u578b.py:11:9: TLK101" in done.stdout

    @pytest.mark.skipif(sys.platform != "linux", reason="other file systems refuse such names")
    @pytest.mark.parametrize("format_", ["text", "full", "json", "github", "sarif"])
    def test_a_name_that_is_no_text_breaks_nothing(self, tmp_path, format_):
        with open(os.fsencode(tmp_path) + b"/\xff.py", "wb") as file:
            file.write(LEAK.encode())
        done = torchlint("--output-format", format_, ".", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, b"")

    @pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
    def test_ctrl_c_leaves_no_traceback(self, tmp_path):
        process = subprocess.Popen(
            [*INTERRUPTIBLE, "-"],
            cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        with process:
            assert process.stdin is not None
            # More than a pipe holds: once this returns, torchlint has begun to read.
            process.stdin.write(b"#" * 1_000_000)
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            process.stdin.close()
            process.wait(timeout=30)
            assert process.stdout is not None and process.stderr is not None
            assert (process.returncode, process.stdout.read(), process.stderr.read()) == (130, b"", b"")
