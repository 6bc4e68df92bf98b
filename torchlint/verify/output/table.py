"""A table for a terminal: one line for each program; on that of one that fails stands why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torchlint.report.columns import aligned
from torchlint.report.summary import plural
from torchlint.verify.programs import Kind
from torchlint.verify.verification import Row, Verdict

__all__ = ["table"]

_HEAD = ("rule", "program", "device", "measured", "leaking", "fixed", "clean", "verdict")


def table(rows: Sequence[Row]) -> str:
    """All rows as aligned columns, then what they come to.

    Returns:
        Text that ends with a line end.
    """
    lines = aligned([_HEAD, *(_cells(row) for row in rows)], right=(4, 5, 6))
    return "".join(f"{line}\n" for line in [*lines, "", summary(rows)])


def summary(rows: Sequence[Row]) -> str:
    """What all rows come to, in one line."""
    counts = Counter(row.verdict for row in rows)
    rules = len({row.label for row in rows})
    parts = [f"{counts[verdict]} {words}" for verdict, words in _WORDS if counts[verdict]]
    return f"{plural(rules, 'rule')}, {plural(len(rows), 'program')}: {', '.join(parts)}"


_WORDS = (
    (Verdict.HOLDS, "as they should be"),
    (Verdict.FAILS, "not"),
    (Verdict.SKIPPED, "skipped, since they need CUDA"),
)


def _verdict(row: Row) -> str:
    """The verdict with what has to be said of it."""
    said = [] if row.verdict is Verdict.HOLDS else [row.sentence]
    return f"{row.verdict.value}: {'; '.join(said)}" if (said := [*said, *row.remarks]) else row.verdict.value


def _cells(row: Row) -> tuple[str, ...]:
    found = row.foremost
    mine = _number(found.figure) if found else ""
    fixed = _number(row.fixed_figure(found)) if found else ""
    leaking, clean = (mine, "") if row.program.kind is Kind.LEAK else ("", mine)
    measured = found.unit if found else ""
    return row.label, row.program.name, row.device, measured, leaking, fixed, clean, _verdict(row)


def _number(figure: float | None) -> str:
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure == round(figure) or abs(figure) >= 100 else f"{figure:,.3g}"
