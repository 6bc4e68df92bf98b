"""The plugin through real flake8 in a process of its own and, where findings must be chosen, by hand."""

from __future__ import annotations

import ast
import configparser
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import libcst
import pytest
from invoking import LEAK, ROOT, WITHOUT_TORCH, by_marks, modules_after, python, stand_in, write

from torchlint import __version__
from torchlint.engine import check
from torchlint.flake8_plugin import Plugin

UNKNOWN_TO_LIBCST = "(name): int = 1\n"
"""Python, which libcst 1.9 does not parse."""


HELPER = """
from torch.nn import functional as F

def step(net, x, y):
    loss = F.mse_loss(net(x), y)
    loss.backward()
    return loss
"""

BY_HELPER = """
import torch
from helper import step

def train(loader):
    net = torch.nn.Linear(3, 1)
    total = 0
    for x, y in loader:
        total += step(net, x, y)
    return total
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that makes the checkout look installed: flake8 finds plugins by their metadata."""
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    declared = toml.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    folder = tmp_path_factory.mktemp("site")
    info = folder / f"torchlint-{__version__}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torchlint\nVersion: {__version__}\n")
    points = configparser.ConfigParser()
    points.optionxform = str  # type: ignore[assignment,method-assign]
    points.read_dict(declared)
    with (info / "entry_points.txt").open("w") as file:
        points.write(file)
    return folder


@pytest.fixture
def flake8(installed: Path, tmp_path: Path) -> Any:
    """Runs flake8 in ``tmp_path`` and gives its exit code and lines; only our codes unless told otherwise."""

    def run(*words: str, stdin: str | bytes = b"", select: str | None = "TLK") -> tuple[int, list[str]]:
        chosen = [f"--select={select}"] if select else []
        path = {"PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
        done = python("-m", "flake8", "--isolated", *chosen, *words, cwd=tmp_path, stdin=stdin, env=path)
        assert b"Traceback" not in done.stderr and not done.stderr, done.stderr.decode()
        return done.returncode, done.stdout.decode().splitlines()

    return run


class TestFlake8:
    def test_knows_the_plugin(self, flake8):
        _, lines = flake8("--version", select=None)
        assert f"torchlint: {__version__}" in " ".join(lines)

    def test_shows_code_line_and_column(self, flake8, tmp_path):
        write(tmp_path, "a.py", LEAK)
        code, lines = flake8("a.py")
        assert code == 1
        assert [line.partition(" `")[0] for line in lines] == ["a.py:11:9: TLK101"]

    def test_shows_nothing_for_clean_code(self, flake8, tmp_path):
        write(tmp_path, "a.py", WITHOUT_TORCH)
        assert flake8("a.py") == (0, [])

    def test_our_codes_are_on_by_default(self, flake8, tmp_path):
        write(tmp_path, "a.py", LEAK)
        _, lines = flake8("a.py", select=None)
        assert any("TLK101" in line for line in lines)

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace("\n", "\r\n"),
            lambda text: "\ufeff" + text,
            lambda text: text.replace("import torch\n", "import torch\n\x0c"),
            lambda text: text.replace("import torch\n", "import torch  # é模型\n"),
        ],
        ids=["crlf", "bom", "form feed", "wide characters"],
    )
    def test_places_are_right_whatever_the_file_holds(self, flake8, tmp_path, change):
        write(tmp_path, "a.py", change(LEAK))
        assert flake8("a.py")[1][0].startswith("a.py:11:9: TLK101 ")

    def test_a_tab_is_one_column(self, flake8, tmp_path):
        write(tmp_path, "a.py", LEAK.replace("    ", "\t"))
        assert flake8("a.py")[1][0].startswith("a.py:11:3: TLK101 ")

    @pytest.mark.parametrize(
        ("comment", "silent"),
        [
            ("noqa", True),
            ("noqa: TLK101", True),
            ("noqa:TLK1", True),
            ("noqa: E501", False),
            ("no qa", False),
        ],
    )
    def test_applies_noqa(self, flake8, tmp_path, comment, silent):
        write(tmp_path, "a.py", LEAK.replace("total += loss\n", f"total += loss  # {comment}\n"))
        assert (flake8("a.py")[0] == 0) == silent

    @pytest.mark.parametrize(("select", "shown"), [("TLK", True), ("TLK101", True), ("TLK2", False), ("E", False)])
    def test_applies_its_own_select(self, flake8, tmp_path, select, shown):
        write(tmp_path, "a.py", LEAK)
        assert any("TLK101" in line for line in flake8("a.py", select=select)[1]) == shown

    def test_applies_its_own_ignore(self, flake8, tmp_path):
        write(tmp_path, "a.py", LEAK)
        assert flake8("--extend-ignore=TLK1", "a.py") == (0, [])

    @pytest.mark.parametrize("table", ['ignore = ["TLK1"]', 'per-file-ignores = {"a.py" = ["TLK101"]}'])
    def test_heeds_our_own_table(self, flake8, tmp_path, table):
        write(tmp_path, "pyproject.toml", f"[tool.torchlint]\n{table}\n")
        write(tmp_path, "a.py", LEAK)
        write(tmp_path, "b.py", LEAK)
        lines = flake8("a.py", "b.py")[1]
        assert not any(line.startswith("a.py") for line in lines)
        assert any(line.startswith("b.py") for line in lines) == ("per-file" in table)

    def test_a_file_that_our_table_excludes_is_silent(self, flake8, tmp_path):
        write(tmp_path, "pyproject.toml", '[tool.torchlint]\nextend-exclude = ["vendored"]\n')
        write(tmp_path, "vendored/a.py", LEAK)
        assert flake8("vendored/a.py") == (0, [])

    def test_a_broken_pyproject_does_not_end_the_run_nor_hide_leaks(self, flake8, tmp_path):
        write(tmp_path, "pyproject.toml", "[tool.torchlint]\nselect = 1\n")
        write(tmp_path, "a.py", LEAK)
        assert flake8("a.py")[0] == 1

    def test_checks_standard_input(self, flake8):
        assert flake8("-", stdin=LEAK)[1][0].startswith("stdin:11:9: TLK101 ")
        named = flake8("--stdin-display-name=src/a.py", "-", stdin=LEAK)[1]
        assert named[0].startswith("src/a.py:11:9: TLK101 ")

    def test_gives_the_same_with_several_processes(self, flake8, tmp_path):
        for number in range(4):
            write(tmp_path, f"{number}.py", LEAK)
        assert flake8("-j2", ".") == flake8("-j1", ".")
        assert len(flake8("-j2", ".")[1]) == 4

    @pytest.mark.parametrize(
        "text",
        [
            "import torch\nx = (\n",
            "import torch\n" + UNKNOWN_TO_LIBCST + LEAK,
            b"import torch\nx = '\xff'\n",
            b"# coding: nonsense\nimport torch\n",
            "import torch\n# " + "x" * 2_000_000 + "\n" + LEAK,
        ],
        ids=["no Python", "unknown to libcst", "not UTF-8", "unknown encoding", "too large"],
    )
    def test_is_silent_on_what_it_cannot_check(self, flake8, tmp_path, text):
        if isinstance(text, str) and UNKNOWN_TO_LIBCST in text and _libcst_parses(UNKNOWN_TO_LIBCST):
            pytest.skip("this libcst has learnt it")
        write(tmp_path, "a.py", text)
        assert flake8("a.py")[1] == []

    @pytest.mark.parametrize(("text", "needed"), [(WITHOUT_TORCH, False), (LEAK, True)])
    def test_imports_libcst_only_for_a_file_that_may_hold_a_finding(self, installed, tmp_path, text, needed):
        write(tmp_path, "a.py", text)
        env = {"PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
        modules = modules_after("flake8.main.cli:main", "--isolated", "-j1", "a.py", cwd=tmp_path, env=env)
        assert "torchlint.flake8_plugin" in modules
        assert ("libcst" in modules) == needed
        assert "torch" not in modules


class TestCache:
    """What flake8 is told again without checking: it must be what checking says."""

    @pytest.fixture(autouse=True)
    def trusting(self, tmp_path: Path) -> None:
        """A folder that did not change lately; what did is read again."""
        write(tmp_path, "helper.py", HELPER)
        write(tmp_path, "a.py", LEAK)
        write(tmp_path, "b.py", LEAK.replace("\n", "\r\n"))
        write(tmp_path, "c.py", BY_HELPER)
        write(tmp_path, "d.py", WITHOUT_TORCH)

    def test_a_second_run_says_the_same_and_analyses_nothing(self, flake8, installed, tmp_path):
        first = flake8(".")
        assert len(first[1]) == 3
        assert flake8(".") == first
        env = {"PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
        assert "libcst" not in modules_after("flake8.main.cli:main", "--isolated", "-j1", ".", cwd=tmp_path, env=env)

    def test_workers_keep_what_they_learnt(self, flake8, installed, tmp_path):
        first = flake8("-j2", ".")
        env = {"PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
        assert "libcst" not in modules_after("flake8.main.cli:main", "--isolated", "-j1", ".", cwd=tmp_path, env=env)
        assert flake8("-j1", ".") == first

    @pytest.mark.parametrize("name", ["a.py", "helper.py"])
    def test_what_changed_is_checked_again(self, flake8, tmp_path, name):
        before = flake8(".")[1]
        text = (tmp_path / name).read_text()
        write(tmp_path, name, text.replace("+= loss", "+= loss.item()").replace("return loss", "return loss.item()"))
        assert len(flake8(".")[1]) == len(before) - 1

    def test_a_buffer_that_is_not_saved_is_checked(self, flake8, tmp_path):
        flake8("a.py")
        found = flake8("--stdin-display-name=a.py", "-", stdin=LEAK.replace("+= loss", "+= loss.item()"))
        assert found == (0, [])

    def test_the_command_line_has_its_own_results(self, flake8, tmp_path):
        write(tmp_path, "a.py", LEAK.replace("total += loss\n", "total += loss  # noqa\n"))
        python("-m", "torchlint", "a.py", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
        assert flake8("--disable-noqa", "a.py")[0] == 1

    def test_none_is_kept_where_that_is_asked_for(self, flake8, tmp_path):
        flake8("--torchlint-no-cache", ".")
        assert not (tmp_path / ".torchlint_cache").exists()
        flake8(".")
        assert (tmp_path / ".torchlint_cache").exists()

    def test_it_lies_where_it_is_told_to(self, flake8, tmp_path):
        first = flake8("--torchlint-cache-dir=kept", ".")
        assert [path.suffix for path in (tmp_path / "kept").glob("*.json")] == [".json"]
        assert not (tmp_path / ".torchlint_cache").exists()
        assert flake8("--torchlint-cache-dir=kept", ".") == first

    def test_a_damaged_cache_is_made_anew(self, flake8, tmp_path):
        first = flake8(".")
        [file] = (tmp_path / ".torchlint_cache").glob("*.json")
        file.write_bytes(file.read_bytes()[:-9])
        assert flake8(".") == first

    def test_a_folder_that_cannot_be_written_costs_the_cache_alone(self, flake8, tmp_path):
        write(tmp_path, ".torchlint_cache", "a file stands in the way")
        assert len(flake8(".")[1]) == 3


class TestPlugin:
    """What needs rules that find what a test wants."""

    @pytest.fixture(autouse=True)
    def project(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        by_marks(monkeypatch)
        monkeypatch.chdir(tmp_path)

    def findings(self, text: str, name: str = "a.py") -> list[tuple[int, int, str]]:
        plugin = Plugin(ast.parse(text), name, text.splitlines(keepends=True))
        return [(line, column, message.split()[0]) for line, column, message, _ in plugin.run()]

    def test_counts_lines_from_1_and_columns_from_0(self):
        assert self.findings("if 1:\n  x = 1  # finds TLK101 error\n") == [(2, 2, "TLK101")]

    def test_keeps_notes_to_itself(self):
        assert self.findings("x = 1  # finds TLK101 note\n") == []

    def test_shows_notes_that_the_table_asks_for(self, tmp_path):
        write(tmp_path, "pyproject.toml", "[tool.torchlint]\nnotes = true\n")
        assert self.findings("x = 1  # finds TLK101 note\n") == [(1, 0, "TLK101")]

    @pytest.mark.parametrize(("code", "shown"), [("TLK101", True), ("TLK1", False), ("E501", False)])
    def test_shows_notes_of_a_code_that_flake8_was_asked_for(self, monkeypatch, code, shown):
        class Options:
            select = [code]
            extend_select = None

        monkeypatch.setattr(Plugin, "extended", ())
        Plugin.parse_options(Options)  # type: ignore[arg-type]
        assert bool(self.findings("x = 1  # finds TLK101 note\n")) == shown

    def test_does_not_apply_noqa(self):
        assert self.findings("x = 1  # noqa  # finds TLK101 error\n") == [(1, 0, "TLK101")]

    @pytest.mark.parametrize("name", ["stdin", "-", "gone/away.py", "", "a\0b.py", "x" * 5000])
    def test_takes_any_name(self, name):
        assert self.findings("x = 1  # finds TLK101 error\n", name) == [(1, 0, "TLK101")]

    @pytest.mark.parametrize("text", ["'syntax error'\n", "'engine failure'\n", ""])
    def test_never_raises(self, text):
        assert self.findings(text) == []

    def test_is_silent_on_what_is_nested_too_deep(self, monkeypatch):
        # By hand, since other plugins of flake8 end by a RecursionError long before.
        monkeypatch.setattr("torchlint.engine.check", check)
        assert self.findings(LEAK + "x = " + "+".join(["1"] * 600) + "\n") == []

    def test_hands_the_tree_it_was_given_to_the_analysis(self, monkeypatch):
        seen = []

        def note(source: Any, rules: Any, *, tree: Any = None, **_: Any) -> Any:
            seen.append(tree)
            return stand_in(source, rules)

        monkeypatch.setattr("torchlint.engine.check", note)
        tree = ast.parse("x = 1\n")
        list(Plugin(tree, "a.py", ["x = 1\n"]).run())
        assert seen == [tree]


def _libcst_parses(text: str) -> bool:
    try:
        libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        return False
    return True
