"""From a name that is imported to the file that defines it, and to the part of that file which is read."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

from torchlint.project import texts
from torchlint.project.excerpt import Outline
from torchlint.project.loops import called_in_loops
from torchlint.project.modules import Location, Modules
from torchlint.project.project import Project
from torchlint.project.trees import KEPT, LARGEST, Trees
from torchlint.source import Source
from torchlint.syntax.imported_names import imported_names


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def outline(text: str) -> Outline:
    import ast

    return Outline(lambda: text, ast.parse(text))


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("importer", "name", "path", "rest"),
    [
        ("train.py", "lib.meters.Meter", "lib/meters.py", ("Meter",)),
        ("train.py", "lib.Meter", "lib/__init__.py", ("Meter",)),
        ("lib/meters.py", ".nets.Net", "lib/nets.py", ("Net",)),
        ("lib/deep/loop.py", "..nets.Net.forward", "lib/nets.py", ("Net", "forward")),
        ("lib/deep/loop.py", "lib.nets.Net", "lib/nets.py", ("Net",)),
        ("tools/run.py", "lib.nets.Net", "lib/nets.py", ("Net",)),
        ("tools/run.py", "beside.go", "tools/beside.py", ("go",)),
        ("tools/run.py", "inside.go", "src/inside.py", ("go",)),
    ],
)
def test_names_are_found_from_where_they_are_imported(
    tmp_path: Path, importer: str, name: str, path: str, rest: tuple[str, ...]
) -> None:
    tree(tmp_path, "pyproject.toml", "lib/__init__.py", "lib/meters.py", "lib/nets.py", "lib/deep/__init__.py")
    tree(tmp_path, "lib/deep/loop.py", "tools/beside.py", "src/inside.py")
    found = Modules().locate(str(tmp_path / importer), name)
    assert found is not None
    assert (found.path, found.rest) == (str(tmp_path / path), rest)


@pytest.mark.parametrize("name", ["torch.nn.Linear", "elsewhere.Net", "...above.Net", "lib"])
def test_what_is_not_of_the_project_is_not_found(tmp_path: Path, name: str) -> None:
    tree(tmp_path, "pyproject.toml", "torch/nn.py", "lib/nets.py")
    assert Modules().locate(str(tmp_path / "train.py"), name) is None


def test_without_a_root_only_the_folder_the_package_and_the_folder_above_are_searched(tmp_path: Path) -> None:
    tree(tmp_path, "far.py", "work/other.py", "work/beside.py", "work/runs/train.py", "work/runs/beside.py")
    modules, train = Modules(), str(tmp_path / "work/runs/train.py")
    assert modules.locate(train, "beside.go") == Location(str(tmp_path / "work/runs/beside.py"), ("go",))
    assert modules.locate(train, "other.go") == Location(str(tmp_path / "work/other.py"), ("go",))
    assert modules.locate(train, "far.go") is None


@pytest.mark.parametrize("name", ["..tools.trace.note", "lab.tools.trace.note"])
def test_a_folder_without_an_initializer_is_a_package_as_well(tmp_path: Path, name: str) -> None:
    tree(tmp_path, "lab/tools/trace.py", "lab/nets/graph.py", "lab/deep/__init__.py", "lab/deep/nets.py")
    for importer in ("lab/nets/graph.py", "lab/deep/nets.py"):
        found = Modules().locate(str(tmp_path / importer), name)
        assert found == Location(str(tmp_path / "lab/tools/trace.py"), ("note",))


def test_a_folder_of_a_package_belongs_to_it_without_an_initializer(tmp_path: Path) -> None:
    tree(tmp_path, "lib/__init__.py", "lib/maps/local.py", "lib/maps/deep/far.py", "tools/run.py")
    modules = Modules()
    assert modules.absolute(str(tmp_path / "lib/maps/local.py"), ".go") == "lib.maps.go"
    assert modules.absolute(str(tmp_path / "lib/maps/deep/far.py"), ".go") == ".go"
    assert modules.absolute(str(tmp_path / "tools/run.py"), ".go") == ".go"


def test_relative_names_become_absolute_by_their_package(tmp_path: Path) -> None:
    tree(tmp_path, "lib/__init__.py", "lib/deep/__init__.py")
    modules = Modules()
    assert modules.absolute(str(tmp_path / "lib/deep/loop.py"), "..nets.Net") == "lib.nets.Net"
    assert modules.absolute(str(tmp_path / "lib/deep/loop.py"), "torch.nn") == "torch.nn"
    assert modules.absolute(str(tmp_path / "train.py"), ".nets.Net") == ".nets.Net"


# -- texts ------------------------------------------------------------------------------------------------------------


def test_an_excerpt_holds_what_a_definition_mentions_and_the_imports() -> None:
    text = (
        "import torch\nSCALE = 2\n\ndef other():\n    return 1\n\n@torch.jit.script\ndef scaled(x):\n"
        "    return x * SCALE\n\nclass Net:\n    pass\n"
    )
    assert outline(text).excerpt("scaled") == (
        "import torch\nSCALE = 2\n@torch.jit.script\ndef scaled(x):\n    return x * SCALE\n"
    )
    assert outline(text).excerpt("torch") is None
    assert outline(text).excerpt("missing") is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_python_ends_them(end: str) -> None:
    text = end.join(["A = '''", "x\f", "'''", "def f(): return A"])
    assert outline(text).excerpt("f") == text + "\n"


def test_imports_are_known_by_their_looks() -> None:
    text = "import a, b.c as d\nfrom .e import (f as g,\n    h,  # i\n)\nfrom .. import j\nfrom k import *\n"
    assert list(imported_names(text)) == ["a", "b.c", ".e.f", ".e.h", "..j"]


# -- summaries --------------------------------------------------------------------------------------------------------


def test_a_summary_is_plain_data_without_a_line_of_the_file(tmp_path: Path) -> None:
    tree(tmp_path, "pyproject.toml")
    (tmp_path / "meters.py").write_text(
        "import torch\nclass Meter:\n    def __init__(self):\n        self.kept = []\n"
        "    def update(self, secret_value):\n        self.kept.append(secret_value.mul(12345))\n"
    )
    found = Project().imports_of(str(tmp_path / "train.py")).find("meters.Meter")
    assert found is not None
    summary = found.summarise()
    stored = pickle.dumps(summary)
    assert pickle.loads(stored) == summary
    assert b"12345" not in stored
    assert b"self.kept" not in stored


def test_a_file_that_imports_a_user_of_torch_is_looked_at(tmp_path: Path) -> None:
    tree(tmp_path, "pyproject.toml")
    (tmp_path / "net.py").write_text("import torch\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text("from net import Net\n")
    (tmp_path / "plain.py").write_text("import os\n")
    project = Project()

    def uses(text: str) -> bool:
        return project.imports_torch(Source(str(tmp_path / "use.py"), text))

    assert uses("from net import Net\n")
    assert uses("import lib\n") or uses("from lib import Net\n")
    assert not uses("import plain\n")
    assert not uses("import json\n")


# -- trees ------------------------------------------------------------------------------------------------------------


def test_of_the_texts_that_were_asked_for_last_the_trees_are_kept() -> None:
    trees = Trees()
    small, large = "x = 1\n", "y = 2" + " " * (KEPT // 2) + "\n"
    first = trees.of(small)
    trees.of(large)
    assert trees.of(small) is first
    trees.of(large + large)  # with it, only the latest is kept
    assert trees.of(small) is not first


def test_of_a_text_that_is_larger_than_all_that_are_kept_the_tree_is_kept_alone() -> None:
    trees = Trees()
    small, large = "x = 1\n", "y = 2" + " " * KEPT + "\n"
    first, only = trees.of(small), trees.of(large)
    assert trees.of(large) is only
    assert trees.of(small) is not first
    assert trees.of(large) is not only  # nothing fits beside it


def test_a_tree_that_is_too_large_to_keep_is_given_all_the_same() -> None:
    trees = Trees()
    text = "x = 1" + " " * LARGEST + "\n"
    assert trees.of(text) is not trees.of(text)


def test_a_text_that_cannot_be_parsed_is_refused_each_time() -> None:
    trees = Trees()
    for _ in range(2):
        with pytest.raises(SyntaxError):
            trees.of("x = = 1\n")


def test_packages_that_import_all_of_each_other_are_searched_once(tmp_path: Path) -> None:
    """Ten modules are there, ten were left out; each is asked for a name that nobody defines."""
    tree(tmp_path, "setup.py")
    there = "".join(f"from .part{n} import *\n" for n in range(10))
    left_out = "".join(f"try:\n    from .extra{n} import *\nexcept ImportError:\n    pass\n" for n in range(10))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text(there + left_out)
    for n in range(10):
        (tmp_path / "parts" / f"part{n}.py").write_text("from . import *\n")
    located: list[str] = []

    class Counting(Modules):
        def locate(self, importer: str, name: str) -> Location | None:
            located.append(name)
            assert len(located) < 100
            return super().locate(importer, name)

    project = Project()
    project._modules = Counting()
    assert project.find(str(tmp_path / "main.py"), "parts.Nobody") is None
    assert "parts.Nobody" in located


def test_what_is_called_in_loops_with_the_loops_around_it() -> None:
    text = """
for x in before():
    step(x)
    while asked():
        deeper()
print([kept(x) for x in rows() if chosen(x)])
def apart():
    return {key(): value() for row in table() for one in cells(row)}
class Net(Base):
    def build(self):
        self.once()
    def forward(self, x):
        def later():
            unasked()
        return self.project(x)
def forward(x):
    alone(x)
"""
    called = called_in_loops(ast.parse(text))
    around = {name: [len(loops) for loops in calls] for name, calls in called.items()}
    assert around == {
        "step": [1], "asked": [1], "deeper": [2], "kept": [1], "chosen": [1], "key": [1], "value": [1], "cells": [1],
        "project": [1],
    }  # fmt: skip
    assert called["deeper"][0][0] == called["step"][0][-1] != called["kept"][0][-1]


def test_what_a_step_calls_that_its_file_calls_in_a_loop() -> None:
    text = """
def step(x):
    rows = draw(x)
    for row in rows:
        each(row)
    net(rows).backward()
def look(x):
    unasked(x)
def run(loader):
    losses = [step(x) for x in loader]
    for x in loader:
        look(x)
"""
    called = called_in_loops(ast.parse(text))
    assert set(called) == {"step", "look", "draw", "each", "net", "backward"}
    assert called["draw"] == called["step"]


def test_texts_are_read_once_and_come_back_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "KEPT", 10)
    saved = {"ascii.py": "loss = 1\n" * 9, "names.py": "größe = '\udcff'\n" * 3, "empty.py": ""}
    reads: list[str] = []

    def read(path: str) -> str:
        reads.append(path)
        return saved[path]

    known = texts.Texts(read)
    for _ in range(3):
        assert {path: known.of(path) for path in saved} == saved
    assert sorted(reads) == sorted(saved)
