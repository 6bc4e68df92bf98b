"""Plant one leak in a training loop of each file of a folder, and say which of them torchlint tells.

usage: python tests/benchmarks/planted.py FOLDER [KIND]    KIND: kept, retained, emptied or zeroed; all without it

Nothing is written into the folder. What is not told is listed, to be read: a loop of a few turns, a file in which
`torch` has another name, or a miss.
"""

from __future__ import annotations

import ast
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from torchlint import check_paths
from torchlint.config import Settings


@dataclass(frozen=True)
class Change:
    """Lines (from 1) of a file before which something is put, or in which, behind a column (from 0, in bytes)."""

    before: tuple[tuple[int, str], ...] = ()
    within: tuple[tuple[int, int, str], ...] = ()


def calls(tree: ast.Module, name: str) -> Iterator[tuple[ast.Expr, ast.Call, ast.For | ast.While]]:
    """The bare calls ``x.name()`` without arguments in a loop of their function, each with the innermost loop."""
    pending: list[tuple[ast.AST, ast.For | ast.While | None]] = [(tree, None)]
    while pending:
        node, loop = pending.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and loop is not None:
            call = node.value
            is_bare = not call.args and not call.keywords and call.lineno == call.end_lineno
            if is_bare and isinstance(call.func, ast.Attribute) and call.func.attr == name:
                yield node, call, loop
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            loop = None
        elif isinstance(node, ast.For | ast.While):
            loop = node
        pending += [(child, loop) for child in ast.iter_child_nodes(node)]


def kept(tree: ast.Module) -> Iterator[Change]:
    """``planted.append(loss)`` behind ``loss.backward()``."""
    for statement, call, loop in calls(tree, "backward"):
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(receiver, ast.Name):
            indent, end = " " * statement.col_offset, statement.end_lineno or statement.lineno
            begin = (loop.lineno, " " * loop.col_offset + "planted = []\n")
            yield Change(before=(begin, (end + 1, f"{indent}planted.append({receiver.id})\n")))


def retained(tree: ast.Module) -> Iterator[Change]:
    """``loss.backward(retain_graph=True)``"""
    for _, call, _ in calls(tree, "backward"):
        yield Change(within=((call.lineno, (call.end_col_offset or 1) - 1, "retain_graph=True"),))


def emptied(tree: ast.Module) -> Iterator[Change]:
    """``torch.cuda.empty_cache()`` behind ``loss.backward()``."""
    for statement, _, _ in calls(tree, "backward"):
        line = (statement.end_lineno or statement.lineno) + 1
        yield Change(before=((line, " " * statement.col_offset + "torch.cuda.empty_cache()\n"),))


def zeroed(tree: ast.Module) -> Iterator[Change]:
    """``optimizer.zero_grad(set_to_none=False)``"""
    for _, call, _ in calls(tree, "zero_grad"):
        yield Change(within=((call.lineno, (call.end_col_offset or 1) - 1, "set_to_none=False"),))


KINDS: dict[str, Callable[[ast.Module], Iterator[Change]]] = {
    "kept": kept, "retained": retained, "emptied": emptied, "zeroed": zeroed,
}  # fmt: skip


def changed(text: str, change: Change) -> str:
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for line, column, added in change.within:
        lines[line - 1] = lines[line - 1][:column] + added.encode() + lines[line - 1][column:]
    for line, added in sorted(change.before, reverse=True):
        lines.insert(line - 1, added.encode())
    return b"".join(lines).decode()


def planted(path: Path, kind: str) -> str | None:
    """The text of a file with the first leak of a kind that can be planted; None where there is no place for one."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return None
    if "import torch\n" not in text or "flake8: noqa" in text or not text.endswith("\n"):
        return None
    first = next(KINDS[kind](tree), None)
    return None if first is None else changed(text, first)


def counted(folder: Path, names: list[Path]) -> dict[Path, list[str]]:
    """The codes that are found in each file, sorted."""
    found: dict[Path, list[str]] = {name: [] for name in names}
    for one in check_paths([folder / name for name in names], settings=Settings(notes=True)):
        found.setdefault(Path(one.path).relative_to(folder), []).append(one.code)
    return {name: sorted(codes) for name, codes in found.items()}


def measure(folder: Path, kind: str) -> None:
    """Print how many planted leaks of a kind are told, and where the others stand."""
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    texts = {path.relative_to(folder): text for path in files if (text := planted(path, kind)) is not None}
    names = list(texts)
    before = counted(folder, names)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name).resolve() / "copy"
        shutil.copytree(folder, copy, ignore=lambda there, entries: [e for e in entries if e == ".git"])
        for one, text in texts.items():
            (copy / one).write_text(text, encoding="utf-8")
        after = counted(copy, names)
    missed = [one for one in names if after[one] == before[one]]
    print(f"{kind}: {len(names) - len(missed)} of {len(names)} told")
    for one in missed:
        print(f"    {one.as_posix()}")


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    for kind in sys.argv[2:] or KINDS:
        measure(folder, kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
