"""``torchlint rule CODE``: all that is known of one rule, its measured figures included."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.catalog import codes, fixture_folder, rule_of
from torchlint.console import complain, write
from torchlint.explanation import document, fix_availability
from torchlint.report.columns import aligned

if TYPE_CHECKING:
    from torchlint.rule import Rule

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Print the rule's page; returns 0, or 2 when there is no such rule."""
    rule = rule_of(options.code)
    if rule is None:
        complain(f'torchlint: there is no rule {options.code!r}; "torchlint rules" lists all {len(codes())}')
        return 2
    write(page(rule, fixture_folder(rule.code)))
    return 0


def page(rule: Rule, folder: Path | None) -> str:
    """The rule's page as plain text.

    Args:
        rule: the rule.
        folder: its fixtures, where they are installed.
    """
    title = f"{rule.code} {rule.name}"
    declared = [
        ("level", rule.level.value + (", in preview (--preview)" if rule.preview else "")),
        ("symptoms", "; ".join(symptom.value for symptom in rule.symptoms)),
        ("measured by", "; ".join(harm.value for harm in rule.harms)),
        ("fix", fix_availability(rule)),
        ("seen", "not yet in real code; its programs alone prove it" if rule.unseen else "in real code"),
        ("fixtures", str(folder) if folder else ""),
    ]
    facts = "".join(f"{name + ':':<13}{value}\n" for name, value in declared if value)
    figures = _figures(folder)
    return f"{title}\n{'=' * len(title)}\n\n{facts}\n{document(rule)}\n{figures}"


def _figures(folder: Path | None) -> str:
    """The recorded measurements, or "" where there are none."""
    file = folder / "measured.json" if folder else None
    if file is None or not file.is_file():
        return ""
    try:
        recorded = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"\nMeasured\n--------\n{file}: cannot be read: {' '.join(str(error).split())}\n"
    listed = recorded.get("measured", recorded) if isinstance(recorded, Mapping) else recorded
    blocks = listed if isinstance(listed, list) else [listed]
    return "\nMeasured\n--------\n" + "\n".join(_measurement(block) for block in blocks)


def _measurement(block: Any) -> str:
    """One measurement: where it was made, then its rows as a table."""
    if not isinstance(block, Mapping):
        return f"{_cell(block)}\n"
    tables = [value for value in block.values() if _is_table(value)]
    heads = [f"{_HEADS.get(name, name)} {_cell(value)}" for name, value in block.items() if not _is_table(value)]
    return "".join([f"{', '.join(heads)}\n" if heads else "", *(_table(table) for table in tables)])


_HEADS = {"device": "measured on", "torch": "with torch"}
"""How a measurement's own words begin a line."""


def _is_table(value: Any) -> bool:
    """True for a list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Objects as aligned columns, in the order in which their keys first appear."""
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    cells = [names, *([_cell(row.get(name, "")) for name in names] for row in rows)]
    return "".join(f"  {line}\n" for line in aligned(cells))


def _cell(value: Any) -> str:
    """One value in few characters."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return " ".join(_cell(inner) for inner in value)
    return str(value)
