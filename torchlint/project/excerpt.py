"""The part of a file that a definition needs: itself, what it refers to at the file's top level, and the imports.

Summarising a definition costs as much as the excerpt is long, and a utility module of a thousand lines of which a meter
is imported costs little. It also makes a summary depend on what the definition says and not on who else uses it there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Outline", "imported_names"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line as ``ast`` counts them: a form feed ends none."""


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<origin>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\r\n(]*)"
    r"|import[ \t]+(?P<modules>[^\r\n]*))",
    re.MULTILINE,
)
_NAME = re.compile(r"([\w.]+)(?:[ \t]+as[ \t]+\w+)?")
"""One imported name; what it is bound to is left out."""


def imported_names(text: str) -> Iterator[str]:
    """The dotted names that a text imports, relative ones with their dots, by its looks: nothing is parsed.

    A line that only looks like an import, in a docstring, is taken for one.
    """
    for match in _IMPORT.finditer(text):
        origin = match["origin"]
        if origin is None:
            yield from (name.group(1) for name in _NAME.finditer(match["modules"].partition("#")[0]))
            continue
        dot = "" if origin.endswith(".") else "."
        for line in match["names"].strip("()").splitlines() or [""]:
            yield from (f"{origin}{dot}{name.group(1)}" for name in _NAME.finditer(line.partition("#")[0]))


@dataclass(frozen=True)
class Outline:
    """A file's top level.

    Attributes:
        text: the whole file.
        tree: its tree by ``ast``.
    """

    text: str
    tree: ast.Module

    def excerpt(self, name: str) -> str | None:
        """The source text of what defines ``name``; None when nothing at the top level does.

        Statements keep their order; what stands between them is left out.
        """
        if name not in self._definitions:
            return None
        wanted: set[ast.stmt] = set()
        pending, seen = [name], {name}
        while pending:
            for statement in self._definitions.get(pending.pop(), ()):
                if statement not in wanted:
                    wanted.add(statement)
                    new = _mentioned(statement) - seen
                    seen |= new
                    pending += sorted(new)
        wanted.update(self._imports)
        lines: dict[int, None] = {}
        for statement in self.tree.body:
            if statement in wanted:
                lines.update(dict.fromkeys(_lines_of(statement)))
        return "".join(self._text_lines[number - 1] for number in lines)

    def imported(self, name: str) -> str | None:
        """The dotted name, relative ones with their dots, under which the top level imports ``name``."""
        return self._imported.get(name)

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """The modules of which the top level imports everything, the last one first."""
        found = [
            "." * node.level + (node.module or "")
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]
        return tuple(reversed(found))

    @cached_property
    def _text_lines(self) -> list[str]:
        lines = _LINE.findall(self.text)
        if lines and not lines[-1].endswith(("\n", "\r")):
            lines[-1] += "\n"
        return lines

    @cached_property
    def _definitions(self) -> dict[str, list[ast.stmt]]:
        """For each name that is defined here and not imported, the statements at the top level that bind it."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in _bound(statement):
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def _imports(self) -> list[ast.stmt]:
        return [s for s in self.tree.body if any(isinstance(n, ast.Import | ast.ImportFrom) for n in _blocks(s))]

    @cached_property
    def _imported(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for node in (node for statement in self._imports for node in _blocks(statement)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found.setdefault(alias.asname or top, alias.name if alias.asname else top)
            elif isinstance(node, ast.ImportFrom):
                origin = "." * node.level + (node.module or "")
                dot = "" if not node.module else "."
                for alias in node.names:
                    found.setdefault(alias.asname or alias.name, f"{origin}{dot}{alias.name}")
        return found


def _blocks(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in its blocks, as far as they run when the module is imported."""
    yield statement
    if isinstance(statement, ast.If | ast.Try | ast.With):
        inner: list[ast.stmt] = [
            *statement.body,
            *getattr(statement, "orelse", ()),
            *getattr(statement, "finalbody", ()),
        ]
        for handler in getattr(statement, "handlers", ()):
            inner += handler.body
        for one in inner:
            yield from _blocks(one)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level defines, imports left out."""
    for node in _blocks(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (name for target in node.targets for name in _names(target))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            yield from _names(node.target)


def _names(target: ast.expr) -> Iterable[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _mentioned(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _lines_of(statement: ast.stmt) -> range:
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (statement.end_lineno or statement.lineno) + 1)
