"""The part of a file that a definition needs: itself, what it refers to at the file's top level, and the imports.

Summarising a definition costs as much as the excerpt is long, and a utility module of a thousand lines of which a meter
is imported costs little. It also makes a summary depend on what the definition says and not on who else uses it there.
"""

from __future__ import annotations

import ast
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from torchlint.source import lines_of
from torchlint.syntax.filling_names import INSERTING
from torchlint.syntax.python_tree import walk

__all__ = ["Outline", "empties", "mention", "only_calls", "sets_anew"]

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
"""A name as it is read; what follows a dot is an attribute."""

_GLOBAL = re.compile(r"^[ \t]+global[ \t]+([\w, \t]+)", re.MULTILINE)
"""``global latest, count``: what a function sets of its module."""

_TABLING = re.compile(
    r"^[ \t]+([A-Za-z_]\w*)\[[^\]\n]+\] = ([A-Za-z_]\w*)[ \t]*\n(?:.*\n)*?[ \t]+return \2\b", re.MULTILINE
)
"""``TABLE[name] = function``, and then ``return function``: what a decorator does that puts into a table."""

_FILLING = re.compile(
    rf"(?<![\w.])([A-Za-z_]\w*)(?:\[[^\]\n]*\])*(?:\.(?:{'|'.join(sorted(INSERTING))})\(|\[[^\]\n]*\]\s*=[^=]|\s*\+=)"
)
"""``BANK.append(value)``, ``BANK[name] = value``: what a function adds to."""

TAKING = ("clear", "pop", "popitem", "popleft", "remove")
"""Methods of containers that take something out."""

LONGEST_COMPANY = 6_000
"""A definition is accompanied by what it mentions, the nearest first, up to so many characters in all."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement at a file's top level, by its lines (from 1), its type, and the names that it defines."""

    first: int
    last: int
    type: type[ast.stmt]
    defines: tuple[str, ...]


class Outline:
    """A file's top level: where what is defined stands, and what is imported. It holds neither tree nor text."""

    def __init__(self, text_of_file: Callable[[], str], tree: ast.Module) -> None:
        """Go over the statements at the top level of ``tree``, that of the file whose text ``text_of_file`` gives."""
        self._text_of_file = text_of_file
        self._definitions: dict[str, list[_Statement]] = {}
        self._registering: dict[str, list[_Statement]] = {}
        self._imports: list[_Statement] = []
        self._imported: dict[str, str] = {}
        self._stars: list[str] = []
        registrars: dict[str, tuple[_Statement, frozenset[str]]] = {}
        decorates = any(getattr(node, "decorator_list", ()) for node in tree.body)
        for node in tree.body:
            first, last = _lines_of(node)
            statement = _Statement(first, last, type(node), tuple(_bound(node)))
            may_register = isinstance(node, ast.FunctionDef) and (decorates or _may_decorate(node))
            if may_register and isinstance(node, ast.FunctionDef) and (tables := frozenset(_filled_by(node))):
                registrars[node.name] = statement, tables
                for table in tables if _may_decorate(node) else ():
                    self._registering.setdefault(table, []).append(statement)
            elif registrars and isinstance(node, ast.ClassDef | ast.FunctionDef) and node.decorator_list:
                for registrar, tables in _registrars_of(node, registrars):
                    for table in tables:
                        self._registering.setdefault(table, []).extend([registrar, statement])
            for name in statement.defines:
                self._definitions.setdefault(name, []).append(statement)
            imports = [inner for inner in _blocks(node) if isinstance(inner, ast.Import | ast.ImportFrom)]
            if imports:
                self._imports.append(statement)
            for inner in imports:
                self._add_import(inner)

    def _add_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                self._imported.setdefault(alias.asname or top, alias.name if alias.asname else top)
            return
        origin, dot = "." * node.level + (node.module or ""), "." if node.module else ""
        for alias in node.names:
            if alias.name == "*":
                self._stars.insert(0, origin)
            else:
                self._imported.setdefault(alias.asname or alias.name, f"{origin}{dot}{alias.name}")

    @property
    def text(self) -> str:
        """The text of the file."""
        return self._text_of_file()

    def definition(self, name: str) -> type[ast.stmt] | None:
        """The type of the statement that defines ``name``; None where none or several do."""
        statements = self._definitions.get(name, ())
        return statements[0].type if len(statements) == 1 else None

    def defines(self, name: str) -> bool:
        """Whether a statement at the top level defines ``name``, or several do."""
        return name in self._definitions

    @cached_property
    def _starts(self) -> array[int]:
        """Where each line begins, and at last where the text ends: a tenth of what the lines themselves would take."""
        return array("I", accumulate(map(len, lines_of(self.text)), initial=0))

    @property
    def stars(self) -> tuple[str, ...]:
        """The modules of which the top level imports everything, the last one first."""
        return tuple(self._stars)

    def imported(self, name: str) -> str | None:
        """The dotted name, relative ones with their dots, under which the top level imports ``name``."""
        return self._imported.get(name)

    def empties(self, name: str) -> bool:
        """Whether the file takes things out of what it calls ``name``: ``name.clear()``, ``del name[key]``."""
        return empties(name, self.text)

    def emptiers(self, name: str) -> tuple[str, ...]:
        """The functions at the top level by which ``name`` is emptied, or that mention one of them.

        Empty where something else does that as well, a method or a statement of the file's body.
        """
        found, latest = {name}, {name}
        while latest:
            using = re.compile(rf"\b(?:{'|'.join(map(re.escape, latest - {name}))})\b") if latest != {name} else None
            latest = set()
            for other, statements in self._definitions.items():
                texts = [self._text_of(one) for one in statements if other not in found]
                if any(empties(name, text) or (using and using.search(text)) for text in texts):
                    if len(statements) > 1 or not issubclass(statements[0].type, ast.FunctionDef):
                        return ()
                    latest.add(other)
            found |= latest
        named = tuple(sorted(found - {name}))
        elsewhere = self.text
        for one in (statement for other in named for statement in self._definitions[other]):
            elsewhere = elsewhere.replace(self._text_of(one), "")
        is_left = empties(name, elsewhere) or any(re.search(rf"\b{one}\b", elsewhere) for one in named)
        return () if is_left else named

    def excerpt(self, name: str) -> str | None:
        """The source text of what defines ``name``, with what it mentions; None when nothing at the top level does.

        A table is accompanied by what decorators put into it, such a decorator by the functions that use the table, and
        who sets a global, or adds to one, by the functions that read it.

        Statements keep their order; what stands between them is left out. What is mentioned farther away than
        :data:`LONGEST_COMPANY` allows is left out as well, and so unknown.
        """
        if name not in self._definitions:
            return None
        wanted, length = dict.fromkeys(self._definitions[name]), 0
        pending = [name, *self._using_what_is_set_by(name)]
        seen = set(pending)
        while pending:
            word = pending.pop(0)
            for statement in (*self._definitions.get(word, ()), *self._registering.get(word, ())):
                text = self._text_of(statement)
                if statement not in wanted and length + len(text) > LONGEST_COMPANY:
                    continue
                length += len(text)
                wanted[statement] = None
                mentioned = dict.fromkeys(word for word in _WORD.findall(text) if word in self._definitions)
                pending += [word for word in mentioned if word not in seen]
                seen.update(mentioned)
        chosen = sorted({*wanted, *self._imports}, key=lambda statement: statement.first)
        numbers = dict.fromkeys(number for s in chosen for number in range(s.first, s.last + 1))
        starts, text = self._starts, self.text
        return "".join(_ended(text[starts[number - 1] : starts[number]]) for number in numbers)

    def _using_what_is_set_by(self, name: str) -> list[str]:
        """The functions of the file that mention a table into which ``name`` puts something, or its globals."""
        texts = list(map(self._text_of, self._definitions[name]))
        tables = {found for text in texts for found, _ in _TABLING.findall(text)}
        tables.update(found for text in texts for found in _FILLING.findall(text))
        tables.update(one for text in texts for declared in _GLOBAL.findall(text) for one in _WORD.findall(declared))
        tables &= self._definitions.keys()
        return [
            other
            for other, statements in self._definitions.items()
            if tables and other != name and issubclass(statements[0].type, ast.FunctionDef | ast.AsyncFunctionDef)
            if not tables.isdisjoint(_WORD.findall(self._text_of(statements[0])))
        ]

    def _text_of(self, statement: _Statement) -> str:
        return self.text[self._starts[statement.first - 1] : self._starts[statement.last]]


def only_calls(text: str, names: Iterable[str]) -> bool:
    """Whether a text calls one of these names, and mentions none of them but in calls and imports."""
    word = re.compile(rf"\b(?:{'|'.join(names)})\b(.?)")
    lines = (line for line in lines_of(text) if "import" not in line)
    return {after for line in lines for after in word.findall(line)} == {"("}


def mention(texts: Iterable[str], path: str, names: Iterable[str]) -> bool:
    """Whether a text has the name of the module ``path`` in it, and one of these, which may be functions of that."""
    module = os.path.basename(path).partition(".")[0]
    words = [re.compile(rf"\b(?:{word})\b") for word in (module, "|".join(names))]
    return any(all(word.search(text) for word in words) for text in texts)


def sets_anew(text: str, name: str) -> bool:
    """Whether a text gives the global of another file something else: ``state.name = []``, ``state.name[:] = []``."""
    if f".{name}" not in text and f"{name}[" not in text:
        return False  # nearly every text, and looking for a word is quicker than for a pattern
    return re.search(rf"\.{name}\s*=[^=]|\b{name}\[[^\]\n]*:[^\]\n]*\]\s*=[^=]", text) is not None


def empties(name: str, text: str) -> bool:
    """Whether a text does ``name.clear()``, ``del name[0]``, ``name[:] = name[-9:]``, or ``global name; name = []``."""
    taking = rf"\b{name}\.(?:{'|'.join(TAKING)})\(|\bdel\s+{name}\[|\b{name}\[[^\]\n]*:[^\]\n]*\]\s*=[^=]"
    anew = rf"\bglobal\b[^\n]*\b{name}\b(?:.*\n)*?.*\b{name}\s*=\s*(?:[\[{{]|\w*(?:list|dict|deque)\(|{name}\[)"
    return re.search(taking, text) is not None or ("global" in text and re.search(anew, text) is not None)


def _ended(line: str) -> str:
    return line if line.endswith(("\n", "\r")) else line + "\n"


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


def _filled_by(function: ast.FunctionDef) -> Iterator[str]:
    """The variables under a key of which a function, or one that it makes, puts something: ``TABLE[name] = cls``."""
    for node in walk(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                yield target.value.id


def _may_decorate(function: ast.FunctionDef) -> bool:
    """Whether a function gives back what it is given, or a function that it defines: other files may decorate by it."""
    last = function.body[-1]
    given = {one.arg for one in function.args.args} | {
        one.name for one in function.body if isinstance(one, ast.FunctionDef)
    }
    return isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id in given


def _registrars_of(
    node: ast.ClassDef | ast.FunctionDef, registrars: Mapping[str, tuple[_Statement, frozenset[str]]]
) -> Iterator[tuple[_Statement, frozenset[str]]]:
    """The functions of the file that decorate a class or a function and fill tables."""
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(function, ast.Name) and function.id in registrars:
            yield registrars[function.id]


def _names(target: ast.expr) -> Iterable[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _lines_of(statement: ast.stmt) -> tuple[int, int]:
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return first, statement.end_lineno or statement.lineno
