"""The default format: ``path:line:column: CODE message``, one line a finding, then the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.report.summary import summary

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic
    from torchlint.run import Run

__all__ = ["headline", "render"]


def render(run: Run) -> str:
    """The findings and the summary, a line each."""
    lines = [headline(diagnostic) for diagnostic in run.diagnostics]
    return "".join(f"{line}\n" for line in [*lines, summary(run)])


def headline(diagnostic: Diagnostic) -> str:
    """One finding on one line without its end; line and column count from 1."""
    place = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    return f"{place}: {diagnostic.code} {' '.join(diagnostic.message.split())}"
