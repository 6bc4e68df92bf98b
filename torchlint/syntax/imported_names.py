"""What a text imports, by its looks: nothing is parsed, since nearly every file is asked."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["imported_names"]

_NAME = re.compile(r"([\w.]+)(?:[ \t]+as[ \t]+\w+)?")
"""One imported name; what it is bound to is left out."""


@lru_cache(maxsize=4)  # the gate asks, and then the project does
def imported_names(text: str) -> tuple[str, ...]:
    """The dotted names that a text imports, relative ones with their dots, in the order of the text.

    A line that only looks like an import, in a docstring, is taken for one. Lines are looked for by the word, which
    takes a third of the time of a pattern that is tried at the start of each line.
    """
    found: list[str] = []
    at = text.find("import")
    while at >= 0:
        start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        end = text.find("\n", at)
        line = text[start : end if end >= 0 else None]
        if "\r" in line:
            line = line.partition("\r")[0]
        end = start + len(line)
        words = line.split(None, 3)
        if words[0] == "import" and len(words) > 1:
            found += _names(line.partition("import")[2])
        elif words[0] == "from" and len(words) > 2 and words[2].partition("(")[0] == "import":
            names = line.split(None, 2)[2].removeprefix("import").lstrip()
            if names.startswith("("):
                opening = text.index("(", start)
                close = text.find(")", opening)
                names, end = (text[opening:close], max(end, close)) if close >= 0 else ("", end)
            found += _of_origin(words[1], names)
        at = text.find("import", end)
    return tuple(found)


def _names(line: str) -> list[str]:
    """The names of a list that stands on one line."""
    if "#" in line:
        line = line.partition("#")[0]
    bare = line.strip()
    return [bare] if bare.isidentifier() else _NAME.findall(line)


def _of_origin(origin: str, names: str) -> list[str]:
    """What ``from origin import names`` imports."""
    prefix = origin if origin.endswith(".") else origin + "."
    lines = names.strip(" \t(").splitlines() if "\n" in names or "\r" in names else [names]
    return [prefix + name for line in lines for name in _names(line)]
