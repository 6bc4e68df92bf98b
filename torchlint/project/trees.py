"""The trees of the texts that were parsed last: what one check reads of another file is soon asked for again."""

from __future__ import annotations

import ast

from torchlint.project.sights import text_digest
from torchlint.syntax.depth import parse_quietly, parse_shallow

__all__ = ["Trees"]

KEPT = 250_000
"""Trees of so many characters in all are kept: a third of what is parsed need not be. A character takes 35 bytes."""

LARGEST = 1_000_000
"""A single one may be as large: a program of 20,000 lines, of which its own check asks four times. A table of numbers
that is larger is not asked for again, and what is kept of it the garbage collector walks over.
"""


class Trees:
    """Parses texts, and keeps the latest trees; nobody changes them."""

    def __init__(self) -> None:
        """Nothing is parsed yet."""
        self._kept: dict[str, ast.Module] = {}
        self._shallow: set[str] = set()  # by their digests, texts are large

    def of(self, text: str) -> ast.Module:
        """The tree of a text.

        Raises:
            Unreadable, SyntaxError: see :func:`torchlint.syntax.depth.parse_shallow`.
        """
        tree = self._kept.pop(text, None)
        if tree is None:
            self._make_room(len(text))
            tree = self._parsed(text)
        if len(text) <= LARGEST:
            self._kept[text] = tree  # the latest stands last
        return tree

    def _make_room(self, length: int) -> None:
        """Give up the oldest trees before another one is made, which may be larger than all of them."""
        while self._kept and sum(map(len, self._kept)) + length > KEPT:
            del self._kept[next(iter(self._kept))]

    def _parsed(self, text: str) -> ast.Module:
        """A fifth of the time goes into looking how deep a text is nested, which need not be done twice."""
        digest = text_digest(text)
        if digest in self._shallow:
            return parse_quietly(text)
        tree = parse_shallow(text)
        self._shallow.add(digest)
        return tree
