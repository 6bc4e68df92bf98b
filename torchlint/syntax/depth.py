"""The nesting guard: code that is nested too deep never reaches libcst, whose parser would end the process.

Measured with libcst 1.9 on a stack of 8 MB: its parser dies by a segmentation fault beyond 1,000 nested
brackets or some 2,000 chained calls (on 1 MB: 160 and 250), a nested block costs 25 KB, time is quadratic in
the depth and, for match patterns, four times as much with each bracket: 0.1 s at 8, 1.5 s at 10, minutes at
14. Its code generation raises RecursionError at 250 chained calls. Depth is measured here by own iterative
walks with one limit for every version of Python, since an exception of ``ast`` comes at another depth in each
of them.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TypeAlias, cast

from torchlint.source import Unreadable
from torchlint.syntax.number_tables import without_tables

__all__ = [
    "NESTING_LIMIT",
    "TOO_DEEP",
    "check_nesting",
    "deep_recursion",
    "nesting_of_text",
    "nesting_of_tree",
    "parse_shallow",
]

NESTING_LIMIT = 500
"""The deepest accepted nesting: 200 chained calls or 400 additions count 400, 100 nested blocks count 100."""

TOO_DEEP = "nested too deep"
"""The reason of the Unreadable that is raised beyond the limit."""

_PATTERN_BRACKET = 60
"""What one bracket in a ``case`` counts: eight are accepted."""

_FRAMES_PER_LEVEL = 8
"""Python frames for one level: libcst's code generation takes two to four, own recursive walks as many."""

_FLAT_FIELDS = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "type_ignores", "level"})

_TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\r\n]* )
    | (?P<string> [A-Za-z]{0,3}
        (?: \"{3} (?:[^\\]|\\.)*? (?:\"{3}|\Z) | '{3} (?:[^\\]|\\.)*? (?:'{3}|\Z)
          | " (?:[^"\\\r\n]|\\.)* "? | ' (?:[^'\\\r\n]|\\.)* '? ) )
    | (?P<blank> (?:\r\n|\r|\n) [ \t\f]* (?=[\#\r\n]|\Z) | \\(?:\r\n|\r|\n) )
    | (?P<line> (?:\r\n|\r|\n) (?P<indent>[ \t\f]*) (?P<word>[a-z]*) )
    | (?P<open> [\[({] )
    | (?P<close> [\])}] )
    | (?P<comma> [,;] )
    | (?P<number> \d[\w.]* )
    | (?P<lambda> \blambda\b )
    | (?P<step> [-+~*/%@&|^.:=] | \b(?:not|and|or|if|else|await|yield|from|for|in|is|async)\b )
    | (?P<name> \w+ )
    """,
    re.VERBOSE | re.DOTALL,
)

_WORDS = re.compile(r"\b(?:not|and|or|if|lambda|await|yield)\b")

_STRINGS = frozenset({ast.Constant, ast.JoinedStr})

_Block: TypeAlias = ast.stmt | ast.ExceptHandler
"""What stands in blocks and has blocks of its own."""

_BLOCKS = ("body", "orelse", "finalbody", "handlers")

_LEAST_NODES = 8
"""More nodes than this do not stand one in the other without a character for each: ``Expr``, ``Call``, ``Name``."""


def parse_shallow(text: str) -> ast.Module:
    """Parse ``text`` with the standard library and check its nesting.

    Returns:
        A tree whose nesting, and that of libcst's tree of the same text, is at most ``NESTING_LIMIT``.

    Raises:
        Unreadable: the text is nested too deep.
        SyntaxError: this Python cannot parse the text; libcst still may, after ``check_nesting(text, None)``.
    """
    try:
        tree = parse_quietly(text)
    except (RecursionError, MemoryError) as error:
        raise Unreadable(TOO_DEEP) from error
    except ValueError as error:
        raise SyntaxError(str(error)) from error
    check_nesting(text, tree)
    return tree


def parse_quietly(text: str) -> ast.Module:
    """Parse ``text`` with the standard library, long tables cut off; it raises what :func:`ast.parse` raises."""
    with warnings.catch_warnings():
        # An invalid escape in somebody's file is no message of ours.
        warnings.simplefilter("ignore")
        return ast.parse(without_tables(text))


def check_nesting(text: str, tree: ast.Module | None) -> None:
    """Refuse what is nested deeper than ``NESTING_LIMIT``.

    Args:
        text: the text of the file.
        tree: its tree, or None when ``ast`` of this Python cannot parse it.

    Raises:
        Unreadable: the text is nested too deep.
    """
    if tree is None:
        nesting = nesting_of_text(text)
    else:
        survey = _survey_of_file(text, tree)
        nesting = max(survey.nesting, _nesting_unseen(text, survey))
    if nesting > NESTING_LIMIT:
        raise Unreadable(TOO_DEEP)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow, for the duration of the context, the recursion that the deepest accepted tree needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, NESTING_LIMIT * _FRAMES_PER_LEVEL + 1000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def nesting_of_tree(tree: ast.AST) -> int:
    """How many levels of statements and expressions the deepest node of ``tree`` stands under; no recursion.

    ``a or b or c`` and ``import a.b.c`` count as libcst nests them, one level for each part, though ``ast``
    keeps them flat.
    """
    return _survey([(tree, 0)]).nesting


def nesting_of_text(text: str) -> int:
    """An estimate of the nesting from the text alone, for files that ``ast`` of this Python cannot parse.

    Not less than the nesting of the tree; more where a flat list of operators cannot be told from a nested
    one.
    """
    blocks = _Blocks()
    brackets = _Brackets()
    deepest = 0
    for match in _TOKEN.finditer("\n" + text):
        kind = match.lastgroup
        if kind == "line":
            if brackets.depth == 0:
                brackets = _Brackets()
                blocks.enter(match["indent"], match["word"])
        elif kind == "open":
            brackets.open()
        elif kind == "close":
            brackets.close()
        elif kind == "comma":
            brackets.comma()
        elif kind == "lambda":
            brackets.nest(3, beyond_comma=True)
        elif kind == "string":
            brackets.nest(1 + _levels_inside(match[0]))
        elif kind == "step":
            brackets.nest(1)
        # Eight for the nodes between a statement and its first operator, such as parameters and annotations.
        deepest = max(deepest, 8 + brackets.levels + blocks.levels)
        if blocks.word == "case":
            deepest = max(deepest, _PATTERN_BRACKET * brackets.depth)
    return deepest


class _Brackets:
    """What has been nested in the statement so far, for each open bracket and for the statement itself."""

    def __init__(self) -> None:
        self.levels = 1
        # Two counts for each: what the next comma ends, and what it does not, since commas also separate the
        # parameters of a lambda.
        self._nested = [[0, 0]]

    @property
    def depth(self) -> int:
        """How many brackets are open."""
        return len(self._nested) - 1

    def nest(self, levels: int, *, beyond_comma: bool = False) -> None:
        """Count so many more levels."""
        self._nested[-1][beyond_comma] += levels
        self.levels += levels

    def open(self) -> None:
        """Enter a bracket."""
        self.nest(1)
        self._nested.append([0, 0])
        self.levels += 1

    def close(self) -> None:
        """Leave a bracket, if one is open."""
        if self.depth:
            self.levels -= sum(self._nested.pop()) + 1

    def comma(self) -> None:
        """Begin the next item of a list, or the next statement of a line."""
        self.nest(-self._nested[-1][0])


class _Blocks:
    """The blocks that are open at a line, told from indentation."""

    def __init__(self) -> None:
        self.word = ""
        self._open: list[tuple[int, int]] = []

    @property
    def levels(self) -> int:
        """Levels that the open blocks make; each ``elif`` stands one level below the one before it."""
        return sum(2 + elifs for _, elifs in self._open)

    def enter(self, indent: str, word: str) -> None:
        """Take note of a new statement with its indentation and its first word."""
        self.word = word
        width = len(indent.expandtabs(8))
        elifs = 0
        while self._open and self._open[-1][0] >= width:
            last_width, last_elifs = self._open.pop()
            if last_width == width and word in ("elif", "else"):
                elifs = last_elifs + 1
        self._open.append((width, elifs))


@dataclass(frozen=True)
class _Survey:
    """What one walk over a tree finds: its nesting, and nodes whose text may hide more of it."""

    nesting: int
    strings: list[ast.expr]
    matches: list[ast.Match]


def _survey_of_file(text: str, tree: ast.Module) -> _Survey:
    """As :func:`_survey`, where a nesting below the limit may come out larger than it is.

    Code cannot nest deeper than it is long, so only long statements are walked through, in a third of the time.
    """
    starts = _starts_of_lines(text)
    deepest = 1
    long: list[tuple[ast.AST, int]] = []
    pending: list[tuple[_Block, int]] = [(statement, 1) for statement in tree.body]
    while pending:
        node, depth = pending.pop()
        depth += 1
        if isinstance(node, ast.Match):
            long.append((node, depth - 1))
            continue
        inner = _blocks_in(node)
        pending += [(one, depth) for one in inner]
        end = min(map(_beginning, inner)) if inner else (node.end_lineno or 0, node.end_col_offset or 0)
        line, column = _beginning(node)
        bound = depth + _LEAST_NODES + starts[end[0]] + end[1] - starts[line] - column
        if bound > NESTING_LIMIT:
            long += [(part, depth) for part in ast.iter_child_nodes(node) if not isinstance(part, _Block)]
            bound = depth
        deepest = max(deepest, bound)
    survey = _survey(long)
    return _Survey(max(deepest, survey.nesting), survey.strings, survey.matches)


def _blocks_in(node: _Block) -> list[_Block]:
    """The statements directly under one, and its handlers of exceptions."""
    found: list[_Block] = []
    for name in _BLOCKS:
        found += getattr(node, name, ())
    return found


def _beginning(node: _Block) -> tuple[int, int]:
    """The line (from 1) and the column (from 0, in bytes) at which a statement begins with its decorators."""
    decorators = getattr(node, "decorator_list", ())
    first = decorators[0] if decorators else node
    return first.lineno, first.col_offset


def _starts_of_lines(text: str) -> list[int]:
    """The offset in bytes at which each line begins, by its number from 1."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lengths = map(len, text.split("\n") if text.isascii() else text.encode().split(b"\n"))
    return [0, *accumulate((length + 1 for length in lengths), initial=0)]


def _survey(roots: Iterable[tuple[ast.AST, int]]) -> _Survey:
    """Walk over what stands under each of ``roots``, which stands under so many levels itself; no recursion."""
    deepest = 0
    strings: list[ast.expr] = []
    matches: list[ast.Match] = []
    pending = list(roots)
    while pending:
        node, depth = pending.pop()
        depth += 1
        kind = type(node)
        if kind in _STRINGS:
            if _may_have_many_pieces(cast(ast.expr, node)):
                strings.append(cast(ast.expr, node))
        elif isinstance(node, ast.BoolOp):
            depth += len(node.values) - 2
        elif isinstance(node, ast.alias):
            depth += node.name.count(".")
        elif isinstance(node, ast.Match):
            matches.append(node)
        deepest = max(deepest, depth)
        for name in _nested_fields(kind._fields):
            value = getattr(node, name, None)
            if isinstance(value, list):
                inner = [item for item in value if isinstance(item, ast.AST) and not _is_number(item)]
                pending.extend([(item, depth) for item in inner])
                if len(inner) < len(value):
                    deepest = max(deepest, depth + 1)
            elif isinstance(value, ast.AST):
                pending.append((value, depth))
    return _Survey(deepest, strings, matches)


def _is_number(node: ast.AST) -> bool:
    """Whether nothing is hidden in a node: most of a file of data are such."""
    return type(node) is ast.Constant and type(node.value) not in (str, bytes)


@cache
def _nested_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a class's fields that can hold nodes which add depth."""
    return tuple(name for name in fields if name not in _FLAT_FIELDS)


def _may_have_many_pieces(node: ast.expr) -> bool:
    """Whether a string literal's extent leaves room for more pieces than the limit."""
    if node.end_lineno != node.lineno:
        return True
    return (node.end_col_offset or 0) - node.col_offset > 2 * NESTING_LIMIT


def _nesting_unseen(text: str, survey: _Survey) -> int:
    """The nesting that ``ast`` does not show: pieces of joined strings, brackets around patterns."""
    if not survey.strings and not survey.matches:
        return 0
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    most = 0
    for match in survey.matches:
        most = max(most, *(_PATTERN_BRACKET * count for count in _brackets_of_cases(match, lines)))
    for string in survey.strings:
        extent = lines[string.lineno - 1 : string.end_lineno]
        if sum(line.count("'") + line.count('"') for line in extent) > 2 * NESTING_LIMIT:
            most = max(most, _longest_run_of_strings("\n".join(extent)))
    return most


def _brackets_of_cases(node: ast.Match, lines: list[str]) -> Iterator[int]:
    """For each ``case`` of a match statement, how deep its brackets are nested; its guard counts as well."""
    first = node.subject.end_lineno or node.lineno
    for case in node.cases:
        body = case.body[0]
        depth = deepest = 0
        for match in _TOKEN.finditer("\n".join(lines[first : body.lineno])):
            depth += (match.lastgroup == "open") - (match.lastgroup == "close")
            deepest = max(deepest, depth)
        yield deepest
        first = (case.body[-1].end_lineno or body.lineno) - 1


def _longest_run_of_strings(segment: str) -> int:
    """How many string literals follow each other with nothing but white space and comments between them."""
    longest = run = 0
    for match in _TOKEN.finditer(segment):
        if match.lastgroup == "string":
            run += 1
            longest = max(longest, run)
        elif match.lastgroup not in ("comment", "blank", "line"):
            run = 0
    return longest


def _levels_inside(literal: str) -> int:
    """An upper bound of the nesting inside the replacement fields of a string literal, if it can have any."""
    prefix = literal[:3].partition("'")[0].partition('"')[0].lower()
    if "f" not in prefix and "t" not in prefix:
        return 0
    return sum(literal.count(sign) for sign in "{([.+-*/%@&|^~:") + len(_WORDS.findall(literal))
