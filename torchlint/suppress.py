"""``# noqa``, exactly as flake8 7 reads it, so that the command line and the plugin say the same."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Suppressions"]

# Both expressions are flake8's own (flake8/defaults.py), quirks included: a code in lower case is read and
# then matches no finding, a space before the colon makes a blanket, none before the word makes nothing.
_INLINE = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_WHOLE_FILE = re.compile(r"\s*# flake8[:=]\s*noqa", re.IGNORECASE)
_BETWEEN_CODES = re.compile(r"[,\s]")

_EVERY_CODE = ("",)
"""What a blanket comment covers: every code begins with nothing."""


@dataclass(frozen=True)
class Suppressions:
    """Which findings of one file its comments silence.

    Attributes:
        whole_file: True when a line begins with ``# flake8: noqa``. As in flake8, codes behind it change
        nothing. codes: for each line (from 1) under a comment, the beginnings of the codes that it silences.
    """

    whole_file: bool = False
    codes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Suppressions:
        """Read the comments of a file's text; never raises, also when the text is no Python."""
        if "noqa" not in text.lower():
            return cls()
        lines = _lines(text)
        if any(_WHOLE_FILE.match(line) for line in lines):
            return cls(whole_file=True)
        return cls(codes=dict(_codes_of_lines(lines)))

    def covers(self, line: int, code: str) -> bool:
        """Whether a finding with this code on this line (from 1) is silenced."""
        return self.whole_file or code.startswith(self.codes.get(line, ()))


def _lines(text: str) -> list[str]:
    """The lines as flake8 reads them: with universal newlines, each with its end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _codes_of_lines(lines: list[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """For each line under a comment its number and the beginnings of codes."""
    searched = dict(enumerate(lines, 1))
    searched.update(_joined_lines(lines))
    for number, line in searched.items():
        match = _INLINE.search(line)
        if match is not None:
            yield number, _codes(match["codes"])


def _codes(words: str | None) -> tuple[str, ...]:
    """The codes of one comment, or the beginning of every code when it has none."""
    if words is None:
        return _EVERY_CODE
    return tuple(code for code in _BETWEEN_CODES.split(words) if code)


def _joined_lines(lines: list[str]) -> dict[int, str]:
    """For each line the text in which flake8 looks for its comment.

    Lines that a string or a backslash joins are searched together, and the first comment among them counts;
    lines that only brackets join are searched one by one. Where the tokenizer fails, every line is searched
    alone.
    """
    joined: dict[int, str] = {}
    rest = iter(lines)
    first, last = len(lines) + 2, -1
    try:
        for token in tokenize.generate_tokens(lambda: next(rest, "")):
            if token.type in (tokenize.ENDMARKER, tokenize.DEDENT):
                continue
            first, last = min(first, token.start[0]), max(last, token.end[0])
            if token.type in (tokenize.NL, tokenize.NEWLINE):
                text = "".join(lines[first - 1 : last])
                joined.update(dict.fromkeys(range(first, last + 1), text))
                first, last = len(lines) + 2, -1
    except (tokenize.TokenError, SyntaxError):
        return {}
    return joined
