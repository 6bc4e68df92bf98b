"""The trees of the texts that were parsed last: what one check reads of another file is soon asked for again."""

from __future__ import annotations

import ast

from torchlint.syntax.depth import parse_quietly, parse_shallow

__all__ = ["Trees"]

KEPT = 250_000
"""Trees of so many characters in all are kept: a third of what is parsed need not be. A character takes 35 bytes."""


class Trees:
    """Parses texts, and keeps the latest trees; nobody changes them."""

    def __init__(self) -> None:
        """Nothing is parsed yet."""
        self._kept: dict[str, ast.Module] = {}
        self._shallow: set[str] = set()
        self._length = 0

    def of(self, text: str) -> ast.Module:
        """The tree of a text.

        Raises:
            Unreadable, SyntaxError: see :func:`torchlint.syntax.depth.parse_shallow`.
        """
        known = self._kept.pop(text, None)
        tree = self._parsed(text) if known is None else known
        self._length += len(text) if known is None else 0
        self._kept[text] = tree  # the latest stands last
        while self._length > KEPT:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._length -= len(oldest)
        return tree

    def _parsed(self, text: str) -> ast.Module:
        """A fifth of the time goes into looking how deep a text is nested, which need not be done twice."""
        if text in self._shallow:
            return parse_quietly(text)
        tree = parse_shallow(text)
        self._shallow.add(text)
        return tree
