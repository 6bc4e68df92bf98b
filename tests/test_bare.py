"""A bare tree holds the same code as libcst's own tree of the same text."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import libcst as cst
import pytest

from torchlint.facts import Facts
from torchlint.syntax.bare import bare_module, complete
from torchlint.syntax.tree import walk

ROOT = Path(__file__).parent.parent

STATEMENTS = {
    "several statements on a line": "a = 1; b = 2\nif a: b = 3; del a\nelse: pass\n",
    "elif is no else with an if": "if a:\n    pass\nelif b:\n    pass\nelse:\n    if c:\n        pass\n",
    "parameters": "def f(a, b: int = 1, /, c=2, *d, e, g=3, **h) -> int: return a\n",
    "a bare star": "def f(a, *, b): pass\n",
    "arguments in the order in which they are written": "f(a, *b, c=1, *d, **e)\nf(c=1, *b)\n",
    "a class with keywords and decorators": "@a\n@b.c(1)\nclass D(E, *F, g=G, **H):\n    x: int = 1\n    y: str\n",
    "imports": "import a.b.c as d, e\nfrom ..f.g import h as i, j\nfrom . import k\nfrom l import *\n",
    "loops": "for a, b in c:\n    break\nelse:\n    pass\nwhile a:\n    continue\n",
    "async": "async def f():\n    async for a in b:\n        await c\n    async with d as e, g:\n        yield a\n",
    "try": "try:\n    a\nexcept (A, B) as e:\n    raise C from e\nexcept:\n    raise\nelse:\n    a\nfinally:\n    b\n",
    "names that are declared": "def f():\n    global a, b\n    def g():\n        nonlocal c\n",
    "deletions": "del a\ndel a, b[0]\ndel (a, c)\n",
    "targets": "a = b = c, *d = e\na += 1\na @= b\na: int\n[a, (b, c)] = d\n",
    "assertions": "assert a, 'b'\nassert c\n",
}

EXPRESSIONS = {
    "operators": "a + b * c ** -d // e % f @ g << 1 >> 2 & 3 | 4 ^ ~h",
    "boolean operators nest from the left": "a and b and not c or d or (e and f)",
    "comparisons": "a < b <= c > d >= e == f != g is h is not i in j not in k",
    "brackets are no code": "((a)), (b), ((c, d))",
    "items": "a[0], a[b, c], a[(b, c)], a[(b), (c)], a[()], a[1:2, ::3], a[b,], a[(b,)]",
    "constants": "1, 0x10, 1.5, 2j, ..., None, True, 'a', b'c', -1",
    "strings in several pieces": "f('a' 'b', 'c' \"d\" 'e', 'fg')",
    "a string over several lines": "'''a\n b'''",
    "formatted strings": "f'a{b.c}', f'{d!r:>{e}}', f''",
    "collections": "[a, *b], (c,), (), {d, e}, {f: g, **h}, {}",
    "comprehensions": "[a for a in b if c if d for e in f], {a for a in b}, {a: b for a in c}, (a for a in b)",
    "functions": "lambda a, *b, c=1: (yield), a if b else c",
    "a walrus": "f(a := b)",
    "characters of several bytes": "é('ü' 'ö'), ß['ä', ('é')]",
}


def read(text: str) -> cst.Module:
    module = bare_module(text, ast.parse(text))
    assert module is not None
    return module


def code(module: cst.Module) -> list[tuple[object, ...]]:
    """Each node of the code, by its class and what it says itself; of a string in pieces only that it is one."""
    entered = walk(module, lambda node: not isinstance(node, cst.ConcatenatedString))
    skipped = (cst.Module, cst.FormattedStringText)
    return [(type(node), *_said_by(node)) for node in entered if not isinstance(node, skipped)]


def _said_by(node: cst.CSTNode) -> list[object]:
    if isinstance(node, cst.SimpleString | cst.Integer | cst.Float | cst.Imaginary):
        return [node.evaluated_value]
    said = [getattr(node, name) for name in ("star",) if isinstance(node, cst.Arg | cst.Param)]
    said += [node.value for node in [node] if isinstance(node, cst.Name)]
    said += [type(node.operator) for node in [node] if isinstance(node, OPERATIONS)]
    said += [node.asynchronous is not None for node in [node] if isinstance(node, ASYNCHRONOUS)]
    said += [len(node.relative) for node in [node] if isinstance(node, cst.ImportFrom)]
    return said


OPERATIONS = (cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation, cst.AugAssign, cst.ComparisonTarget)
ASYNCHRONOUS = (cst.FunctionDef, cst.For, cst.With, cst.CompFor)


@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
def test_statements_are_those_of_libcst(text: str) -> None:
    assert code(read(text)) == code(cst.parse_module(text))


@pytest.mark.parametrize("text", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions_are_those_of_libcst(text: str) -> None:
    assert code(read(text + "\n")) == code(cst.parse_module(text + "\n"))


@pytest.mark.parametrize("path", sorted((ROOT / "rules").glob("*.py")), ids=lambda path: path.stem)
def test_whole_files_are_those_of_libcst(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert code(read(text)) == code(cst.parse_module(text))


def test_lines_may_end_in_any_way() -> None:
    text = "a = 1; b = 'c' 'd'\r\nif a: b\r\n"
    assert code(read(text)) == code(cst.parse_module(text))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the syntax is younger")
@pytest.mark.parametrize("text", ["try:\n    a\nexcept* B:\n    c\n", "match a:\n    case 1:\n        b\n"])
def test_rare_syntax_is_left_to_libcst(text: str) -> None:
    assert bare_module(text, ast.parse(text)) is None


def test_an_expression_is_asked_for_its_text() -> None:
    module = read("x = f( a,\n   'b' )\n")
    call = next(node for node in walk(module) if isinstance(node, cst.Call))
    assert Facts(module).code(call) == "f( a, 'b' )"


def test_what_has_no_text_says_so() -> None:
    module = read("x = 1\n")
    with pytest.raises(AttributeError):
        module.code_for_node(module.body[0])


@pytest.mark.parametrize("text", [*STATEMENTS.values(), *(f"{text}\n" for text in EXPRESSIONS.values())])
def test_a_bare_tree_is_filled_in(text: str) -> None:
    module = read(text)
    known = [node for node in walk(module) if isinstance(node, cst.Name | cst.BaseStatement)]
    assert complete(module, cst.parse_module(text))
    assert module.code == text
    assert [node for node in walk(module) if isinstance(node, cst.Name | cst.BaseStatement)] == known
    assert code(module) == code(cst.parse_module(text))


def test_expressions_in_strings_of_several_pieces_stay_what_they_are() -> None:
    text = "f('a' f'{b( c )} {d:>{e}}' \"f\")\n"
    module = read(text)
    known = {node.value: node for node in walk(module) if isinstance(node, cst.Name)}
    assert complete(module, cst.parse_module(text))
    assert module.code == text
    assert {node.value: node for node in walk(module) if isinstance(node, cst.Name)} == known


def test_a_tree_with_the_beginning_of_a_table_is_not_filled_in() -> None:
    text = f"a = [{', '.join(map(str, range(100)))}]\nb = 1\n"
    assert not complete(read(text), cst.parse_module(text))


@pytest.mark.parametrize("text", ["(a or b).c\n", "(a)[0]\n"])
def test_brackets_belong_to_the_text_of_an_expression(text: str) -> None:
    module = read(text)
    value = next(node for node in walk(module) if isinstance(node, cst.Attribute | cst.Subscript)).value
    with pytest.raises(AttributeError):
        module.code_for_node(value)
    assert complete(module, cst.parse_module(text))
    assert module.code_for_node(value).startswith("(")


def test_text_may_have_characters_of_several_bytes() -> None:
    module = read("x = größe['ü']\n")
    item = next(node for node in walk(module) if isinstance(node, cst.Subscript))
    assert module.code_for_node(item) == "größe['ü']"
