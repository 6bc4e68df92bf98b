"""``torchlint verify`` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

pytest.importorskip("torch", reason="the verifier needs torch, and it is not installed")

from torchlint.cli import main
from torchlint.commands import verify as command
from torchlint.verify import record
from torchlint.verify.devices import NoDevice, find_device

LEAK = """
    import torch

    def main(loader, device):
        kept = []
        for x, _ in loader:
            kept.append(x.clone())
        return len(kept)
    """
FIXED = LEAK.replace("x.clone()", "x.sum().item()")
CLEAN = FIXED.replace("kept", "sums")


@dataclass(frozen=True)
class Said:
    """What the command line ended with and wrote."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``torchlint verify`` in this process."""

    def run_verify(*words: str) -> Said:
        code = main(["verify", *words])
        return Said(code, *capsys.readouterr())

    return run_verify


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's own folder: one program that leaks, its repair, one that does not leak."""
    for name, source in (("leak_copies", LEAK), ("fixed_copies", FIXED), ("clean_sums", CLEAN)):
        (tmp_path / f"{name}.py").write_text(dedent(source))
    return tmp_path


def test_a_users_own_folder_is_verified(folder: Path, run: Run) -> None:
    outcome = run("--device", "cpu", str(folder))
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["rule", "program", "device", "measured", "leaking", "fixed", "clean", "verdict"]
    assert lines[1].split() == [folder.name, "copies", "cpu", "bytes", "a", "step", "2,048", "0", "holds"]
    assert lines[-1] == "1 rule, 2 programs: 2 as they should be"


def test_one_that_is_not_what_its_name_says_fails(folder: Path, run: Run) -> None:
    (folder / "clean_copies.py").write_text(dedent(LEAK))
    outcome = run("--device", "cpu", str(folder))
    assert outcome.code == 1
    assert "fails: it leaks: 2,048 bytes are left of every step" in outcome.out


def test_one_program_is_verified_with_its_repair(folder: Path, run: Run) -> None:
    outcome = run("--device", "cpu", "--output-format", "json", str(folder / "leak_copies.py"))
    (row,) = json.loads(outcome.out)
    assert (row["program"], row["verdict"], row["results"]) == ("leak_copies.py", "holds", "identical")
    assert [found["harm"] for found in row["harms"]] == ["nodes", "bytes", "cycle", "unused"]


def test_junit_counts_failures(folder: Path, run: Run) -> None:
    (folder / "clean_copies.py").write_text(dedent(LEAK))
    outcome = run("--device", "cpu", "--output-format", "junit", str(folder))
    (suite,) = ElementTree.fromstring(outcome.out)
    assert suite.attrib == {"name": folder.name, "tests": "3", "failures": "1", "skipped": "0"}


def test_figures_are_recorded_and_those_of_other_devices_kept(folder: Path, run: Run) -> None:
    other = {"device": "a GPU", "rows": []}
    (folder / record.FILE).write_text(json.dumps({"measured": [other, {"device": "cpu", "rows": []}]}))
    assert run("--device", "cpu", "--record", str(folder)).code == 0
    kept, mine = json.loads((folder / record.FILE).read_text())["measured"]
    assert kept == other
    assert (mine["device"], mine["steps"]) == ("cpu", 16)
    assert mine["rows"][0] == {
        "program": "copies",
        "measured": "bytes a step",
        "leaking": 2048.0,
        "fixed": 0.0,
        "results": "identical",
    }


def test_figures_that_do_not_hold_are_not_recorded(folder: Path, run: Run) -> None:
    (folder / "clean_copies.py").write_text(dedent(LEAK))
    outcome = run("--device", "cpu", "--record", str(folder))
    assert outcome.code == 2
    assert "nothing recorded, since clean_copies.py" in outcome.err
    assert not (folder / record.FILE).exists()


def test_figures_are_not_recorded_where_it_is_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(record.sysconfig, "get_path", lambda name: str(folder.parent))
    outcome = run("--device", "cpu", "--record", str(folder))
    assert outcome.code == 2
    assert "is installed, not yours" in outcome.err


def test_a_picture_is_drawn_the_same_each_time(folder: Path, tmp_path: Path, run: Run) -> None:
    pytest.importorskip("matplotlib", reason="--plot needs matplotlib")
    pictures = [tmp_path / "one.svg", tmp_path / "other.svg"]
    for picture in pictures:
        assert run("--device", "cpu", "--plot", str(picture), str(folder)).code == 0
    one, other = (picture.read_text() for picture in pictures)
    assert one == other
    assert "leaking" in one


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["TLK999"], "no such rule and no such path"),
        (["--device", "tpu"], "'tpu' is no device"),
        (["--device", "cuda:99"], "there is no CUDA device 99"),
        (["--steps", "5", "--device", "cpu"], "leaves nothing to judge"),
        (["--plot", "picture.gif"], "must end in .png or .svg"),
        (["--memory-limit", "0"], "must be 1 MiB or more"),
        (["--time-limit", "0"], "must not be negative or none"),
        (["--jobs", "-1"], "must not be negative"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: list[str], said: str, folder: Path, run: Run) -> None:
    outcome = run(*words, *([] if "TLK999" in words else [str(folder)]))
    assert outcome.code == 2
    assert outcome.out == ""
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_folder_without_programs_is_one_line(tmp_path: Path, run: Run) -> None:
    outcome = run(str(tmp_path))
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)


def test_without_torch_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, folder: Path, run: Run) -> None:
    monkeypatch.setattr(command, "has_torch", lambda: False)
    outcome = run(str(folder))
    assert outcome.code == 2
    assert "pip install 'torchlint[verify]'" in outcome.err


def test_the_devices_own_names_are_asked_for() -> None:
    assert find_device("cpu").name == "cpu"
    with pytest.raises(NoDevice):
        find_device("cuda:99")
