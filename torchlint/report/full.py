"""A finding with its source line, the places that led to it, and the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.report.lines import Lines, printable, width
from torchlint.report.summary import summary
from torchlint.report.text import headline

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic, Evidence
    from torchlint.run import Run

__all__ = ["render"]


def render(run: Run) -> str:
    """Every finding as a block, an empty line behind each, then the summary."""
    blocks = [_block(diagnostic, Lines(file.text)) for file in run.in_order for diagnostic in file.diagnostics]
    return "\n".join([*blocks, f"{summary(run)}\n"])


def _block(diagnostic: Diagnostic, lines: Lines) -> str:
    """One finding, several lines."""
    shown = _own_steps(diagnostic)
    numbers = [diagnostic.line, *(step.line for step in shown)]
    gutter = len(str(max(numbers)))
    rows = [
        headline(diagnostic),
        f"{'':>{gutter}} |",
        *_pointed(lines, gutter, diagnostic.line, diagnostic.column, _underline(diagnostic, lines)),
    ]
    for step in shown:
        if step.line != diagnostic.line:
            rows += _pointed(lines, gutter, step.line, step.column, f"- {step.text}")
    elsewhere = (step for step in diagnostic.evidence if step.path is not None)
    places = ((f"{printable(step.file(diagnostic.path))}:{step.line}", step.text) for step in elsewhere)
    rows += [f"{'':>{gutter}} : {place} - {text}" for place, text in places]
    rows += [f"{'':>{gutter}} |", *(f"{'':>{gutter}} = {row}" for row in _footer(diagnostic))]
    return "".join(f"{row}\n" for row in rows)


def _own_steps(diagnostic: Diagnostic) -> list[Evidence]:
    """The steps of the evidence that stand in the finding's own file."""
    return [step for step in diagnostic.evidence if step.path is None]


def _pointed(lines: Lines, gutter: int, line: int, column: int, mark: str) -> list[str]:
    """A source line and, below its ``column`` (from 1), a mark."""
    shown = printable(lines.line(line))
    indent = " " * width(shown[: column - 1])
    return [f"{line:>{gutter}} | {shown}".rstrip(), f"{'':>{gutter}} | {indent}{mark}"]


def _underline(diagnostic: Diagnostic, lines: Lines) -> str:
    """The mark below the finding itself, with what its evidence says of that very line."""
    here = [step.text for step in _own_steps(diagnostic) if step.line == diagnostic.line]
    return " ".join(["^" * _reach(diagnostic, lines), "; ".join(here)]).rstrip()


def _reach(diagnostic: Diagnostic, lines: Lines) -> int:
    """How many cells of the finding's first line it covers, at least one."""
    shown = printable(lines.line(diagnostic.line)).rstrip()
    last = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(shown)
    return max(1, width(shown[diagnostic.column - 1 : last]))


def _footer(diagnostic: Diagnostic) -> list[str]:
    """How grave it is, what explains it, and how to repair it."""
    page = f"torchlint rule {diagnostic.code}"
    rows = [f"{diagnostic.level.value}: {diagnostic.name}; why, and when not: {page}"]
    if diagnostic.explained_by is not None:
        rows.append(f"same cause as {diagnostic.explained_by}, not counted again")
    if diagnostic.repair is not None:
        option = "--fix" if diagnostic.repair.safe else "--unsafe-fixes"
        rows.append(f"help: {diagnostic.repair.title} ({option})")
    return rows
