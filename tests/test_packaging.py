"""What is shipped: a wheel from a source archive, and an editable install, each in a fresh environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import libcst
import pathspec
import pytest
from invoking import LEAK, ROOT, python

from torchlint import __version__
from torchlint.catalog import codes, fixture_folder

SHIPPED = ("torchlint", "rules", "fixtures")


def call(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user would: without this checkout on the path."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def succeed(*words: str | Path, cwd: Path) -> str:
    done = call(*words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources: building leaves folders behind."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in SHIPPED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    """The wheel, by way of the source archive, as it would be published."""
    succeed(sys.executable, "-m", "build", "--no-isolation", ".", cwd=checkout)
    (built,) = (checkout / "dist").glob("*.whl")
    return built


def fresh(folder: Path) -> Path:
    """A new environment that sees the dependencies and no other torchlint; returns its programs' folder."""
    venv.create(folder, with_pip=False)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    site = succeed(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    # A path in a .pth file is searched, but the .pth files in it (an editable torchlint's) are not run.
    places = {str(Path(module.__file__ or "").parent.parent) for module in (libcst, pathspec)}
    Path(site.strip(), "dependencies.pth").write_text("\n".join(sorted(places)) + "\n")
    return programs


def install(programs: Path, *words: str | Path, cwd: Path) -> None:
    """Install without dependencies and without an index."""
    target = ("--python", programs / "python", "install", "--quiet", "--no-deps", "--no-index")
    succeed(sys.executable, "-m", "pip", *target, "--no-build-isolation", *words, cwd=cwd)


def lints(programs: Path, folder: Path) -> None:
    """The installed program finds a leak, and the rules and fixtures of its own installation."""
    (folder / "train.py").write_text(LEAK)
    found = call(programs / "torchlint", "train.py", cwd=folder)
    assert (found.returncode, found.stderr) == (1, "")
    assert found.stdout.startswith("train.py:11:9: TLK101 ")
    assert [line.split()[0] for line in succeed(programs / "torchlint", "rules", cwd=folder).splitlines()] == [*codes()]
    for code in codes():
        page = succeed(programs / "torchlint", "rule", code, cwd=folder)
        assert page.startswith(f"{code} ")
        recorded = fixture_folder(code)
        if recorded and (recorded / "measured.json").is_file():
            assert "\nMeasured\n" in page


class TestWheel:
    def test_holds_every_module_rule_and_fixture_and_nothing_else(self, wheel):
        names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
        expected = {
            path.relative_to(ROOT).as_posix()
            for folder in SHIPPED
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        inside = {name if name.startswith("torchlint/") else f"torchlint/{name}" for name in expected}
        assert names == inside

    def test_needs_no_torch_and_no_flake8_and_sets_libcst_no_upper_bound(self, wheel):
        archive = zipfile.ZipFile(wheel)
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
        hard = [
            line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line
        ]
        assert not [need for need in hard if need.startswith(("torch", "flake8"))]
        assert [need for need in hard if need.startswith("libcst") and "<" not in need]

    def test_works_in_a_fresh_environment(self, wheel, tmp_path):
        programs = fresh(tmp_path / "environment")
        install(programs, wheel, cwd=tmp_path)
        lints(programs, tmp_path)
        where = succeed(programs / "python", "-c", "import torchlint; print(torchlint.__file__)", cwd=tmp_path)
        assert str(tmp_path / "environment") in where
        assert succeed(programs / "torchlint", "--version", cwd=tmp_path) == f"torchlint {__version__}\n"


@pytest.mark.parametrize("mode", ["default", "compat"])
def test_an_editable_install_works_in_a_fresh_environment(checkout, tmp_path, mode):
    programs = fresh(tmp_path / "environment")
    settings = () if mode == "default" else ("--config-settings", f"editable_mode={mode}")
    install(programs, *settings, "-e", checkout, cwd=tmp_path)
    lints(programs, tmp_path)


def test_a_bare_checkout_works(tmp_path):
    program = "import torchlint.cli; import sys; sys.exit(torchlint.cli.main(['rules']))"
    done = python("-c", program, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [line.split()[0] for line in done.stdout.decode().splitlines()] == [*codes()]


def test_git_ignores_nothing_that_is_shipped():
    files = [str(path) for folder in SHIPPED for path in (ROOT / folder).rglob("*.py")]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=ROOT, input="\n".join(files), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 128:
        pytest.skip(f"this is no repository: {done.stderr.strip()}")
    assert done.stdout == ""
