"""What a file may ask of its project: what its imports stand for, and who calls its functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torchlint.facts.summaries.summary import Summary
from torchlint.guarding import Guarding


@dataclass(frozen=True)
class Found:
    """A definition in another file.

    Attributes:
        path: the file, absolute.
        summary: what its top-level name is.
        rest: what of the dotted name is left behind that name: a method, an attribute.
        imports: what that file itself imports.
    """

    path: str
    summary: Summary
    rest: tuple[str, ...]
    imports: Imports


class Imports(Protocol):
    """What the names that one file imports stand for in its project."""

    def absolute(self, name: str) -> str:
        """A dotted name without leading dots, as far as it can be told."""

    def find(self, name: str) -> Found | None:
        """The definition behind an imported dotted name; None for what lies outside of the project."""

    def guarding(self, name: str) -> Guarding:
        """How the other files of the run call a function or a method of this one."""


class NoImports:
    """A file that stands alone."""

    def absolute(self, name: str) -> str:
        """The name as it is."""
        return name

    def find(self, name: str) -> Found | None:
        """Nothing is known."""
        return None

    def guarding(self, name: str) -> Guarding:
        """Nobody else is seen."""
        return Guarding.UNSEEN
