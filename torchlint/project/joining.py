"""Several files as one text: what they import of each other is then defined in it, and nothing has to be told.

Each file keeps its text but for three things. A name at the top level that means one thing in one file and another in
another one gets the number of its file behind a dot (``main·2``, which Python takes for a name and nobody writes); an
import of one of the other files becomes ``pass``, since what it brings is there already; and so does what a file does
where it is the program, if another one imports it.
"""

from __future__ import annotations

import ast
import builtins
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from torchlint.diagnostic import Diagnostic
from torchlint.project.bindings import dotted_name
from torchlint.project.import_order import Imported, in_order
from torchlint.project.top_names import bound_in, bound_names
from torchlint.syntax.positions import line_starts

__all__ = ["File", "Joined", "Locate", "join", "without_numbers"]

DOT = "·"

Locate = Callable[[str, str], "tuple[str, tuple[str, ...]] | None"]
"""To the path of a file and a dotted name that it imports, the path of the file that this leads to, and what is left of
the name; None where it leads to none of the project."""

HOPS = 5
"""Over so many re-exports a name is followed."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class File:
    """One of the files.

    Attributes:
        path: absolute.
        text: its text, with line ends of one kind.
        tree: that by ``ast``.
    """

    path: str
    text: str
    tree: ast.Module


@dataclass(frozen=True)
class _Piece:
    """A run of the joined text: as it stands in a file (``is_own``), or in the place of what stands there."""

    text: str
    file: int
    start: int
    end: int
    is_own: bool


class Joined:
    """The text of several files, and where in them its parts stand.

    Attributes:
        files: the files.
        text: all of them, those that others import before these.
        found: what was found in it by file, and what was looked at for that, by what was asked for.
    """

    found: dict[tuple[str | bool, ...], tuple[Mapping[str, Sequence[Diagnostic]], Collection[tuple[str, str]]]]

    def __init__(self, files: Sequence[File], pieces: Sequence[_Piece], imported: Set[str]) -> None:
        """Put the pieces, none of which is empty, behind each other; ``imported`` are files that others import."""
        self.files, self._pieces, self._imported = tuple(files), tuple(pieces), imported
        self._offsets = [0, *accumulate(len(piece.text) for piece in pieces)]
        self.text = "".join(piece.text for piece in pieces)
        self._begins = line_starts(self.text)
        self.found = {}

    @cached_property
    def _file_begins(self) -> list[list[int]]:
        return [line_starts(file.text) for file in self.files]

    def place(self, line: int, column: int) -> tuple[int, int, int]:
        """Where a place of the text stands.

        Args:
            line, column: in the joined text, from 1, in characters.

        Returns:
            the number of the file, from 0, and the line and the column in that, from 1.
        """
        file, offset = self._original(self._begins[line - 1] + column - 1)
        begins = self._file_begins[file]
        number = bisect_right(begins, offset)
        return file, number, offset - begins[number - 1] + 1

    def span(self, start: int, end: int) -> tuple[int, int, int] | None:
        """A span of the joined text, by offsets, as one of a file; None where anything in it stands there otherwise."""
        first = max(bisect_right(self._offsets, start) - 1, 0)
        last = max(bisect_right(self._offsets, max(end - 1, start)) - 1, 0)
        if first != last or first >= len(self._pieces):
            return None
        piece = self._pieces[first]
        if not piece.is_own:
            return None
        shift = piece.start - self._offsets[first]
        return piece.file, start + shift, end + shift

    @cached_property
    def programs(self) -> frozenset[str]:
        """The files, by path, that are run: those that no other imports, or that do something where they are it."""
        return frozenset(file.path for file in self.files if file.path not in self._imported or _is_program(file))

    def _original(self, offset: int) -> tuple[int, int]:
        number = min(bisect_right(self._offsets, offset) - 1, len(self._pieces) - 1)
        piece = self._pieces[number]
        return piece.file, min(piece.start + offset - self._offsets[number], piece.end)


def without_numbers(text: str) -> str:
    """A text in which names stand as their files write them."""
    first, *others = text.split(DOT)
    return first + "".join(other.lstrip("0123456789") for other in others)


def join(files: Sequence[File], locate: Locate) -> Joined:
    """Join files.

    Args:
        files: in any order.
        locate: finds what they import.

    Returns:
        them as one text.
    """
    return _Joining(files, locate).joined()


IMPORTS = (ast.Import, ast.ImportFrom)


class _Joining:
    def __init__(self, files: Sequence[File], locate: Locate) -> None:
        self.files = files
        self.numbers = {file.path: number for number, file in enumerate(files)}
        self.locate = locate
        self.bound = [frozenset(bound_names(file.tree.body)) for file in files]
        self.imports = [[node for node in ast.walk(file.tree) if isinstance(node, IMPORTS)] for file in files]
        self.brought = [self._brought_to(number) for number in range(len(files))]
        self.imported = {there for brought in self.brought for there, _ in brought.values()}
        self.ambiguous = self._ambiguous()

    def joined(self) -> Joined:
        """All of them."""
        order = in_order([file.tree for file in self.files], self._imported_by)
        pieces = [piece for number in order for piece in self._pieces(number)]
        return Joined(self.files, pieces, {self.files[number].path for number in self.imported})

    # -- what names mean ----------------------------------------------------------------------------------------------

    def _brought_to(self, number: int) -> dict[str, Imported]:
        """The names that imports of the other files bind in one, with the file and what is left of the name."""
        file, found = self.files[number], dict[str, Imported]()
        for node in self.imports[number]:
            for alias, full in _imports(node):
                there = self._inside(file, full)
                if there is not None:
                    found[alias.asname or alias.name] = there
        return found

    def _inside(self, file: File, full: str) -> Imported | None:
        located = self.locate(file.path, full)
        if located is None or located[0] not in self.numbers:
            return None
        return self.numbers[located[0]], located[1]

    def _from_outside(self, file: File, node: ast.AST) -> list[tuple[ast.alias, str]]:
        """What an import names that none of the files defines, each with its full dotted name."""
        return [(alias, full) for alias, full in _imports(node) if self._inside(file, full) is None]

    def _ambiguous(self) -> frozenset[str]:
        """Names at the top level that do not mean the same in all files, or hide one of Python's own."""
        meanings: dict[str, set[str]] = defaultdict(set)
        for number, file in enumerate(self.files):
            for name in self.bound[number]:
                meanings[name].add(f"{DOT}{number}")
            for node in self.imports[number]:
                for alias, full in self._from_outside(file, node):
                    bound = _bound_by(alias)
                    meanings[bound].add(full if alias.asname or isinstance(node, ast.ImportFrom) else bound)
        hiding = frozenset(vars(builtins))
        return frozenset(name for name, told in meanings.items() if len(told) > 1 or name in hiding)

    def _own(self, number: int, name: str) -> str:
        """How a name that a file binds is written in the joined text."""
        return f"{name}{DOT}{number}" if name in self.ambiguous else name

    def _exported(self, number: int, name: str, hops: int = HOPS) -> str | None:
        """How the joined text writes what another file gets under a name; None for what is not seen."""
        if name in self.bound[number]:
            return self._own(number, name)
        there = self.brought[number].get(name)
        if there is not None and there[1] and hops:
            return self._exported(there[0], there[1][0], hops - 1) if len(there[1]) == 1 else None
        for _, (star, _) in self._stars(number) if hops else ():
            found = self._exported(star, name, hops - 1)
            if found is not None:
                return found
        return None

    def _stars(self, number: int) -> Iterator[tuple[ast.AST, Imported]]:
        """The imports of everything that another file has."""
        file = self.files[number]
        for node in file.tree.body:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                there = self._inside(file, _origin(node))
                if there is not None and not there[1]:
                    yield node, there

    def _imported_by(self, number: int) -> Iterator[tuple[ast.AST, Imported]]:
        """What a file imports of the other ones, whole or by names."""
        file = self.files[number]
        for node in self.imports[number]:
            for _, full in _imports(node):
                there = self._inside(file, full)
                if there is not None:
                    yield node, there
        yield from self._stars(number)

    # -- the text -----------------------------------------------------------------------------------------------------

    def _pieces(self, number: int) -> Iterator[_Piece]:
        """The text of a file, with its changes."""
        file, at = self.files[number], 0
        for start, end, text in sorted(set(self._changes(number))):
            if start < at:
                continue  # within what is changed already
            if start > at:
                yield _Piece(file.text[at:start], number, at, start, is_own=True)
            yield _Piece(text, number, start, end, is_own=False)
            at = end
        rest = file.text[at:]
        if rest:
            yield _Piece(rest, number, at, len(file.text), is_own=True)
        if not file.text.endswith("\n"):
            yield _Piece("\n", number, len(file.text), len(file.text), is_own=False)

    def _changes(self, number: int) -> Iterator[tuple[int, int, str]]:
        """What is put in the place of what: offsets in the file, and the text."""
        file = self.files[number]
        written = {name: self._own(number, name) for name in self.bound[number]}
        for _, (star, _) in self._stars(number):
            for name in self.bound[star]:
                written.setdefault(name, self._own(star, name))
        modules: dict[str, int] = {}
        for name, (there, rest) in self.brought[number].items():
            if not rest:
                modules[name] = there
            elif len(rest) == 1 and (told := self._exported(there, rest[0])) is not None:
                written[name] = told
        offsets = _Offsets(file.text)
        if number in self.imported:
            yield from ((*offsets.of(node), "pass") for node in file.tree.body if _is_for_itself(node))
        for node in self.imports[number]:
            yield from self._import(number, node, offsets)
            for alias, _ in self._from_outside(file, node):
                written.setdefault(_bound_by(alias), self._own(number, _bound_by(alias)))
        changed = {name: told for name, told in written.items() if name != told}

        def of_module(path: str, attribute: str) -> str | None:
            return self._exported(modules[path], attribute) if path in modules else None

        yield from _Renaming(file, offsets, changed, of_module).changes()

    def _import(
        self, number: int, node: ast.Import | ast.ImportFrom, offsets: _Offsets
    ) -> Iterator[tuple[int, int, str]]:
        """An import: gone if all that it brings is of the other files, under another name if that is ambiguous."""
        file = self.files[number]
        outside = self._from_outside(file, node)
        origin = _origin(node) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" else None
        if not outside and (origin is None or self._inside(file, origin) is not None):
            yield (*offsets.of(node), "pass")
        for alias, _ in outside:
            bound = _bound_by(alias)
            is_plain = alias.asname is not None or isinstance(node, ast.ImportFrom) or "." not in alias.name
            if bound in self.ambiguous and is_plain:
                yield (*offsets.of(alias), f"{alias.name} as {self._own(number, bound)}")


class _Renaming:
    """Finds where names of a file that are written otherwise in the joined text stand."""

    def __init__(
        self,
        file: File,
        offsets: _Offsets,
        changed: Mapping[str, str],
        of_module: Callable[[str, str], str | None],
    ) -> None:
        self.file, self.offsets, self.changed, self.of_module = file, offsets, changed, of_module

    def changes(self) -> Iterator[tuple[int, int, str]]:
        """Each with what stands there then."""
        yield from self._below(self.file.tree, frozenset(), frozenset(), is_top=True)

    def _below(
        self, node: ast.AST, hidden: frozenset[str], of_class: frozenset[str], *, is_top: bool
    ) -> Iterator[tuple[int, int, str]]:
        """``hidden``: what the functions around a node bind; ``of_class``: what the class around it does."""
        for child in ast.iter_child_nodes(node):
            below, in_class, at_top = hidden, of_class, is_top
            if isinstance(child, _FUNCTIONS):
                below, in_class, at_top = hidden | bound_in(child), frozenset(), False
            elif isinstance(child, ast.ClassDef):
                in_class = frozenset(bound_names(child.body))
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if is_top and child.name in self.changed:
                    start = self.offsets.named(child)
                    yield start, start + len(child.name), self.changed[child.name]
                at_top = False
            if isinstance(child, ast.Name) and child.id in self.changed and child.id not in hidden | of_class:
                yield (*self.offsets.of(child), self.changed[child.id])
            elif isinstance(child, ast.Global):
                yield from self._global(child)
            elif isinstance(child, ast.Attribute):
                told = self._of_module(child, hidden | of_class)
                if told is not None:
                    yield (*self.offsets.of(child), told)
                    continue
            yield from self._below(child, below, in_class, is_top=at_top)

    def _of_module(self, node: ast.Attribute, hidden: frozenset[str]) -> str | None:
        """How ``losses.dice`` is written, be the module one of a package, ``net.losses.dice``."""
        path = dotted_name(node.value)
        return None if path is None or path.partition(".")[0] in hidden else self.of_module(path, node.attr)

    def _global(self, node: ast.Global) -> Iterator[tuple[int, int, str]]:
        if not self.changed.keys().isdisjoint(node.names):
            yield (*self.offsets.of(node), f"global {', '.join(self.changed.get(name, name) for name in node.names)}")


class _Offsets:
    """Where nodes stand in a text, by offsets in characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begins = line_starts(text)
        self._is_ascii = text.isascii()

    def of(self, node: ast.stmt | ast.expr | ast.alias) -> tuple[int, int]:
        """From its first character to behind its last one."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def named(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
        """Where the name of a definition begins: behind ``def`` or ``class``, and ``async``."""
        at = self._at(node.lineno, node.col_offset)
        words = 2 if isinstance(node, ast.AsyncFunctionDef) else 1
        for _ in range(words):
            while not self._text[at].isspace():
                at += 1
            while self._text[at].isspace() or self._text[at] == "\\":
                at += 1
        return at

    def _at(self, line: int, column: int) -> int:
        begin = self._begins[line - 1]
        if self._is_ascii:
            return begin + column
        end = self._begins[line] if line < len(self._begins) else len(self._text)
        return begin + len(self._text[begin:end].encode()[:column].decode())


def _imports(node: ast.AST) -> Iterator[tuple[ast.alias, str]]:
    """What an import names, each with its full dotted name, relative ones with their dots."""
    if isinstance(node, ast.Import):
        yield from ((alias, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = _origin(node)
        separator = "" if origin.endswith(".") or not origin else "."
        yield from ((alias, f"{origin}{separator}{alias.name}") for alias in node.names if alias.name != "*")


def _is_program(file: File) -> bool:
    return any(map(_is_for_itself, file.tree.body))


def _is_for_itself(node: ast.stmt) -> bool:
    """``if __name__ == "__main__":``, whose block does not run where its file is imported."""
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _bound_by(alias: ast.alias) -> str:
    """The name that is bound where something is imported."""
    return alias.asname or alias.name.partition(".")[0]


def _origin(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")
