"""Mutations of the programs in the rules' folders: what is near a leak, where a mistake in a rule would show first.

As in ``generated_programs``, everything is drawn from a ``random.Random``.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from random import Random
from textwrap import dedent, indent

from rule_programs import programs

__all__ = ["spliced_program"]

_WRAPPERS = (
    "def wrapped(model, loader, optimizer):\n{}\n",
    "class Wrapped(nn.Module):\n    def run(self, model, loader):\n{}\n",
    "for epoch in range(3):\n{}\n",
    "while True:\n{}\n",
    "with torch.no_grad():\n{}\n",
    "try:\n{}\nexcept RuntimeError as error:\n    print(error)\n",
    "if model.training:\n{}\nelse:\n    pass\n",
    "async def wrapped(queue, /, *rest):\n{}\n    await queue.put(rest)\n",
    "@torch.no_grad()\ndef wrapped(*args, **kwargs):\n{}\n",
    "match model:\n    case None:\n{}\n",
)


@cache
def _fixtures() -> tuple[str, ...]:
    paths: list[Path] = [path for prefix in ("leak", "clean", "fixed") for path in programs(prefix)]
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def spliced_program(random: Random) -> str:
    """A program of a rule's folder, changed one to four times; ``ast`` parses it."""
    text = _drawn(random)
    for _ in range(1 + random.randrange(4)):
        change = (_with_statement_of_another, _without_a_statement, _with_a_statement_twice, _renamed, _wrapped)
        changed = change[random.randrange(len(change))](text, random)
        if _parses(changed):
            text = changed
    return text


def _drawn(random: Random) -> str:
    return _fixtures()[random.randrange(len(_fixtures()))]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _extents(text: str) -> list[tuple[int, int, int]]:
    """First line, line behind the last, and column of each statement that has lines of its own."""
    lines = text.splitlines()
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.end_lineno is not None:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
            if not lines[first - 1][: node.col_offset].strip():
                found.append((first - 1, node.end_lineno, node.col_offset))
    return found


def _extent(text: str, random: Random) -> tuple[int, int, int]:
    extents = _extents(text)
    return extents[random.randrange(len(extents))]


def _with_statement_of_another(text: str, random: Random) -> str:
    other = _drawn(random)
    first, last, _ = _extent(other, random)
    statement = dedent("\n".join(other.splitlines()[first:last]))
    before, _, column = _extent(text, random)
    lines = text.splitlines()
    return "\n".join([*lines[:before], indent(statement, " " * column), *lines[before:], ""])


def _without_a_statement(text: str, random: Random) -> str:
    first, last, column = _extent(text, random)
    lines = text.splitlines()
    return "\n".join([*lines[:first], " " * column + "pass", *lines[last:], ""])


def _with_a_statement_twice(text: str, random: Random) -> str:
    first, last, _ = _extent(text, random)
    lines = text.splitlines()
    return "\n".join([*lines[:last], *lines[first:], ""])


def _renamed(text: str, random: Random) -> str:
    """One name in place of another, everywhere or once."""
    names = sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
    if not names:
        return text
    old, new = names[random.randrange(len(names))], names[random.randrange(len(names))]
    return re.sub(rf"\b{old}\b", new, text, count=random.randrange(2))


def _wrapped(text: str, random: Random) -> str:
    first, last, column = _extent(text, random)
    lines = text.splitlines()
    wrapper = _WRAPPERS[random.randrange(len(_WRAPPERS))]
    inner = dedent("\n".join(lines[first:last]))
    around = wrapper.partition("{}")[0].splitlines()[-1]
    depth = len(around) - len(around.lstrip()) + 4
    whole = wrapper.format(indent(inner, " " * depth))
    return "\n".join([*lines[:first], indent(whole, " " * column), *lines[last:], ""])
