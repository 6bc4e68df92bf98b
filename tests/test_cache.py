"""The cache saves time and changes nothing: what it knows is what checking again would find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchlint import cli
from torchlint.cache import Cache, Detail, cache_file
from torchlint.cache.key import Key
from torchlint.catalog import codes, fixture_folder
from torchlint.config import Overrides
from torchlint.plan import plan
from torchlint.project import sights
from torchlint.run import Checked, Repairs, check_files

METER = """\
import torch

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        {}
"""
KEEPS, DETACHES = METER.format("self.sum += value"), METER.format("self.sum += value.detach()")
TRAIN = """\
import torch
from meters import Meter

def train(model, loader, optimizer):
    meter = Meter()
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss)
"""
LEAK = """\
import torch

def train(model, loader, optimizer):
    total = 0
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
PREDICT = """\
import torch
from torch import nn

class Tagger:
    def __init__(self):
        self.net = nn.Linear(3, 3)

    def predict(self, x):
        self.net.eval()
        return self.net(x).argmax(1).tolist()
"""
WORDS = """
from torch.utils.data import Dataset
class Words(Dataset):
    def __init__(self, path):
        self.words = open(path).readlines()
    def __getitem__(self, index):
        return self.words[index]
"""

READS = """
from torch.utils.data import DataLoader
from words import Words
loader = DataLoader(Words("all.txt"), num_workers={})
"""

GUARDS = """\
import torch
from predicting import Tagger

def tag(batches):
    tagger = Tagger()
    with torch.no_grad():
        return [tagger.predict(x) for x in batches]
"""


@pytest.fixture(autouse=True)
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the stamps of files that were written this very moment: no test waits."""
    monkeypatch.setattr(sights, "SETTLED", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of one module that trains and one that keeps."""
    place = tmp_path / "project"
    place.mkdir()
    (place / "pyproject.toml").write_text("")
    (place / "meters.py").write_text(KEEPS)
    (place / "train.py").write_text(TRAIN)
    return place


def results(
    paths: Sequence[Path], store: Path | None, detail: Detail = Detail.HEADLINES, *, join: bool = False
) -> list[Checked]:
    """What a run over files and folders finds, with the cache in ``store``; ``join`` if they are read as one, too."""
    jobs = plan([str(path) for path in paths], overrides=Overrides(join=join)).jobs
    return check_files(jobs, cache=None if store is None else Cache(cache_file(".", str(store)), detail))


def told(found: Sequence[Checked]) -> list[object]:
    """What a report says of results."""
    return [
        (
            file.path,
            [
                replace(one, repair=None if one.repair is None else replace(one.repair, replacements=()))
                for one in file.diagnostics
            ],
            file.hidden_notes,
            file.uses_torch,
            file.failure,
        )
        for file in found
    ]


def store_of(path: Path) -> Path:
    """The cache's folder in these tests: beside the project."""
    return (path if path.is_dir() else path.parent).parent / "store"


def checked_anew(*paths: Path, join: bool = False) -> set[str]:
    """Run with a cache beside the project: which files are checked; what is found is what is found without one."""
    found = results(paths, store_of(paths[0]), join=join)
    assert told(found) == told(results(paths, None, join=join))
    return {os.path.basename(file.path) for file in found if file.consulted is not None}


def codes_found(*paths: Path) -> list[str]:
    return [one.code for file in results(paths, store_of(paths[0])) for one in file.diagnostics]


class TestWhatDidNotChange:
    def test_is_not_checked_again(self, folder: Path) -> None:
        assert checked_anew(folder) == {"meters.py", "train.py"}
        assert checked_anew(folder) == set()
        assert codes_found(folder) != []

    def test_is_not_checked_again_where_files_are_read_as_one(self, folder: Path) -> None:
        assert checked_anew(folder, join=True) == {"meters.py", "train.py"}
        assert checked_anew(folder, join=True) == set()
        assert checked_anew(folder) == {"meters.py", "train.py"}  # another question

    def test_is_not_even_read(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first = told(results([folder], folder.parent / "store"))
        monkeypatch.setattr(sights, "read_bytes", None)
        assert told(results([folder], folder.parent / "store")) == first

    def test_may_have_new_times(self, folder: Path) -> None:
        checked_anew(folder)
        os.utime(folder / "meters.py", (1, 1))
        assert checked_anew(folder) == set()

    def test_may_be_asked_for_by_another_name(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        checked_anew(folder)
        monkeypatch.chdir(folder)
        found = results([Path("train.py"), Path("meters.py")], folder.parent / "store")
        assert [file.path for file in found] == ["train.py", "meters.py"]
        assert all(one.path == file.path for file in found for one in file.diagnostics)

    def test_is_known_when_one_file_is_checked_alone(self, folder: Path) -> None:
        checked_anew(folder)
        assert checked_anew(folder / "train.py") == set()
        assert checked_anew(folder) == set()

    def test_may_be_what_no_python_can_parse(self, folder: Path) -> None:
        (folder / "old.py").write_text("import torch\nprint 'no'\n")
        assert "old.py" in checked_anew(folder)
        assert checked_anew(folder) == set()

    def test_needs_no_libcst_and_no_analysis(self, folder: Path) -> None:
        words = [sys.executable, "-X", "importtime", "-m", "torchlint", "--cache-dir", "store", "project"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        for _ in range(2):
            done = subprocess.run(
                words, cwd=folder.parent, env=environment, capture_output=True, text=True, check=False
            )
        assert not {"libcst", "torchlint.engine", "torchlint.facts", "torchlint.project.project"} & {
            line.rpartition("|")[2].strip() for line in done.stderr.splitlines()
        }


class TestWhatChanged:
    def test_is_checked_with_all_that_reads_it(self, folder: Path) -> None:
        checked_anew(folder)
        before = codes_found(folder)
        (folder / "meters.py").write_text(DETACHES)
        assert checked_anew(folder) == {"meters.py", "train.py"}
        assert codes_found(folder) != before

    def test_is_checked_with_all_that_is_read_as_one_with_it(self, folder: Path) -> None:
        checked_anew(folder, join=True)
        (folder / "train.py").write_text(TRAIN.replace("update(loss)", "update(loss.item())"))
        assert checked_anew(folder, join=True) == {"meters.py", "train.py"}

    def test_may_be_which_files_are_checked(self, folder: Path) -> None:
        places = []
        for paths in ([folder], [folder / "train.py"], [folder]):
            found = results(paths, store_of(folder), join=True)
            assert told(found) == told(results(paths, None, join=True))
            places.append({os.path.basename(one.path) for file in found for one in file.diagnostics})
        assert places == [{"meters.py"}, {"train.py"}, {"meters.py"}]

    def test_is_noticed_without_a_new_time_or_size(self, folder: Path) -> None:
        checked_anew(folder)
        state = os.stat(folder / "train.py")
        (folder / "train.py").write_text(TRAIN.replace("loss.backward()", "loss.becalmed()"))
        os.utime(folder / "train.py", ns=(state.st_atime_ns, state.st_mtime_ns))
        assert "train.py" in checked_anew(folder)

    def test_is_checked_with_what_it_may_pass_something_to(self, folder: Path) -> None:
        (folder / "apart.py").write_text(KEEPS)
        checked_anew(folder)
        (folder / "train.py").write_text(TRAIN + "\nmeter = Meter(1)\n")
        assert checked_anew(folder) == {"meters.py", "train.py"}

    def test_is_noticed_within_one_tick_of_the_clock(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sights, "SETTLED", 2_000_000_000)
        real, frozen = os.stat, os.stat(folder / "train.py")
        checked_anew(folder)
        (folder / "train.py").write_text(TRAIN.replace("loss.backward()", "loss.becalmed()"))
        same = lambda path, **more: frozen if str(path).endswith("train.py") else real(path, **more)  # noqa: E731
        monkeypatch.setattr(os, "stat", same)
        assert "train.py" in checked_anew(folder)

    def test_may_be_a_module_that_was_missing(self, folder: Path) -> None:
        (folder / "meters.py").unlink()
        checked_anew(folder)
        (folder / "meters.py").write_text(KEEPS)
        assert checked_anew(folder) == {"meters.py", "train.py"}

    def test_may_be_a_package_that_comes_before_a_module(self, folder: Path) -> None:
        checked_anew(folder)
        (folder / "meters").mkdir()
        (folder / "meters" / "__init__.py").write_text(DETACHES)
        assert "train.py" in checked_anew(folder)

    def test_may_be_the_root_of_the_project(self, folder: Path) -> None:
        (folder / "inner").mkdir()
        (folder / "inner" / "train.py").write_text(TRAIN)
        (folder / "pyproject.toml").unlink()
        checked_anew(folder)
        (folder / "pyproject.toml").write_text("")
        assert "train.py" in checked_anew(folder)

    def test_may_be_what_a_link_leads_to(self, folder: Path) -> None:
        (folder / "meters.py").unlink()
        (folder / "meters.py").symlink_to(folder.parent / "elsewhere.py")
        checked_anew(folder / "train.py")
        (folder.parent / "elsewhere.py").write_text(KEEPS)
        assert checked_anew(folder / "train.py") == {"train.py"}

    def test_may_be_the_options(self, folder: Path) -> None:
        checked_anew(folder)
        (folder / "pyproject.toml").write_text("[tool.torchlint]\nignore = ['TLK101']\n")
        assert checked_anew(folder) == {"meters.py", "train.py"}

    def test_may_be_a_guard_around_a_call_in_another_file(self, folder: Path) -> None:
        (folder / "predicting.py").write_text(PREDICT)
        (folder / "calling.py").write_text(GUARDS.replace("with torch.no_grad():", "if batches:"))
        checked_anew(folder)
        found = codes_found(folder)
        (folder / "calling.py").write_text(GUARDS)
        assert checked_anew(folder) == {"predicting.py", "calling.py"}
        assert codes_found(folder) != found
        assert checked_anew(folder) == set()

    def test_may_be_the_workers_of_a_loader_in_another_file(self, folder: Path) -> None:
        (folder / "words.py").write_text(WORDS)
        (folder / "reading.py").write_text(READS.format(0))
        checked_anew(folder)
        found = codes_found(folder)
        (folder / "reading.py").write_text(READS.format(2))
        assert checked_anew(folder) == {"words.py", "reading.py"}
        assert set(codes_found(folder)) - set(found) == {"TLK501"}
        assert checked_anew(folder) == set()

    def test_may_be_the_files_of_the_run(self, folder: Path) -> None:
        (folder / "predicting.py").write_text(PREDICT)
        (folder / "calling.py").write_text(GUARDS)
        checked_anew(folder)
        assert checked_anew(folder / "predicting.py") == {"predicting.py"}
        assert checked_anew(folder) == {"predicting.py"}

    def test_leaves_alone_what_asked_for_no_guard_of_it(self, folder: Path) -> None:
        (folder / "predicting.py").write_text(PREDICT)
        checked_anew(folder)
        (folder / "other.py").write_text("import os\n")
        assert checked_anew(folder) == {"other.py"}

    def test_may_be_torchlint_itself(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        checked_anew(folder)
        source = folder.parent / "rule.py"
        source.write_text("pass\n")
        monkeypatch.setattr(Key, "_sources", [str(source)])
        assert checked_anew(folder) == {"meters.py", "train.py"}
        os.utime(source, (1, 1))
        assert checked_anew(folder) == set()
        source.write_text("fail\n")
        assert checked_anew(folder) == {"meters.py", "train.py"}


class TestWhatAReportNeeds:
    @pytest.fixture
    def leak(self, tmp_path: Path) -> Path:
        place = tmp_path / "project" / "leak.py"
        place.parent.mkdir()
        place.write_text(LEAK)
        return place

    def test_repairs_are_found_anew(self, leak: Path) -> None:
        results([leak], store_of(leak))
        [file] = results([leak], store_of(leak), Detail.EDITS)
        assert [one.repair.replacements for one in file.diagnostics if one.repair] != [()]

    def test_repairs_are_counted_without_it(self, leak: Path) -> None:
        results([leak], store_of(leak))
        [file] = results([leak], store_of(leak))
        assert [one.repair is not None and one.repair.safe for one in file.diagnostics] == [True]

    def test_text_is_read(self, leak: Path) -> None:
        results([leak], store_of(leak))
        [file] = results([leak], store_of(leak), Detail.TEXT)
        assert (file.text, file.consulted) == (LEAK, None)

    def test_a_repaired_file_is_checked_as_it_is_then(self, leak: Path) -> None:
        results([leak], store_of(leak))
        jobs = [replace(job, repairs=Repairs.SAFE) for job in plan([str(leak)]).jobs]
        [file] = check_files(jobs, cache=Cache(cache_file(".", str(store_of(leak)))))
        assert file.applied == 1
        assert codes_found(leak) == []

    @pytest.mark.parametrize("form", ["text", "full", "json", "github", "sarif"])
    def test_every_report_is_the_same(
        self, leak: Path, form: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        monkeypatch.chdir(leak.parent)
        for words in ([], [], ["--no-cache"]):
            assert cli.main(["leak.py", "--output-format", form, *words]) == 1
        first = capfdbinary.readouterr().out
        assert first == first[: len(first) // 3] * 3


class TestTheFile:
    def test_holds_no_code(self, folder: Path) -> None:
        (folder / "leak.py").write_text(LEAK)
        checked_anew(folder)
        [file] = (folder.parent / "store").glob("*.json")
        text = file.read_text()
        assert "leak.py" in text
        assert not [word for word in ("mse_loss", "optimizer", "def ", "total +=", "0)") if word in text]

    def test_is_marked_as_a_cache_and_ignored_by_git(self, folder: Path) -> None:
        checked_anew(folder)
        store = folder.parent / "store"
        assert (store / ".gitignore").read_text() == "*\n"
        assert (store / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")

    def test_leaves_a_folder_of_the_users_as_it_is(self, folder: Path) -> None:
        (folder.parent / "store").mkdir()
        checked_anew(folder)
        assert not (folder.parent / "store" / ".gitignore").exists()
        assert checked_anew(folder) == set()

    def test_of_an_older_version_is_removed(self, folder: Path) -> None:
        (folder.parent / "store").mkdir()
        (folder.parent / "store" / "0.0.9-cpython-310.json").write_text("")
        (folder.parent / "store" / "my-notes.json").write_text("")
        checked_anew(folder)
        assert not (folder.parent / "store" / "0.0.9-cpython-310.json").exists()
        assert (folder.parent / "store" / "my-notes.json").exists()

    def test_that_cannot_be_written_is_none(self, folder: Path) -> None:
        (folder.parent / "store").write_text("a file where the folder would be")
        assert checked_anew(folder) == checked_anew(folder) == {"meters.py", "train.py"}

    def test_is_shared(self, folder: Path) -> None:
        file = cache_file(".", str(folder.parent / "store"))
        jobs = plan([str(folder)], overrides=Overrides(join=False)).jobs
        for job in jobs:
            # Both begin before either has learnt anything.
            ours, theirs = Cache(file), Cache(file)
            assert ours.known([job]) == theirs.known([job]) == [None]
            results = check_files([job], cache=Cache(str(folder.parent / "elsewhere")))
            for one in (ours, theirs):
                one.learn([job], results)
            (folder.parent / "elsewhere").unlink()
        # Alone, nobody was seen to import the meters.
        assert checked_anew(folder) == {"meters.py"}

    def test_keeps_what_other_options_found(self, folder: Path) -> None:
        checked_anew(folder)
        (folder / "pyproject.toml").write_text("[tool.torchlint]\nnotes = true\n")
        checked_anew(folder)
        (folder / "pyproject.toml").write_text("")
        assert checked_anew(folder) == set()

    @pytest.mark.parametrize(
        "damage",
        [b"", b"\n", b"{}", b"0\n{}", b"\xff\xfe\x00", b"[" * 100_000, b'{"files": 1}', b"null", b"\x00" * 4096],
    )
    def test_that_is_damaged_is_written_anew(self, folder: Path, damage: bytes) -> None:
        checked_anew(folder)
        [file] = (folder.parent / "store").glob("*.json")
        file.write_bytes(damage)
        assert checked_anew(folder) == {"meters.py", "train.py"}
        assert checked_anew(folder) == set()

    @pytest.mark.parametrize("key", ["files", "folders", "records", "jobs", "states"])
    @pytest.mark.parametrize("value", [None, 1, [], [[], [], []], [[1], [2], [3]], {"a": 1}, "text", [[0] * 8]])
    def test_of_wrong_types_is_never_a_traceback(self, folder: Path, key: str, value: object) -> None:
        from torchlint.cache.table import _digest

        checked_anew(folder)
        [file] = (folder.parent / "store").glob("*.json")
        data = json.loads(file.read_bytes().partition(b"\n")[2]) | {key: value}
        body = json.dumps(data).encode()
        file.write_bytes(_digest(body) + b"\n" + body)
        checked_anew(folder)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_with_any_bytes_changed_changes_no_finding(self, folder: Path, data: st.DataObject) -> None:
        store = folder.parent / "store"
        if not store.exists():
            (folder / "leak.py").write_text(LEAK)
            results([folder], store)
            (folder.parent / "whole").write_bytes(next(store.glob("*.json")).read_bytes())
        [file] = store.glob("*.json")
        whole = bytearray((folder.parent / "whole").read_bytes())
        for place in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=3)):
            whole[place] ^= data.draw(st.integers(1, 255))
        file.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        job = next(job for job in plan([str(folder)]).jobs if job.path.endswith("leak.py"))
        found = Cache(str(file)).known([job])
        assert found == [None] or [one.code for one in found[0].diagnostics] == ["TLK101"]  # type: ignore[union-attr]


class TestTheCommandLine:
    @pytest.fixture(autouse=True)
    def here(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)

    def test_keeps_it_in_the_current_folder(self, folder: Path) -> None:
        cli.main(["."])
        assert len(list((folder / ".torchlint_cache").glob("*.json"))) == 1

    def test_keeps_it_beside_the_configuration(self, folder: Path) -> None:
        (folder / "pyproject.toml").write_text("[tool.torchlint]\n")
        (folder / "inner").mkdir()
        (folder / "inner" / "a.py").write_text("")
        cli.main(["inner"])
        assert (folder / ".torchlint_cache").is_dir()

    def test_keeps_nothing_without_a_cache(self, folder: Path) -> None:
        before = sorted(folder.iterdir())
        cli.main([".", "--no-cache"])
        assert sorted(folder.iterdir()) == before

    def test_cleans(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "pyproject.toml").write_text("[tool.torchlint]\n")
        (folder / "deep" / "er" / "a.py").write_text("")
        cli.main(["."])
        cli.main(["deep/er"])
        capsys.readouterr()
        assert cli.main(["clean"]) == 0
        assert sorted(capsys.readouterr().err.splitlines()) == [
            "Removing cache at: .torchlint_cache",
            f"Removing cache at: {os.path.join('deep', 'er', '.torchlint_cache')}",
        ]
        assert not list(folder.rglob(".torchlint_cache"))
        assert cli.main(["clean"]) == 0

    def test_cleans_no_folder_that_is_not_its_own(self, folder: Path) -> None:
        (folder / ".torchlint_cache").mkdir()
        (folder / ".torchlint_cache" / "0.1.0-x.json").write_text("mine")
        cli.main(["clean"])
        assert (folder / ".torchlint_cache" / "0.1.0-x.json").exists()


PIECES = {
    "a.py": [TRAIN, "from meters import Meter\n", "import torch\nfrom b import Meter\n", LEAK, GUARDS],
    "b.py": [PREDICT, "from meters import *\n", "import torch\nfrom a import train\n", KEEPS, ""],
    "meters.py": [KEEPS, DETACHES, "from b import Meter\n", "import a\n", "import torch\nprint 'no'\n"],
    "predicting.py": [PREDICT, "from b import Tagger\n", "import torch\nfrom meters import Meter\n", ""],
    "meters/__init__.py": [KEEPS, "from ..b import Meter\n"],
}


@settings(max_examples=12, deadline=None)
@given(edits=st.lists(st.sampled_from(sorted(PIECES)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from([*PIECES[name], None]), st.booleans())
), min_size=3, max_size=6))  # fmt: skip
def test_after_any_edits_the_cache_says_what_checking_says(edits: list[tuple[str, str | None, bool]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "project")
        (folder / "meters").mkdir(parents=True)
        (folder / "setup.py").write_text("")
        for path, text, alone in edits:
            (folder / path).unlink(missing_ok=True)
            if text is not None:
                (folder / path).write_text(text)
            given = [folder / path] if alone and text is not None else [folder]
            assert told(results(given, Path(name, "store"))) == told(results(given, None))


def test_over_the_rules_own_programs_it_says_what_checking_says(tmp_path: Path) -> None:
    folders = [folder for code in codes()[::6] if (folder := fixture_folder(code)) is not None]
    first = results(folders, tmp_path)
    again = results(folders, tmp_path)
    assert {file.consulted for file in again} == {None}
    assert told(again) == told(first)
    assert any(file.hidden_notes for file in first)
