"""Data sets that workers read from another file of the run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from projects import Project

from torchlint import check_paths
from torchlint.config import Settings
from torchlint.project.loaders import reads_with_workers


@pytest.mark.parametrize(
    "text",
    [
        "DataLoader(Words(path), num_workers=2)",
        "options = dict(batch_size=4, num_workers=n)\nDataLoader(Words(path), **options)",
        "options = {'batch_size': 4, 'num_workers': n}\nDataLoader(Words(path), **options)",
        "DataLoader(dataset=data.Words(path), num_workers=workers)",
        "DataLoader(Words(path), 8, False, None, None, 2)",
        "words = Words(path)\ndef loader():\n    return torch.utils.data.DataLoader(words, num_workers=2)",
        "whole: Dataset = Words(path)\ntrain, test = random_split(whole, parts)\nDataLoader(train, num_workers=2)",
        "class Module:\n  def setup(self):\n    self.words = Words(path)\n"
        "  def loader(self):\n    return DataLoader(self.words, num_workers=self.workers)",
        "def batches(data, n, of=2):\n  return DataLoader(data, n, num_workers=of)\nbatches(Words(path), 8)",
        "def batches(data, *, n):\n  return DataLoader(data, num_workers=n)\nbatches(n=count, data=Words(path))",
        "class Fit:\n  def __init__(self, net, data):\n    self.loader = DataLoader(data, num_workers=2)\n"
        "Fit(net, Words(path)).run()",
        "class Fit:\n  def loader(self, data):\n    return DataLoader(data, num_workers=2)\nFit().loader(Words(path))",
        "def made(part):\n  return Words(part)\ntrain = made(path)\nDataLoader(train, num_workers=2)",
        "class Module:\n  def setup(self):\n    def made(part):\n      return Words(part)\n"
        "    self.train, self.test = made(path), made(path)\n  def loader(self, data):\n"
        "    return DataLoader(data, num_workers=2)\n  def train_loader(self):\n    return self.loader(self.train)",
        "SETS = {'words': Words, 'rows': Rows}\nDataLoader(SETS[kind](path), num_workers=2)",
        "SETS = dict(words=data.Words, rows=Rows)\ntext = SETS.get(kind)(path)\nDataLoader(text, num_workers=2)",
        "kinds = {'words': (Words, 3)}\nmade, size = kinds[kind]\ntext = made(path)\nDataLoader(text, num_workers=2)",
        "made = Words if kind == 'words' else Rows\nDataLoader(made(path), num_workers=2)",
        "def batches(kind):\n  if kind == 'words':\n    made = Words\n  else:\n    made = Rows\n"
        "  return DataLoader(made(kind), num_workers=2)",
    ],
)
def test_a_loader_with_workers_is_given_the_data_set(text: str) -> None:
    assert reads_with_workers(ast.parse(text), "Words")


@pytest.mark.parametrize(
    "text",
    [
        "DataLoader(Words(path))",
        "DataLoader(Words(path), num_workers=0)",
        "options = dict(num_workers=0)\nDataLoader(Words(path), **options)",
        "DataLoader(Others(path), num_workers=2)\nWords(path)",
        "words = Words(path)\nothers = Others()\nDataLoader(others, num_workers=2)",
        "words = words.more()\nDataLoader(words, num_workers=2)",
        "read(Words(path), num_workers=2)",
        "def batches(data, n=2):\n  return DataLoader(data, num_workers=n)\nbatches(Words(path), 0); batches(others)",
        "def made(part):\n  return Words(part)\nprint(made(path))\nDataLoader(others(path), num_workers=2)",
        "def batches(data, n=0):\n  return DataLoader(data, num_workers=n)\nbatches(Words(path)); batches(others, n=2)",
        "def batches(data, names):\n  return DataLoader(data, num_workers=2)\nbatches(others, Words(path))",
        "def batches(data):\n  return DataLoader(data, num_workers=2)\ndef show(data):\n  pass\nshow(Words(path))",
        "SETS = {'words': Words}\nMORE = {'rows': Rows}\nSETS[kind](path)\nDataLoader(MORE[kind](path), num_workers=2)",
        "SETS = {'words': Words}\nDataLoader(SETS[kind](path))\nDataLoader(Rows(path), num_workers=2)",
        "SIZES = {Words: 3}\nDataLoader(Rows(SIZES[kind]), num_workers=2)",
        "made = Rows if isinstance(other, Words) else Lines\nDataLoader(made(path), num_workers=2)",
    ],
)
def test_another_loader_is_not(text: str) -> None:
    assert not reads_with_workers(ast.parse(text), "Words")


RECORDS = """
import json
from collections import defaultdict

def by_speaker(path):
    with open(path) as file:
        everything = json.load(file)
    turns = defaultdict(list)
    for turn in everything["turns"]:
        turns[turn["speaker"]].append({"text": turn["text"], "start": turn["start"]})
    return [{"speaker": name, "turns": said} for name, said in turns.items()]

def one_by_one(path):
    with open(path) as file:
        everything = json.load(file)
    for turn in everything["turns"]:
        yield {"text": turn["text"], "start": turn["start"]}

def few(path):
    for part in ("train", "test"):
        yield {"path": path + part}

def settings(path):
    return {"path": path, "size": 3}
"""

DATA = """
from torch.utils.data import Dataset
from records import by_speaker, few, one_by_one, settings

class Speakers(Dataset):
    def __init__(self, path):
        self.speakers = KEPT
    def __len__(self):
        return 9
    def __getitem__(self, index):
        return self.speakers[index]["turns"]
"""

TRAIN = """
from torch.utils.data import DataLoader
from data import Speakers

loader = DataLoader(Speakers("a.json"), WORKERS)
"""


def found(folder: Path, source: str, workers: str, *names: str, kept: str = "SOURCE(path)") -> list[str]:
    """``file CODE`` of what a run over the named files finds (all without names)."""
    (folder / "pyproject.toml").touch()
    (folder / "records.py").write_text(RECORDS)
    (folder / "data.py").write_text(DATA.replace("KEPT", kept).replace("SOURCE", source))
    (folder / "train.py").write_text(TRAIN.replace("WORKERS", workers))
    paths = [folder / name for name in names] or [folder]
    return [f"{Path(one.path).name} {one.code}" for one in check_paths(paths, settings=Settings(notes=True))]


def test_records_of_one_file_a_data_set_of_another_and_a_loader_of_a_third(tmp_path: Path) -> None:
    assert found(tmp_path, "by_speaker", "num_workers=4") == ["data.py TLK501"]
    assert found(tmp_path, "by_speaker", "num_workers=4", "data.py", "train.py") == ["data.py TLK501"]


@pytest.mark.parametrize(("generator", "codes"), [("one_by_one", ["data.py TLK501"]), ("few", [])])
def test_records_that_a_generator_of_another_file_gives_one_by_one(
    tmp_path: Path, generator: str, codes: list[str]
) -> None:
    assert found(tmp_path, generator, "num_workers=4", kept="list(SOURCE(path))") == codes


@pytest.mark.parametrize(
    ("source", "workers", "names"),
    [
        ("by_speaker", "num_workers=0", ()),
        ("by_speaker", "num_workers=4", ("data.py",)),
        ("settings", "num_workers=4", ()),
    ],
)
def test_without_workers_or_without_many_objects_there_is_nothing(
    tmp_path: Path, source: str, workers: str, names: tuple[str, ...]
) -> None:
    assert found(tmp_path, source, workers, *names) == []


WORDS = """
    from torch.utils.data import Dataset

    class Cached(Dataset):
        def __init__(self, size):
            self.size, self.kept = size, {{}}
        def __len__(self):
            return self.size
        def make(self, index):
            raise NotImplementedError
        def __getitem__(self, index):
            if index not in self.kept:
                self.kept[index] = self.make(index)
            return self.kept[index]
    {more}
"""

SPOKEN = """
    import torch
    from words import Cached

    class Spoken(Cached):
        def make(self, index):
            return torch.rand(16)
        {reads}
    {more}
"""

BATCHES = """
    from dataclasses import dataclass
    from torch.utils.data import DataLoader, Subset

    @dataclass
    class Options:
        size: int = 8
        workers: int = {workers}

    def batches(data, options):
        some = Subset(data, range(9))
        return DataLoader({given}, options.size, num_workers=options.workers)

    def few(data, workers=0):
        return DataLoader(data, num_workers=workers)
"""

RUN = """
    from spoken import Spoken
    from batches import Options, batches, few

    def run():
        for x in {loader}:
            print(x)
"""

NAMES = {"more": "", "reads": "", "workers": "2", "given": "data", "loader": "batches(Spoken(9), Options(size=4))"}
DIRECT = "\n    from torch.utils.data import DataLoader\n\n    loader = DataLoader({}(9), num_workers=2)\n"


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"given": "some"}, 1),
        ({"loader": "batches(options=Options(), data=Spoken(9))"}, 1),
        ({"loader": "few(Spoken(9), 4)"}, 1),
        ({"loader": "few(Spoken(9), workers=4)"}, 1),
        ({"loader": "few(Spoken(9))"}, 0),
        ({"loader": "few(Spoken(9), workers=0)"}, 0),
        ({"loader": "few(range(9), workers=4)"}, 0),
        ({"loader": "range(9)"}, 0),
        ({"workers": "0"}, 0),
        ({"workers": "0", "loader": "batches(Spoken(9), Options(workers=2))"}, 1),
        ({"reads": "def __getitem__(self, index):\n            return self.make(index)"}, 0),
    ],
)
def test_a_third_file_makes_the_loader_of_what_derives_from_it(
    tmp_path: Path, changes: dict[str, str], count: int
) -> None:
    texts = {"words.py": WORDS, "spoken.py": SPOKEN, "batches.py": BATCHES, "run.py": RUN}
    project = Project(tmp_path, {name: text.format(**{**NAMES, **changes}) for name, text in texts.items()})
    assert [one for one in project.found() if "TLK501" in one] == ["words.py: TLK501 warning"] * count


def test_the_file_of_what_derives_from_it_makes_the_loader(tmp_path: Path) -> None:
    files = {"words.py": WORDS.format(more=""), "spoken.py": SPOKEN.format(reads="", more=DIRECT.format("Spoken"))}
    assert Project(tmp_path, files).found() == ["words.py: TLK501 warning"]


def test_its_own_file_gives_it_to_a_function_of_another_one(tmp_path: Path) -> None:
    used = "\n    from batches import few\n    class Short(Cached):\n        pass\n    loader = few(Short(9), {})\n"
    for workers, found in (("2", ["words.py: TLK501 warning"]), ("0", [])):
        files = {"words.py": WORDS.format(more=used.format(workers)), "batches.py": BATCHES.format(**NAMES)}
        assert Project(tmp_path / workers, files).found() == found
