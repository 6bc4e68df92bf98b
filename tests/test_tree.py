"""The walk over libcst's trees: what is spelled out for the most frequent nodes is what their fields say."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from torchlint.syntax.tree import READERS, reader_of, walk

ROOT = Path(__file__).parent.parent

WRITTEN = """
a = b = c.d[e, 1:2](f, *g, h=i, **j)
k < l <= m
n = -o + p and q or (r, s)
t = [u, *v], {w: x, **y}, {z}
"""


@pytest.mark.parametrize("text", [WRITTEN, (ROOT / "torchlint" / "syntax" / "tree.py").read_text(encoding="utf-8")])
def test_the_children_that_are_spelled_out_are_those_that_the_fields_tell(text: str) -> None:
    for node in walk(cst.parse_module(text)):
        spelled, told = READERS[type(node)](node), reader_of(type(node))(node)
        assert [id(child) for child in spelled] == [id(child) for child in told]
