"""The edits that repairs are made of, as they are written."""

from __future__ import annotations

import libcst as cst
import pytest

from torchlint.fix.edits import without_argument


@pytest.mark.parametrize(
    ("call", "without"),
    [
        ("f(a, k=1)", "f(a)"),
        ("f(k=1, a=2)", "f(a=2)"),
        ("f(k=1)", "f()"),
        ("f(\n    a,\n    k=1,\n)", "f(\n    a,\n)"),
        ("f(\n    a,  # first\n    k=1,\n)", "f(\n    a,  # first\n)"),
        ("f(\n    a,\n    # above\n    k=1,\n)", "f(\n    a,\n    # above\n)"),
        ("f(\n    a,  # first\n    k=1,  # second\n)", "f(\n    a,  # first\n)"),
    ],
)
def test_an_argument_is_left_out_and_comments_beside_others_stay(call: str, without: str) -> None:
    module = cst.parse_module(call)
    (line,) = module.body
    assert isinstance(line, cst.SimpleStatementLine)
    assert isinstance(line.body[0], cst.Expr)
    node = line.body[0].value
    assert isinstance(node, cst.Call)
    changed = without_argument(node, "k").build(node)
    assert isinstance(changed, cst.CSTNode)
    assert module.code_for_node(changed) == without
