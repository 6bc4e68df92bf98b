"""What a rule's docstring and declarations say of it; every page, table and help text is made from these."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.rule import Rule

__all__ = ["document", "fix_availability", "headline", "section", "symptom_table"]


def document(rule: Rule) -> str:
    """The rule's whole docstring, without its indentation; "" when it has none."""
    # Not inspect.getdoc: that would pass off the base class's docstring as this rule's.
    return inspect.cleandoc(type(rule).__doc__ or "")


def headline(rule: Rule) -> str:
    """The docstring's first line."""
    return document(rule).partition("\n")[0].strip()


def section(rule: Rule, title: str) -> str:
    """The text of the section with this title ("Fix safety"), without the title; "" when there is none."""
    lines = document(rule).splitlines()
    starts = [number for number, line in enumerate(lines) if _title(lines, number) == title.lower()]
    if not starts:
        return ""
    body = lines[starts[0] + 1 :]
    ends = [number for number in range(len(body)) if _title(body, number) in _TITLES]
    kept = body[: ends[0]] if ends else body
    return "\n".join(line for line in kept if not _is_underline(line)).strip()


def fix_availability(rule: Rule) -> str:
    """What the rule says of its own fix, on one line."""
    first = section(rule, "Fix safety").partition("\n\n")[0]
    return " ".join(first.split()) or "none: the message says what to write"


def symptom_table(rules: Sequence[Rule]) -> str:
    """A Markdown table from what a user sees to the rules that find its causes, one row a symptom."""
    from torchlint.rule import Symptom

    rows = [
        (symptom.value, ", ".join(f"{rule.code} {rule.name}" for rule in rules if symptom in rule.symptoms))
        for symptom in Symptom
    ]
    return _table(("What you see", "What to look for"), [row for row in rows if row[1]])


_TITLES = {
    "what it does",
    "why is this bad?",
    "example",
    "use instead",
    "when it is not a leak",
    "fix safety",
    "references",
}


def _title(lines: Sequence[str], number: int) -> str:
    """The line as a title, in lower case and without the marks that Markdown puts around one."""
    line = lines[number]
    return "" if line.startswith((" ", "\t")) else line.strip("#*: \t").lower()


def _is_underline(line: str) -> bool:
    """True for a row of dashes or equals signs under a title."""
    return bool(line) and not line.strip("-=")


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    """A Markdown table of two columns, every line with its end."""
    lines = [head, ("---", "---"), *rows]
    return "".join(f"| {left} | {right} |\n" for left, right in lines)
