"""What the faces' tests share: programs to check, a stand-in for the analysis, ways to start torchlint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from torchlint.diagnostic import Diagnostic, Evidence, Level, Memory, Repair, Replacement
from torchlint.engine import Outcome
from torchlint.rule import Rule
from torchlint.source import Source, Unreadable

ROOT = Path(__file__).resolve().parent.parent

LEAK = """\
import torch


def train(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
"""TLK101 stands on line 11, column 9; its repair is safe."""

REPAIRED = LEAK.replace("total += loss\n", "total += loss.detach()\n")

WITHOUT_TORCH = "def double(number):\n    return 2 * number\n"

_MARK = re.compile(r"# finds (?P<code>TLK\d{3}) (?P<level>error|warning|note)(?P<words>( \w+)*)")


INTERRUPTIBLE = (
    sys.executable,
    "-c",
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from torchlint.cli import main\n"
    "sys.exit(main())",
)
"""torchlint as a command that hears Ctrl-C: a job in a shell's background ignores it, and so do its children."""


def stand_in(source: Source, rules: Sequence[Rule], **_: Any) -> Outcome:
    """An analysis that finds what comments say: ``x = 1  # finds TLK101 error safe explained``.

    The finding covers the line's statement; "safe" or "unsafe" gives it a repair that writes ``fixed`` there.
    """
    if "syntax error" in source.text:
        raise Unreadable("is no Python")
    if "engine failure" in source.text:
        raise RuntimeError("two\nlines")
    codes = {rule.code for rule in rules}
    marks = (_finding(source, mark) for mark in _MARK.finditer(source.text))
    return Outcome(tuple(found for found in marks if found.code in codes), "torch" in source.text)


def _finding(source: Source, mark: re.Match[str]) -> Diagnostic:
    begin = source.text.rfind("\n", 0, mark.start()) + 1
    row = source.text[begin : mark.start()]
    start = begin + len(row) - len(row.lstrip())
    end = begin + len(row.rstrip())
    line, words = source.text.count("\n", 0, begin) + 1, mark["words"].split()
    memory = {"error": Memory.DEVICE_GROWS, "warning": Memory.HOST_GROWS, "note": Memory.TIME}[mark["level"]]
    change = (Replacement(start, end, "fixed"),)
    return Diagnostic(
        path=source.path,
        line=line,
        column=start - begin + 1,
        end_line=line,
        end_column=end - begin + 1,
        code=mark["code"],
        name="stands-in",
        level=Level(mark["level"]),
        memory=memory,
        message="`x` keeps it, 100%: write `fixed`",
        evidence=(Evidence(1, 1, "begins here"),),
        repair=Repair("Write `fixed`", "safe" in words, change) if {"safe", "unsafe"} & set(words) else None,
        explained_by="TLK999" if "explained" in words else None,
    )


def by_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stand-in in the place of the analysis, in this process."""
    monkeypatch.setattr("torchlint.engine.check", stand_in)
    monkeypatch.setattr("torchlint.engine.concerns_torch", lambda source, project, together=False: True)


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file below ``folder`` without touching its line ends."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def torchlint(
    *words: str, cwd: Path, stdin: str | bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the real command line in a process of its own, from this checkout."""
    return python("-m", "torchlint", *words, cwd=cwd, stdin=stdin, env=env)


def python(
    *words: str, cwd: Path, stdin: str | bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run this interpreter with this checkout importable."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    whole = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    return subprocess.run([sys.executable, *words], cwd=cwd, input=data, env=whole, capture_output=True, check=False)


def modules_after(program: str, *words: str, cwd: Path, env: Mapping[str, str] | None = None) -> set[str]:
    """The names of all modules that are loaded once this console program has run in a process of its own.

    Args:
        program: "package.module:function".
        words: what stands behind the program's name on the command line.
    """
    module, _, function = program.partition(":")
    code = (
        f"import sys\nfrom {module} import {function} as main\nsys.argv = {['program', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('loaded: ' + ' '.join(sys.modules))"
    )
    said = python("-c", code, cwd=cwd, env=env).stderr.decode()
    return set(said.rpartition("loaded: ")[2].split())
