"""Imports run one way: a unit imports only what stands below it in ``docs/architecture.md``, which names every unit.

What lies in the checkout has its place as well.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from invoking import ROOT

TABLE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("\n## ")[0]

LAYERS = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in TABLE.splitlines() if row.startswith("| `")]
"""The units from the top down; those of one row know nothing of each other."""

HEIGHT = {unit: -depth for depth, units in enumerate(LAYERS) for unit in units}


def unit_of(module: str) -> str:
    """``torchlint.facts.values.solve`` is of ``facts``; the package itself is of none."""
    return module.partition(".")[2].partition(".")[0]


def files() -> Iterator[tuple[str, Path]]:
    """Each file with its module, which in a wheel is below ``torchlint`` for a rule as well."""
    for path in sorted((ROOT / "torchlint").rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts), path
    for path in sorted((ROOT / "rules").rglob("*.py")):
        yield f"torchlint.rules.{path.stem}", path


def imported(tree: ast.Module) -> set[str]:
    """The modules of torchlint that a file imports when it runs, at its top or in a function."""
    for_types = (node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    left_out = {inner for node in for_types for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node not in left_out]
    named = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names if node.module == "torchlint"}
    return named | {node.module for node in nodes if node.module and node.module.startswith("torchlint.")}


def test_every_unit_has_its_place() -> None:
    units = {unit_of(module) for module, _ in files()} - {"__init__", ""}
    assert units == HEIGHT.keys()


@pytest.mark.parametrize("unit", HEIGHT)
def test_a_unit_imports_only_what_stands_below_it(unit: str) -> None:
    upwards = {
        f"{module} imports {name}"
        for module, path in files()
        if unit_of(module) == unit
        for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        if unit_of(name) not in (unit, "__version__") and HEIGHT[unit_of(name)] >= HEIGHT[unit]
    }
    assert not upwards


def test_nothing_stands_in_the_root_but_what_is_known() -> None:
    """Programs that are written to try something out have been committed there before."""
    listing = ["git", "ls-files"]
    listed = (
        subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False) if shutil.which("git") else None
    )
    if listed is None or listed.returncode or not (ROOT / ".git").exists():
        pytest.skip("only a checkout says what is kept")
    kept = {line.strip('"').partition("/")[0] for line in listed.stdout.splitlines()}
    assert kept == {
        ".ci", ".gitignore", ".pre-commit-hooks.yaml", "CHANGELOG.md", "LICENSE", "README.md", "docs", "fixtures",
        "pyproject.toml", "rules", "scripts", "tests", "torchlint",
    }  # fmt: skip
