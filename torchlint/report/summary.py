"""The last line of a report: what to do first, or what was looked at when nothing was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.diagnostic import Memory

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic
    from torchlint.run import Run

__all__ = ["plural", "summary"]


def summary(run: Run) -> str:
    """One line without its end: ``2 keep GPU memory every step (start with train.py:41); 9 notes (--notes)``.

    A finding that another one explains is shown but not counted: repairing the one repairs the other.
    """
    found = run.diagnostics
    rest = [*_applied(run), *_repairs(run), *_hidden(run), *_failures(run)]
    if found:
        return "; ".join([_by_memory(found), *rest])
    return "; ".join([_nothing(run), *rest]) + "."


def plural(count: int, word: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _by_memory(found: Sequence[Diagnostic]) -> str:
    """How many findings keep which memory, gravest first, and where the first of the gravest stands."""
    counted = [diagnostic for diagnostic in found if diagnostic.explained_by is None] or found
    groups = [[one for one in counted if one.memory is memory] for memory in Memory]
    filled = [group for group in groups if group]
    start = filled[0][0]
    head, *tail = [f"{len(group)} {group[0].memory.value}" for group in filled]
    return ", ".join([f"{head} (start with {start.path}:{start.line})", *tail])


def _nothing(run: Run) -> str:
    """What was looked at, since "nothing found" and "nothing looked at" must not look alike."""
    if not run.files:
        return "No Python file to check"
    seen = sum(file.failure is None for file in run.files)
    torch = sum(file.uses_torch for file in run.files)
    verb = "uses" if torch == 1 else "use"
    left = " left" if run.applied else ""
    return f"No leak{left} found in {plural(seen, 'file')} ({torch} {verb} torch)"


def _applied(run: Run) -> list[str]:
    """How many findings this run repaired."""
    return [f"{run.applied} fixed"] if run.applied else []


def _repairs(run: Run) -> list[str]:
    """How many of the findings shown a further run would repair, and how."""
    repairs = [diagnostic.repair for diagnostic in run.diagnostics if diagnostic.repair is not None]
    safe = sum(repair.safe for repair in repairs)
    unsafe = len(repairs) - safe
    parts = [f"{safe} fixable with --fix"] if safe else []
    if unsafe:
        parts.append(f"{unsafe} {'more ' if safe else 'fixable '}with --unsafe-fixes")
    return parts


def _hidden(run: Run) -> list[str]:
    """How many notes were not shown."""
    hidden = sum(file.hidden_notes for file in run.files)
    return [f"{plural(hidden, 'note')} (--notes)"] if hidden else []


def _failures(run: Run) -> list[str]:
    """How many files could not be checked; which and why stands on standard error."""
    failed = sum(file.failure is not None for file in run.files)
    return [f"{failed} could not be checked"] if failed else []
