"""Programs of the rules' folders that are divided over two files: what they do stays the same.

Classes, or functions, lie in a file of their own, or every other method of a class lies in a base of another file.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["SPLITS", "split_program"]

MAIN = "main"
"""The function with which a program begins."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)

SPECIAL = frozenset(["Enum", "Exception", "Function", "NamedTuple", "Protocol", "TypedDict"])
"""Bases that decide on more than which methods an object has."""


@dataclass(frozen=True)
class _Item:
    """A statement at the top level of a program.

    Attributes:
        node: the statement.
        text: its lines, with what stands above it behind the last one.
    """

    node: ast.stmt
    text: str

    @cached_property
    def defines(self) -> frozenset[str]:
        """The names that it binds."""
        if isinstance(self.node, _DEFINITIONS):
            return frozenset([self.node.name])
        if isinstance(self.node, _IMPORTS):
            return frozenset((one.asname or one.name).partition(".")[0] for one in self.node.names)
        named = (one for one in ast.walk(self.node) if isinstance(one, ast.Name))
        return frozenset(one.id for one in named if isinstance(one.ctx, ast.Store))

    @cached_property
    def uses(self) -> frozenset[str]:
        """The names that it reads, be it a variable of its own."""
        named = (one for one in ast.walk(self.node) if isinstance(one, ast.Name))
        return frozenset(one.id for one in named if isinstance(one.ctx, ast.Load))


def split_program(text: str, split: str) -> dict[str, str] | None:
    """A program as the texts of two files by their names; None for one that cannot be divided so."""
    return SPLITS[split](_items(text), text)


def _items(text: str) -> list[_Item]:
    lines, items, last = text.splitlines(keepends=True), list[_Item](), 0
    for node in ast.parse(text).body:
        assert node.end_lineno is not None
        items.append(_Item(node, "".join(lines[last : node.end_lineno])))
        last = node.end_lineno
    return items


def _by_classes(items: Sequence[_Item], text: str) -> dict[str, str] | None:
    return _apart(items, text, lambda node: isinstance(node, ast.ClassDef))


def _by_functions(items: Sequence[_Item], text: str) -> dict[str, str] | None:
    return _apart(items, text, lambda node: isinstance(node, _FUNCTIONS) and node.name != MAIN)


def _apart(items: Sequence[_Item], text: str, goes: Callable[[ast.stmt], bool]) -> dict[str, str] | None:
    """The program with some statements, and what they need, in a second file."""
    away = _with_needed([one for one in items if goes(one.node)], items)
    left = [one for one in items if one not in away and not isinstance(one.node, _IMPORTS)]
    needed = sorted(set().union(*(one.uses for one in left)) & set().union(*(one.defines for one in away)))
    if not away or not needed or not _is_free(away, left, text):
        return None
    head = _imports(items)
    main = [*head, f"\nfrom parts import {', '.join(needed)}\n", *(one.text for one in left)]
    return {"parts.py": "".join([*head, *(one.text for one in away)]), "program.py": "".join(main)}


def _imports(items: Iterable[_Item]) -> list[str]:
    return [one.text for one in items if isinstance(one.node, _IMPORTS)]


def _with_needed(chosen: Sequence[_Item], items: Sequence[_Item]) -> list[_Item]:
    """Some statements and those that define what they use, in their order."""
    found, pending = set[int](), list(chosen)
    while pending:
        one = pending.pop()
        if id(one) not in found:
            found.add(id(one))
            pending += [other for other in items if other.defines & one.uses and not isinstance(other.node, _IMPORTS)]
    return [one for one in items if id(one) in found]


def _is_free(away: Sequence[_Item], left: Sequence[_Item], text: str) -> bool:
    """Whether what goes away only defines, needs nothing that stays, and no function sets a global."""
    plain = all(isinstance(one.node, (*_DEFINITIONS, ast.Assign, ast.AnnAssign)) for one in away)
    bound = [name for one in (*away, *left) for name in one.defines]
    return plain and "global " not in text and len(bound) == len(set(bound))


def _by_bases(items: Sequence[_Item], text: str) -> dict[str, str] | None:
    """Every other method of each class, but for its initializer, in a base of another file."""
    divided = {id(one): halves for one in items if (halves := _halves(one)) is not None}
    moved = [_Item(ast.parse(halves[0]).body[0], halves[0]) for halves in divided.values()]
    needed = {name for one in moved for name in one.uses}
    wanted = [one for one in items if one.defines & needed and not isinstance(one.node, _IMPORTS)]
    away = _with_needed(wanted, items)
    left = [one for one in items if one not in away and not isinstance(one.node, _IMPORTS)]
    if not divided or any(id(one) in divided for one in away) or not _is_free(away, left, text):
        return None
    names = {name for one in (*moved, *away) for name in one.defines}
    rest = [divided[id(one)][1] if id(one) in divided else one.text for one in left]
    head = _imports(items)
    base = "".join([*head, *(one.text for one in away), *(one.text for one in moved)])
    return {
        "parts.py": base,
        "program.py": "".join([*head, f"\nfrom parts import {', '.join(sorted(names))}\n", *rest]),
    }


def _halves(item: _Item) -> tuple[str, str] | None:
    """A base with some of the methods of a class, and the class without them; None for one that stays as it is."""
    cls = item.node
    if not isinstance(cls, ast.ClassDef) or cls.decorator_list or cls.keywords or "__class__" in item.text:
        return None
    bases = [ast.unparse(base) for base in cls.bases]
    methods = [one for one in cls.body if isinstance(one, _FUNCTIONS)]
    names = list(dict.fromkeys(one.name for one in methods if one.name != "__init__"))[::2]
    moved = [one for one in methods if one.name in names]
    beside = {one.id for line in cls.body if line not in methods for one in ast.walk(line) if isinstance(one, ast.Name)}
    uses_itself = any(isinstance(one, ast.Name) and one.id == cls.name for one in ast.walk(cls))
    if not moved or len(moved) == len(methods) or beside & set(names) or uses_itself or "self.__" in item.text:
        return None
    if any(base.rpartition(".")[2] in SPECIAL for base in bases):
        return None
    lines = item.text.splitlines(keepends=True)
    above = (cls.end_lineno or 0) - len(lines)
    taken = [index - above - 1 for one in moved for index in range(_first_line(one), (one.end_lineno or 0) + 1)]
    base = [f"\n\nclass {cls.name}Base({', '.join(bases)}):\n", *(lines[index] for index in taken)]
    rest = [line for index, line in enumerate(lines) if index not in taken]
    header = cls.lineno - above - 1
    if not lines[header].startswith(f"class {cls.name}") or not lines[header].rstrip().endswith(":"):
        return None
    rest[header] = f"class {cls.name}({cls.name}Base):\n"
    return "".join(base), "".join(rest)


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


SPLITS: dict[str, Callable[[Sequence[_Item], str], dict[str, str] | None]] = {
    "bases": _by_bases,
    "classes": _by_classes,
    "functions": _by_functions,
}
"""The ways to divide a program."""
