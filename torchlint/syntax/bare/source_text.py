"""What a tree of the standard library does not say, read from the text: how strings and lines are put together."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cached_property

from torchlint.source import lines_of

_LITERAL = re.compile(
    r"""(?i:[rbuft]{0,2})(?:
      '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
    | \"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"
    | '[^'\\\n]*(?:\\.[^'\\\n]*)*'
    | "[^"\\\n]*(?:\\.[^"\\\n]*)*"
    )""",
    re.DOTALL | re.VERBOSE,
)
"""Runs of plain characters are taken in one step: of a long text a character at a time takes longer than the rest."""


class SourceText:
    """A text by its lines, as ``ast`` counts them: from 1, columns in bytes."""

    def __init__(self, text: str) -> None:
        """Nothing is split yet."""
        self._text = text

    @cached_property
    def _lines(self) -> Sequence[str | bytes]:
        lines = lines_of(self._text)
        return lines if self._text.isascii() else [line.encode() for line in lines]

    def _line(self, number: int) -> str:
        line = self._lines[number - 1] if number <= len(self._lines) else ""
        return line if isinstance(line, str) else line.decode("latin-1")

    def begins_line(self, node: ast.stmt) -> bool:
        """Whether nothing but white space stands before a statement on its line."""
        before = self._line(node.lineno)[: node.col_offset]
        return not before or before.isspace()

    def is_elif(self, node: ast.If) -> bool:
        """Whether a test is written ``elif``."""
        return self._line(node.lineno).startswith("elif", node.col_offset)

    def is_one_literal(self, node: ast.expr) -> bool:
        """Whether a string is written in one piece, and not as several that follow each other."""
        written = self.of(node)
        match = _LITERAL.match(written)
        return match is None or match.end() == len(written)

    def is_in_brackets(self, node: ast.Tuple) -> bool:
        """Whether a tuple is written ``(a, b)`` and not ``a, b``; ``(a), (b)`` is not."""
        written = self.of(node)
        if not written.startswith("(") or not written.endswith(")"):
            return False
        depth = 0
        for character in written[:-1]:
            depth += (character == "(") - (character == ")")
            if depth == 0:
                return False
        return True

    def code(self, node: ast.expr) -> str:
        """How an expression is written; AttributeError where brackets may stand around it, which belong to it."""
        before = self._line(node.lineno)[: node.col_offset].rstrip()
        after = self._line(node.end_lineno or node.lineno)[node.end_col_offset :].lstrip()
        if before.endswith("(") and after.startswith(")"):
            raise AttributeError("brackets")
        written = self.of(node)
        return written if self._text.isascii() else written.encode("latin-1").decode()

    def of(self, node: ast.expr) -> str:
        """How an expression is written, by its bytes, without brackets around it."""
        if node.end_lineno == node.lineno:
            return self._line(node.lineno)[node.col_offset : node.end_col_offset]
        last = node.end_lineno or node.lineno
        middle = [self._line(number) for number in range(node.lineno + 1, last)]
        return "".join([self._line(node.lineno)[node.col_offset :], *middle, self._line(last)[: node.end_col_offset]])
