"""Workflow commands that GitHub shows as annotations beside the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.diagnostic import Level
from torchlint.report.paths import relative
from torchlint.report.text import headline

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic
    from torchlint.run import Run

__all__ = ["render"]

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(run: Run) -> str:
    """One command a finding, a line each."""
    return "".join(f"{_command(diagnostic)}\n" for diagnostic in run.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    """``::error title=...,file=...,line=...::message``."""
    properties = {
        "title": f"torchlint ({diagnostic.code})",
        "file": relative(diagnostic.path),
        "line": str(diagnostic.line),
        "col": str(diagnostic.column),
        "endLine": str(diagnostic.end_line),
        "endColumn": str(diagnostic.end_column),
    }
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[diagnostic.level]} {listed}::{_data(headline(diagnostic))}"


def _data(text: str) -> str:
    """``text`` with what would end a command escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """``text`` with what would end a property escaped as well."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
