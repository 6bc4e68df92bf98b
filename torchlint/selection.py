"""Which codes are on: prefixes from configuration and command line, resolved as ruff resolves them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.diagnostic import Level

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic
    from torchlint.rule import Rule

__all__ = ["PREFIX", "Choice", "Selection", "resolve"]

PREFIX = "TLK"
"""What every code begins with; alone it stands for all rules."""


@dataclass(frozen=True)
class Choice:
    """What one place (a pyproject.toml, a command line) says of codes; they are prefixes: "TLK1", "TLK101".

    Attributes:
        select: the codes that are on; None where the place says nothing of it.
        extend_select: codes that are on as well.
        ignore: codes that are off.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """What is reported in one file.

    Attributes:
        enabled: the codes that are on, whole.
        named: those of them that a user named whole, which shows their notes too.
        join: True when files that import each other are read as one, too.
        preview: True when rules in preview run.
        notes: True when the notes of every enabled rule are shown.
    """

    enabled: frozenset[str]
    named: frozenset[str] = frozenset()
    join: bool = True
    preview: bool = False
    notes: bool = False

    def rules(self, every: Sequence[Rule]) -> tuple[Rule, ...]:
        """Those of ``every`` rule that are to run."""
        return tuple(rule for rule in every if rule.code in self.enabled and (self.preview or not rule.preview))

    def shows(self, diagnostic: Diagnostic) -> bool:
        """True when the finding is to be seen: errors and warnings always, a note when it was asked for."""
        return diagnostic.level is not Level.NOTE or self.notes or diagnostic.code in self.named


def resolve(choices: Iterable[Choice], known: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Apply ``choices`` one after the other to the ``known`` codes, all of which are on at first.

    A choice with ``select`` forgets what came before it. Within one choice the longer prefix wins, and of two
    equally long ones ``ignore`` does.

    Returns:
        The codes that are on, and those of them that are named whole.
    """
    everything = tuple(known)
    enabled, named = frozenset(everything), frozenset[str]()
    for choice in choices:
        if choice.select is not None:
            enabled, named = frozenset(), frozenset()
        chosen = (*(choice.select or ()), *choice.extend_select)
        verdicts = {code: _verdict(code, chosen, choice.ignore) for code in everything}
        on = {code for code, verdict in verdicts.items() if verdict is True}
        off = {code for code, verdict in verdicts.items() if verdict is False}
        enabled, named = (enabled | on) - off, (named | on.intersection(chosen)) - off
    return enabled, named


def _verdict(code: str, chosen: Sequence[str], ignored: Sequence[str]) -> bool | None:
    """Whether this choice turns ``code`` on, off, or says nothing of it."""
    on = _longest(code, chosen)
    off = _longest(code, ignored)
    return None if on == off == 0 else on > off


def _longest(code: str, prefixes: Sequence[str]) -> int:
    """The length of the longest of ``prefixes`` that fits, 0 when none does."""
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)
