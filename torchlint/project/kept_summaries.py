"""Summaries of earlier runs: what a definition is to other files hangs on its excerpt alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from torchlint.project.sights import text_digest
from torchlint.project.summarised import summarised

if TYPE_CHECKING:
    from torchlint.facts.summaries.summary import Summary

__all__ = ["KeptSummaries"]

_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError)


class KeptSummaries:
    """Makes summaries of what was not kept, and notes these."""

    def __init__(self, kept: Callable[[], Mapping[str, bytes]] = dict) -> None:
        """Ask for what is ``kept``, the lines of :mod:`torchlint.facts.summaries.encoded` by key, when first needed."""
        self._load = kept
        self._kept: Mapping[str, bytes] | None = None
        self._made: dict[str, str] = {}

    def of(self, excerpt: str, name: str) -> Summary | None:
        """What ``name`` is to other files by an excerpt that defines it; None for one that cannot be parsed."""
        # Who asks has read an import of a file that uses torch: libcst and the facts are there, or will be.
        from torchlint.facts.summaries.encoded import decode, encode

        if self._kept is None:
            self._kept = self._load()
        key = text_digest(f"{name}\0{excerpt}")
        line = self._kept.get(key)
        if line is not None:
            try:
                return decode(line)
            except _DAMAGE:
                pass  # it is made anew, and replaces the other one
        summary = summarised(excerpt, name)
        self._made[key] = encode(summary)
        return summary

    def taken(self) -> tuple[tuple[str, str], ...]:
        """What was made since this was last asked, by key."""
        made, self._made = tuple(self._made.items()), {}
        return made
