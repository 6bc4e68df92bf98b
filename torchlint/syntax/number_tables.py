"""Tables of numbers in a program: of a thousand numbers in a row the first ones say all.

With a node for each number of a file of two megabytes Python's own tree alone takes 140 MB, and with a value for each
the analysis a gigabyte.
"""

from __future__ import annotations

import re

__all__ = ["TABLE", "without_tables"]

TABLE = 32
"""More numbers than these in one literal are a table."""

_SHORT = 200_000
"""Texts of fewer characters are not searched."""

_LINE = re.compile(r"[ \t]*[-+]?[\d.][\w.+-]*,[ \t]*\r?")
"""A line with nothing on it but a number and a comma."""


def without_tables(text: str) -> str:
    """A long text in which the rest of a table that has a number on each line is empty lines; others as they are.

    What is left parses to the same tree but for those numbers, and everything stands in the same line and column.
    """
    if len(text) < _SHORT:
        return text
    lines = text.split("\n")
    numbers = 0
    for index, line in enumerate(lines):
        numbers = numbers + 1 if _LINE.fullmatch(line) else 0
        if numbers > TABLE + 1:
            lines[index] = ""
    return "\n".join(lines)
