"""The texts of modules: each is read once, and all but the latest are kept packed, a fifth as large."""

from __future__ import annotations

import zlib
from collections.abc import Callable

__all__ = ["Texts"]

KEPT = 2_000_000
"""Texts of so many characters in all are kept as they are: what one check reads of another file is soon asked for
again."""

FASTEST = 1
"""The level of compression at which packing takes a tenth of the time of parsing; higher ones save little."""


class Texts:
    """Reads texts by path; a project of thousands of files would hold them all in memory, four bytes a character."""

    def __init__(self, read: Callable[[str], str]) -> None:
        """Nothing is read yet; ``read`` gives the text of a file by its path."""
        self._read = read
        self._latest: dict[str, str] = {}
        self._packed: dict[str, bytes] = {}
        self._length = 0

    def of(self, path: str) -> str:
        """The text of a file, as it was when it was first asked for."""
        text = self._latest.pop(path, None)
        if text is None:
            text = self._unpacked(path)
            self._length += len(text)
        self._latest[path] = text  # the latest stands last
        while self._length > KEPT and len(self._latest) > 1:
            self._put_away(next(iter(self._latest)))
        return text

    def _unpacked(self, path: str) -> str:
        packed = self._packed.get(path)
        return self._read(path) if packed is None else zlib.decompress(packed).decode("utf-8", "surrogatepass")

    def _put_away(self, path: str) -> None:
        text = self._latest.pop(path)
        self._length -= len(text)
        if path not in self._packed:
            self._packed[path] = zlib.compress(text.encode("utf-8", "surrogatepass"), FASTEST)
