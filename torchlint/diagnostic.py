"""What a user sees of a finding: plain data without a syntax tree, ready for any report and for other processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from functools import total_ordering


@total_ordering
class Level(Enum):
    """How much a finding costs. ERROR and WARNING are on by default and fail a run, a NOTE never does.

    ERROR: grows without bound in tensor memory. WARNING: grows without bound in host memory, or wastes a large
    bounded amount or peak. NOTE: costs time or a small bounded amount.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def __lt__(self, other: Level) -> bool:
        """True when ``self`` is graver than ``other``, so that sorting puts errors first."""
        order = list(Level)
        return order.index(self) < order.index(other)


class Memory(Enum):
    """Which memory a finding is about; the summary line counts by it."""

    DEVICE_GROWS = "keep GPU memory every step"
    HOST_GROWS = "keep host memory every step"
    PEAK = "raise the peak of GPU memory"
    TIME = "cost time"


@dataclass(frozen=True, order=True)
class Replacement:
    """A piece of text to put in place of another.

    Attributes:
        start: offset of the first replaced character in the decoded text, from 0 (a BOM is not part of the text).
        end: offset after the last replaced character; equal to ``start`` for an insertion.
        text: what stands there afterwards.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Repair:
    """The repair of one finding, as replacements that belong together: all are applied or none.

    Attributes:
        title: what the repair does, in the imperative: "Detach `loss` before adding it".
        safe: True when results, formatting and comments are kept; ``--fix`` applies only those.
        replacements: sorted, not overlapping.
    """

    title: str
    safe: bool
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True)
class Evidence:
    """One step of the chain that led to a finding.

    Attributes:
        line: from 1.
        column: from 1, in characters.
        text: "made here with gradients on", "backward runs here", "kept here".
        path: the file where it stands, seen from the folder of the finding's file; None for that file itself.
    """

    line: int
    column: int
    text: str
    path: str | None = None

    def file(self, finding: str) -> str:
        """The file where it stands, for a ``finding`` in the file of that name."""
        return finding if self.path is None else os.path.normpath(os.path.join(os.path.dirname(finding), self.path))


@dataclass(frozen=True)
class Diagnostic:
    """One finding in one file.

    Attributes:
        path: the file's name as the user gave it or as the directory walk found it.
        line, column: where the finding stands, both from 1; ``column`` in characters.
        end_line, end_column: the end of the statement's first logical part, both from 1, exclusive column.
        code, name: "TLK101" and "graph-accumulated".
        level: the level of this finding, at most as grave as its rule's.
        memory: which memory is kept or wasted.
        message: one line that names the holder, the memory and the way out.
        evidence: the chain that led here, in the order in which a reader should look at it.
        repair: the automatic repair, if there is one.
        explained_by: the code of another finding with the same cause, or None; such a finding is not counted twice.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    name: str
    level: Level
    memory: Memory
    message: str
    evidence: tuple[Evidence, ...] = ()
    repair: Repair | None = None
    explained_by: str | None = None

    def sort_key(self) -> tuple[str, int, int, str]:
        """The order of every report: path, line, column, code."""
        return (self.path, self.line, self.column, self.code)
