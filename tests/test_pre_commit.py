"""The hooks, through real pre-commit, from the manifest in this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from invoking import LEAK, REPAIRED, ROOT

SHIPPED = (
    "torchlint",
    "rules",
    "fixtures",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    ".pre-commit-hooks.yaml",
)


def run(*words: str, cwd: Path, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command without this checkout on the path, and with pre-commit's cache out of the user's way."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GIT_DIR")}
    env = {
        **kept,
        "PRE_COMMIT_HOME": str(home or cwd),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PRE_COMMIT_COLOR": "never",
    }
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def commit_all(folder: Path) -> str:
    """Make a repository of the folder; returns the commit's id."""
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "all")):
        done = run("git", *words, cwd=folder)
        assert done.returncode == 0, done.stderr
    return run("git", "rev-parse", "HEAD", cwd=folder).stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    """A repository with what this one ships, its commit, and a folder for pre-commit's environments."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = tmp_path_factory.mktemp("hooks")
    probe = (
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "-d",
        str(folder / "probe"),
        "libcst",
    )
    reached = run(*probe, cwd=folder)
    if reached.returncode != 0:
        pytest.skip(f"pip cannot reach a package index: {reached.stderr.strip().splitlines()[-1]}")
    shutil.rmtree(folder / "probe")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder, commit_all(folder), tmp_path_factory.mktemp("home")


@pytest.fixture
def project(hooks: tuple[Path, str, Path], tmp_path: Path) -> Path:
    """A user's repository with a leak and both hooks."""
    repository, revision, _ = hooks
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {repository}\n  rev: {revision}\n  hooks:\n  - id: torchlint\n  - id: torchlint-fix\n"
    )
    (tmp_path / "train.py").write_text(LEAK)
    (tmp_path / "notes.txt").write_text(LEAK)
    commit_all(tmp_path)
    return tmp_path


def test_the_hooks_find_and_repair(project: Path, hooks: tuple[Path, str, Path]):
    home = hooks[2]
    found = run(sys.executable, "-m", "pre_commit", "run", "torchlint", "--all-files", cwd=project, home=home)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "train.py:11:9: TLK101 " in found.stdout
    assert "notes.txt" not in found.stdout

    fixed = run(sys.executable, "-m", "pre_commit", "run", "torchlint-fix", "--all-files", cwd=project, home=home)
    assert fixed.returncode == 1
    assert "files were modified by this hook" in fixed.stdout
    assert (project / "train.py").read_text() == REPAIRED
    assert (project / "notes.txt").read_text() == LEAK

    clean = run(sys.executable, "-m", "pre_commit", "run", "--all-files", cwd=project, home=home)
    assert clean.returncode == 0, clean.stdout


def test_the_manifest_is_valid(tmp_path):
    manifest = ".pre-commit-hooks.yaml"
    done = run(sys.executable, "-m", "pre_commit", "validate-manifest", manifest, cwd=ROOT, home=tmp_path)
    assert done.returncode == 0, done.stdout
