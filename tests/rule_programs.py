"""What the tests of all rules share: the programs in the rules' folders, and what is found in them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from torchlint.catalog import codes, fixture_folder, rules
from torchlint.diagnostic import Diagnostic
from torchlint.engine import check
from torchlint.source import Source, read_source

__all__ = ["diagnose", "findings", "named", "programs"]


def programs(prefix: str) -> list[Path]:
    folders = [folder for code in codes() if (folder := fixture_folder(code)) is not None]
    return sorted(path for folder in folders for path in folder.glob(f"{prefix}_*.py"))


def named(path: Path) -> str:
    return f"{path.parent.name[:6]}-{path.stem}"


def findings(path: Path) -> tuple[Diagnostic, ...]:
    return diagnose(read_source(path))


@cache
def diagnose(source: Source) -> tuple[Diagnostic, ...]:
    """What is found in a text; remembered, since several tests ask for the same text."""
    return check(source, rules()).diagnostics
