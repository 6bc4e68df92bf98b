"""Measure what is lost when a program's parts stand in two files.

usage: python scripts/split_programs.py [FOLDER...]

Every leaking program of ``fixtures/`` (or of the folders) is written anew as ``app.py`` and ``other.py``: one
definition of its top level with all that it needs moves, and is imported from there. Both are checked in one run. For
each rule the table says how many of the splits show no fewer findings than the program in one file; the lines above it
name the others. A loss is no defect where nobody would write the two files.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchlint import check_paths
from torchlint.config import Settings

ROOT = Path(__file__).parent.parent
ENTRY = "main"
"""The function that runs a program: it stays where it is."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Split:
    """A program in two files.

    Attributes:
        moved: the names of the definitions that stand in ``other.py``.
        app, other: the texts of the two.
    """

    moved: tuple[str, ...]
    app: str
    other: str


def splits(text: str) -> Iterator[Split]:
    """Each way to move one definition of a program, and what it needs, into another file."""
    body = ast.parse(text).body
    parts = {name: node for node in body for name in _bound(node)}
    movable = [name for name, node in parts.items() if isinstance(node, Definition) and name != ENTRY]
    imports = "".join(_source(text, node) for node in body if isinstance(node, ast.Import | ast.ImportFrom))
    seen = set[frozenset[str]]()
    for name in movable:
        needed = _needed(name, parts)
        moved = frozenset(needed).intersection(movable)
        if moved in seen or ENTRY in needed or not set(movable).difference(moved):
            continue
        seen.add(moved)
        there = {id(parts[one]) for one in needed}
        other = "".join(_source(text, node) for node in body if id(node) in there)
        rest = [node for node in body if id(node) not in there and not isinstance(node, ast.Import | ast.ImportFrom)]
        app = "".join(_source(text, node) for node in rest)
        link = f"from other import {', '.join(sorted(needed))}\n\n\n"
        yield Split(tuple(sorted(moved)), f"{imports}{link}{app}", f"{imports}\n\n{other}")


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement of the top level defines."""
    if isinstance(node, Definition):
        return [node.name]
    return [one.id for one in node.targets if isinstance(one, ast.Name)] if isinstance(node, ast.Assign) else []


def _needed(name: str, parts: dict[str, ast.stmt]) -> set[str]:
    """A definition and all others of the file that it names, however far."""
    found, pending = {name}, [name]
    while pending:
        used = {node.id for node in ast.walk(parts[pending.pop()]) if isinstance(node, ast.Name)}
        pending += new if (new := used.intersection(parts).difference(found)) else ()
        found |= used.intersection(parts)
    return found


def _source(text: str, node: ast.stmt) -> str:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    ending = "\n\n\n" if isinstance(node, Definition) else "\n"
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + ending


def found(folder: Path, files: dict[str, str]) -> Counter[str]:
    """How often each rule is told of a program that consists of these files."""
    for name, text in files.items():
        (folder / name).write_text(text)
    paths = [folder / name for name in files]
    return Counter(one.code for one in check_paths(paths, settings=Settings(notes=True)))


def main(folders: Sequence[str]) -> int:
    """Print the table; 0."""
    chosen = [Path(folder) for folder in folders] or sorted((ROOT / "fixtures").iterdir())
    lost, asked = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        (here / "pyproject.toml").touch()
        for path in (path for folder in chosen for path in sorted(folder.glob("leak_*.py"))):
            text = path.read_text()
            whole = found(here, {"app.py": text})
            for split in splits(text):
                now = found(here, {"app.py": split.app, "other.py": split.other})
                asked.update(whole.keys())
                for code in sorted(whole - now):
                    lost[code] += 1
                    print(f"{code} {path.parent.name}/{path.name}: {', '.join(split.moved)}")
    for code in sorted(asked):
        print(f"| {code} | {asked[code] - lost[code]} of {asked[code]} |")
    print(f"| all | {asked.total() - lost.total()} of {asked.total()} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
