"""A file's result as JSON keeps it: no line of the file, and of a repair only its title and whether it is safe."""

from __future__ import annotations

from typing import Any

from torchlint.diagnostic import Diagnostic, Evidence, Level, Memory, Repair
from torchlint.run import Checked

__all__ = ["kept", "restored"]


def kept(result: Checked) -> Any:
    """What is kept of a result."""
    found = [_finding(diagnostic) for diagnostic in result.diagnostics]
    return [int(result.uses_torch), result.hidden_notes, result.failure, found]


def restored(outcome: Any, path: str) -> Checked:
    """The result for the file that is now called ``path``; repairs have no replacements, and ``text`` is "".

    Raises:
        ValueError, TypeError, KeyError, IndexError: it is not what :func:`kept` gave.
    """
    uses_torch, hidden_notes, failure, found = outcome
    return Checked(
        path,
        tuple([_diagnostic(values, path) for values in found]),
        hidden_notes,
        bool(uses_torch),
        failure=failure,
    )


def _finding(one: Diagnostic) -> list[Any]:
    return [
        one.line, one.column, one.end_line, one.end_column, one.code, one.name, one.level.value, one.memory.name,
        one.message,
        [[step.line, step.column, step.text, step.path] for step in one.evidence],
        None if one.repair is None else [one.repair.title, one.repair.safe],
        one.explained_by,
    ]  # fmt: skip


def _diagnostic(values: list[Any], path: str) -> Diagnostic:
    line, column, end_line, end_column, code, name, level, memory, message, evidence, repair, explained_by = values
    return Diagnostic(
        path=path, line=line, column=column, end_line=end_line, end_column=end_column, code=code, name=name,
        level=Level(level), memory=Memory[memory], message=message,
        evidence=tuple([Evidence(*step) for step in evidence]),
        repair=None if repair is None else Repair(repair[0], repair[1], ()), explained_by=explained_by,
    )  # fmt: skip
