"""``torchlint rules``: every rule on a line, made from the rules' own declarations."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from torchlint.catalog import rules
from torchlint.console import write
from torchlint.explanation import document, fix_availability, headline, symptom_table

if TYPE_CHECKING:
    from torchlint.rule import Rule

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Print the list in the format asked for; always returns 0."""
    write(_FORMATS[options.output_format](rules()))
    return 0


def _text(known: Sequence[Rule]) -> str:
    """A line a rule: code, name, level, the first line of its docstring."""
    longest = max((len(rule.name) for rule in known), default=0)
    return "".join(
        f"{rule.code}  {rule.name:<{longest}}  {rule.level.value:<7}  {_flag(rule)}{headline(rule)}\n" for rule in known
    )


def _flag(rule: Rule) -> str:
    """A word before the description of a rule that does not run by default."""
    return "(preview) " if rule.preview else ""


def _json(known: Sequence[Rule]) -> str:
    """A list of objects."""
    return json.dumps([_object(rule) for rule in known], indent=2) + "\n"


def _object(rule: Rule) -> dict[str, object]:
    """One rule; the keys that ruff has too have ruff's names."""
    return {
        "code": rule.code,
        "name": rule.name,
        "level": rule.level.value,
        "summary": headline(rule),
        "symptoms": [symptom.value for symptom in rule.symptoms],
        "harms": [harm.value for harm in rule.harms],
        "preview": rule.preview,
        "fix": fix_availability(rule),
        "explanation": document(rule),
    }


_FORMATS: Mapping[str, Callable[[Sequence[Rule]], str]] = {
    "text": _text,
    "json": _json,
    "markdown": symptom_table,
}
