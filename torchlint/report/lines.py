"""A text by lines as Python's tokenizer counts them, to show them and to turn offsets into positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from unicodedata import combining, east_asian_width

__all__ = ["Lines", "printable", "width"]

_LINE_END = re.compile(r"\r\n|\r|\n")


class Lines:
    """The lines of one text. A form feed ends none, nor do the separators that ``str.splitlines`` knows."""

    def __init__(self, text: str) -> None:
        """Take the decoded text of a file, line ends as they stand in it."""
        self._lines = _LINE_END.split(text)
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def line(self, number: int) -> str:
        """The line with this number (from 1) without its end, "" when there is none."""
        return self._lines[number - 1] if 1 <= number <= len(self._lines) else ""

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of the character at ``offset`` (from 0); columns count characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def printable(text: str) -> str:
    """``text`` with tabs and what a terminal would obey made harmless, as many characters as before."""
    return "".join(char if char.isprintable() else " " if char in "\t\f" else "\ufffd" for char in text)


def width(text: str) -> int:
    """How many cells of a terminal ``text`` takes."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
