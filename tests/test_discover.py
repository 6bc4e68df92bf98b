"""Which files are checked: the given ones always, below a folder the Python files of the user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.discover import DEFAULT_EXCLUDE, Discovered, discover


def tree(root: Path, *paths: str) -> None:
    """Make these files below ``root``, and folders where a path ends in a slash."""
    for path in paths:
        if path.endswith("/"):
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("")


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def found(*paths: str, exclude: tuple[str, ...] = (), respect_gitignore: bool = True) -> list[str]:
    return list(discover(paths, exclude=exclude, respect_gitignore=respect_gitignore).files)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_files_below_a_folder_in_order(here: Path) -> None:
    tree(here, "b.py", "a/z.py", "a/b/c.py", "a.txt", "a.pyi", "B.py", "a/.hidden.py", "noending", "x.PY")
    expected = ["B.py", "a/.hidden.py", "a/b/c.py", "a/z.py", "b.py"]
    assert found(".") == expected
    assert found("./") == [f"./{path}" for path in expected]
    assert found(str(here)) == [f"{here}/{path}" for path in expected]
    assert found("a") == expected[1:4]


def test_given_files_are_always_taken(here: Path) -> None:
    tree(here, "script", "build/a.py", ".venv/b.py", "c.pyi")
    write(here, ".gitignore", "*\n")
    tree(here, ".git/")
    given = ["script", "build/a.py", ".venv/b.py", "c.pyi"]
    assert found(*given, exclude=("*",)) == given


def test_each_file_once(here: Path) -> None:
    tree(here, "a/b.py", "c.py")
    assert found("a/b.py", "a", ".", "./c.py", str(here / "c.py")) == ["a/b.py", "c.py"]


def test_missing_paths_are_said_and_the_rest_is_found(here: Path) -> None:
    tree(here, "a.py")
    done = discover(["gone", "a.py", "a.py/b", "a\0b", ""], exclude=(), respect_gitignore=True)
    assert done == Discovered(files=("a.py",), missing=("gone", "a.py/b", "a\0b", ""))


@pytest.mark.parametrize("name", [*DEFAULT_EXCLUDE, "my.egg-info"])
def test_folders_without_sources_are_passed_over(here: Path, name: str) -> None:
    name = name.replace("*", "x")
    tree(here, f"{name}/a.py", f"sub/{name}/deep/a.py", "sub/b.py")
    assert found(".") == ["sub/b.py"]
    assert found(name) == [f"{name}/a.py"]


def test_a_file_may_bear_such_a_name(here: Path) -> None:
    tree(here, "build.py", "dist.py")
    assert found(".") == ["build.py", "dist.py"]


def test_virtual_environments_are_known_by_their_mark(here: Path) -> None:
    tree(here, "any/pyvenv.cfg", "any/lib/a.py", "b.py")
    assert found(".") == ["b.py"]
    assert found("any") == ["any/lib/a.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("a.py", ["b/b.py", "b/c/c.py"]),
        ("b", ["a.py", "b.py/a.py"]),
        ("b/", ["a.py", "b.py/a.py"]),
        ("b/c", ["a.py", "b.py/a.py", "b/a.py", "b/b.py"]),
        ("./b/c/", ["a.py", "b.py/a.py", "b/a.py", "b/b.py"]),
        ("*/c.py", ["a.py", "b.py/a.py", "b/a.py", "b/b.py"]),
        ("[bc]*", ["a.py"]),
        ("", ["a.py", "b.py/a.py", "b/a.py", "b/b.py", "b/c/c.py"]),
        ("[", ["a.py", "b.py/a.py", "b/a.py", "b/b.py", "b/c/c.py"]),
    ],
)
def test_exclude(here: Path, pattern: str, left: list[str]) -> None:
    tree(here, "a.py", "b/a.py", "b/b.py", "b/c/c.py", "b.py/a.py")
    expected = [path for path in left if pattern != "a.py" or not path.endswith("a.py")]
    assert sorted(found(".", exclude=(pattern,))) == sorted(expected)
    absolute = f"{here}/{pattern.removeprefix('./')}" if "/" in pattern.rstrip("/") else pattern
    assert sorted(found(".", exclude=(absolute,))) == sorted(expected)


class TestGitignore:
    def test_as_git_reads_it(self, here: Path) -> None:
        tree(
            here, "a.py", "gen/a.py", "gen/keep.py", "sub/a_pb2.py", "sub/gen/x.py", "sub/deep/secret.py",
            "other/only.py", "other/x.py", "top.py", "sub/top.py", "neg/b.py", "neg/c.py",
            "spaced name.py", "#x.py",
        )  # fmt: skip
        write(here, ".gitignore", "*_pb2.py\n/top.py\ngen/\nneg/*\n!neg/c.py\n# no\n\\#x.py\nspaced*  \n")
        write(here, "sub/.gitignore", "!a_pb2.py\ndeep/secret.py\n")
        write(here, "other/.gitignore", "/only.py\r\n")
        subprocess.run(["git", "init", "-q"], check=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--others", "--exclude-standard", "*.py"],
            check=True,
            capture_output=True,
        ).stdout.decode()
        assert sorted(found(".")) == sorted(name for name in listed.split("\0") if name)
        assert len(found(".", respect_gitignore=False)) == 14

    def test_from_a_folder_below_the_root(self, here: Path) -> None:
        tree(here, ".git/", "sub/in/a.py", "sub/in/b.py", "sub/in/c.py", "sub/in/d.py")
        write(here, ".gitignore", "a.py\n/sub/in/b.py\n")
        write(here, "sub/.gitignore", "in/c.py\n")
        assert found("sub/in") == ["sub/in/d.py"]
        os.chdir("sub/in")
        assert found(".") == ["d.py"]
        assert found("..") == ["../in/d.py"]

    def test_a_given_folder_is_taken_though_ignored(self, here: Path) -> None:
        tree(here, ".git/", "gen/a.py", "gen/sub/b.py")
        write(here, ".gitignore", "gen/\n")
        assert found(".") == []
        assert found("gen") == ["gen/a.py", "gen/sub/b.py"]

    def test_stops_at_the_root_of_the_repository(self, here: Path) -> None:
        tree(here, "repo/.git/", "repo/a.py", "repo/inner/.git", "repo/inner/a.py", "repo/inner/b.py")
        write(here, ".gitignore", "a.py\n")
        assert found("repo") == ["repo/a.py", "repo/inner/a.py", "repo/inner/b.py"]
        write(here, "repo/.gitignore", "b.py\n")
        assert found("repo") == ["repo/a.py", "repo/inner/a.py", "repo/inner/b.py"]

    def test_without_a_repository_those_below_count(self, here: Path) -> None:
        tree(here, "sub/a.py", "sub/b.py")
        write(here, ".gitignore", "a.py\n")
        assert found(".") == ["sub/b.py"]
        assert found("sub") == ["sub/a.py", "sub/b.py"]

    def test_what_is_no_pattern_is_passed_over(self, here: Path) -> None:
        tree(here, ".git/", "a.py", "b.py")
        (here / ".gitignore").write_bytes(b"!\n/\n[\n\xff.py\n\na.py\n")
        assert found(".") == ["b.py"]
        (here / ".gitignore").unlink()
        tree(here, ".gitignore/")
        assert found(".") == ["a.py", "b.py"]

    def test_pathspec_is_imported_only_for_a_gitignore(self, here: Path) -> None:
        tree(here, "a.py")
        program = (
            "import sys; from torchlint.discover import discover; discover(['.']);sys.exit('pathspec' in sys.modules)"
        )
        run = [sys.executable, "-c", program]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        assert subprocess.run(run, check=False, env=environment).returncode == 0
        write(here, ".gitignore", "b.py\n")
        assert subprocess.run(run, check=False, env=environment).returncode == 1


class TestOddities:
    def test_a_folder_named_like_a_file_is_a_folder(self, here: Path) -> None:
        tree(here, "x.py/a.py", "y.py/")
        assert found(".") == ["x.py/a.py"]
        assert found("x.py") == ["x.py/a.py"]

    def test_links(self, here: Path) -> None:
        tree(here, "real/a.py")
        (here / "real" / "loop").symlink_to("..")
        (here / "folder_link").symlink_to("real")
        (here / "file_link.py").symlink_to("real/a.py")
        (here / "broken.py").symlink_to("gone.py")
        (here / "circle.py").symlink_to("circle.py")
        assert found(".") == ["file_link.py", "real/a.py"]
        assert found("folder_link") == ["folder_link/a.py"]
        assert found("circle.py") == ["circle.py"]

    def test_pipes_are_not_read(self, here: Path) -> None:
        os.mkfifo(here / "pipe.py")
        assert found(".") == []
        assert found("pipe.py") == ["pipe.py"]

    def test_names_that_are_not_utf8(self, here: Path) -> None:
        folder = os.path.join(os.fsencode(here), b"f\xff")
        os.mkdir(folder)
        with open(os.path.join(folder, b"\xe4.py"), "wb"):
            pass
        write(here, ".gitignore", "none\n")
        (file,) = found(".")
        assert os.fsencode(file) == b"f\xff/\xe4.py"

    def test_a_folder_that_cannot_be_listed_is_said(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tree(here, "a.py", "closed/b.py", "z.py")
        scandir = os.scandir

        def guarded(path: str) -> object:
            if path == "closed":
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        # Root may list everything.
        monkeypatch.setattr(os, "scandir", guarded)
        done = discover(["."], exclude=(), respect_gitignore=True)
        assert done.files == ("a.py", "z.py")
        assert done.unreadable == (("closed", "Permission denied"),)

    def test_very_deep_folders(self, here: Path) -> None:
        path = here
        for _ in range(300):
            path = path / "d"
        path.mkdir(parents=True)
        (path / "a.py").write_text("")
        assert len(found(".")) == 1
