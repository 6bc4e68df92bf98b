"""Long tables of numbers: what is left of them stands where it stood."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from rule_programs import diagnose

from torchlint.facts import Facts
from torchlint.source import Source
from torchlint.syntax.bare import bare_module
from torchlint.syntax.number_tables import TABLE, without_tables

NUMBERS = "".join(f"    -{number}.5e-3,\r\n" for number in range(20_000))
TEXT = f"import torch\r\nROWS = [\r\n{NUMBERS}]\r\ntotal = 1\r\n"


def test_a_long_table_is_cut_and_everything_stays_in_its_line() -> None:
    tree = ast.parse(without_tables(TEXT))
    rows, total = tree.body[1:]
    assert isinstance(rows, ast.Assign)
    assert isinstance(rows.value, ast.List)
    assert len(rows.value.elts) == TABLE + 1
    assert total.lineno == TEXT.count("\n", 0, TEXT.index("total")) + 1


def test_what_is_no_table_stays() -> None:
    calls = "".join(f"f({number}),\n" for number in range(30_000))
    assert without_tables(calls) == calls


def test_a_short_text_stays() -> None:
    short = "ROWS = [\n" + "1,\n" * 1000 + "]\n"
    assert without_tables(short) == short


def test_a_bare_tree_has_the_beginning_of_a_table() -> None:
    text = f"short = {list(range(TABLE))}\nlong = {list(range(-50, 1000))}\nmixed = {['a', *range(1000)]}\n"
    module = bare_module(text, ast.parse(text))
    assert module is not None
    lists = [line.body[0].value for line in module.body]  # type: ignore[union-attr,index]
    assert all(isinstance(one, cst.List) for one in lists)
    assert [len(one.elements) for one in lists] == [TABLE, TABLE + 1, 1001]  # type: ignore[union-attr]


@pytest.mark.parametrize("line", ["kept.extend({table})", "kept += {table}", "a, *kept = {table}", "f(*{table})"])
def test_a_table_can_be_used_like_any_list(line: str) -> None:
    text = "import torch\nkept = []\n" + line.format(table=list(range(TABLE * 3))) + "\nkept[0].backward()\n"
    assert diagnose(Source("tables.py", text)) == ()
    assert Facts(cst.parse_module(text)).graph.stores
