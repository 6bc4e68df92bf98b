"""Positions: those of libcst's own PositionProvider, node by node, and the lines of Python's tokenizer."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from _pytest.mark import ParameterSet
from libcst.metadata import (
    ByteSpanPositionProvider,
    MetadataWrapper,
    PositionProvider,
    WhitespaceInclusivePositionProvider,
)

from torchlint.source import read_source
from torchlint.syntax.positions import Span, line_starts, locate, spans, whole

STANDARD_LIBRARY = Path(ast.__file__).parent
FILES = [
    "ast.py",
    "contextlib.py",
    "dataclasses.py",
    "test/test_patma.py",
    "test/test_fstring.py",
    "test/test_coroutines.py",
    "test/test_unicode_identifiers.py",
    "test/test_with.py",
]
NASTY = [
    "",
    "x",
    "x = 1  # comment",
    "\n\n# only comments\n",
    "a = 1\r\nif a:\r\n\tb = 2\r\n",
    "a = 1\rif a:\r\tb = 2\r",
    "a = 1\r\nb = 2\nc = '''x\r\ny'''\nd = 4\r\n",
    "a = 1\n\x0c\nclass A:\n    \x0c\n    def f(self): pass\n\x0c\n",
    "é = 'ü\u2028\x85' ; ß = (é,\n  2)\n",
    "@a\n# between\n@b(\n  1)\nasync def f(x, *, y=1): return x\n",
    "if a: pass\nelif b: pass\nelse:\n    pass\n    # tail\n",
    "x = (  # c\n  ( 1 )  # d\n)  # e\n",
    "if a:\n    b = \\\n  c\n    \n  # odd comment\n    d\n",
    "try:\n  pass\nexcept A as b: pass\nelse: pass\nfinally: pass",
]


def every_node(module: cst.Module) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    pending: list[cst.CSTNode] = [module]
    while pending:
        node = pending.pop()
        found.append(node)
        pending.extend(node.children)
    return found


def texts() -> Iterator[ParameterSet]:
    for name in FILES:
        path = STANDARD_LIBRARY / name
        if path.exists():
            yield pytest.param(read_source(str(path)).text, id=name)
    for number, text in enumerate(NASTY):
        yield pytest.param(text, id=f"nasty{number}")


@pytest.mark.parametrize("text", list(texts()))
def test_positions_are_those_of_libcst(text: str) -> None:
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    theirs = wrapper.resolve(PositionProvider)
    theirs_whole = wrapper.resolve(WhitespaceInclusivePositionProvider)
    # libcst parses a few empty white spaces that no code generation visits.
    nodes = [node for node in every_node(wrapper.module) if node in theirs and node is not wrapper.module]
    located = locate(wrapper.module, nodes)
    assert located.code == wrapper.module.code
    end = (len(line_starts(located.code)), len(located.code) - line_starts(located.code)[-1])
    for node in nodes:
        for ours, position in (
            (located.spans[node], theirs[node]),
            (located.whole[node], theirs_whole[node]),
        ):
            assert (ours.line, ours.column - 1) == min((position.start.line, position.start.column), end)
            # libcst counts a last line end that the file does not have.
            assert (ours.end_line, ours.end_column - 1) == min((position.end.line, position.end.column), end)


@pytest.mark.parametrize("text", list(texts()))
def test_offsets_are_those_of_libcst(text: str) -> None:
    if cst.parse_module(text).code != text:
        pytest.skip("libcst drops blanks after the conversion of a replacement field")
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    theirs = wrapper.resolve(ByteSpanPositionProvider)
    offsets = {0: 0}
    length = 0
    for index, character in enumerate(text, 1):
        length += len(character.encode())
        offsets[length] = index
    nodes = [node for node in every_node(wrapper.module) if node in theirs and node is not wrapper.module]
    length = len(wrapper.module.code.encode())
    for node, span in spans(wrapper.module, nodes).items():
        end = min(theirs[node].start + theirs[node].length, length)
        assert (span.start, span.end) == (offsets[min(theirs[node].start, length)], offsets[end]), node


@pytest.mark.parametrize("text", list(texts()))
def test_statements_stand_on_the_lines_that_ast_gives_them(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sorted(
            (node.lineno, len(line_of(text, node.lineno).encode()[: node.col_offset].decode()) + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.stmt)
        )
    module = cst.parse_module(text)
    kinds = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
    nodes = [node for node in every_node(module) if isinstance(node, kinds)]
    assert sorted((span.line, span.column) for span in spans(module, nodes).values()) == theirs


def line_of(text: str, line: int) -> str:
    starts = line_starts(text)
    return text[starts[line - 1] : starts[line] if line < len(starts) else len(text)]


def test_one_wanted_node_has_the_same_position_as_among_all() -> None:
    module = cst.parse_module(read_source(str(STANDARD_LIBRARY / "contextlib.py")).text)
    nodes = every_node(module)
    together = locate(module, nodes)
    for node in nodes[::97]:
        alone = locate(module, [node])
        assert alone.spans == {node: together.spans[node]}
        assert alone.whole == {node: together.whole[node]}
        assert alone.headers == {node: together.headers[node]}


def test_a_decorated_function_stands_on_its_def_line() -> None:
    text = "# lead\n@a\n@b\ndef f(\n    x,\n) -> int:  # c\n    return x\n"
    module = cst.parse_module(text)
    function = module.body[0]
    located = locate(module, [function])
    assert located.spans[function] == Span(13, 54, 4, 1, 7, 13)
    assert text[located.headers[function].start : located.headers[function].end] == "def f(\n    x,\n) -> int:"
    # The comments at a file's very top belong to the module.
    assert located.whole[function].start == len("# lead\n")
    assert whole(module, [function])[function].end == len(text)


def test_the_whole_of_a_statement_has_its_comments() -> None:
    text = "a\n# lead\nb ; c  # trail\nd\n"
    module = cst.parse_module(text)
    statement = module.body[1]
    assert isinstance(statement, cst.SimpleStatementLine)
    outside, inside = whole(module, [statement])[statement], spans(module, [statement])[statement]
    assert text[outside.start : outside.end] == "# lead\nb ; c  # trail\n"
    assert text[inside.start : inside.end] == "b ; c"


def test_a_foreign_node_is_an_error() -> None:
    with pytest.raises(KeyError):
        spans(cst.parse_module("a\n"), [cst.Name("a")])


@pytest.mark.parametrize(
    ("text", "starts"),
    [("", [0]), ("a\nb", [0, 2]), ("a\r\nb\rc\n", [0, 3, 5, 7]), ("a\x0cb\x0b\x1c\x85\u2028c", [0])],
)
def test_line_starts(text: str, starts: list[int]) -> None:
    assert line_starts(text) == starts
