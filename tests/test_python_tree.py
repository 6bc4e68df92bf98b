"""Walking the trees of the standard library's ``ast``."""

from __future__ import annotations

import ast

import pytest

from torchlint.syntax.python_tree import children, walk


@pytest.mark.parametrize("constant", ["1", "0.5", "2j", "b'a'", "'a'", "...", "None", "True"])
def test_a_constant_has_nothing_under_it(constant: str) -> None:
    node = ast.parse(constant, mode="eval").body
    assert children(node) == []
    assert list(walk(node)) == [node]


def test_what_is_under_a_node_is_given_without_constants_and_operators() -> None:
    node = ast.parse("f(x) + 0.5 * y", mode="eval").body
    assert sorted(one.id for one in walk(node) if isinstance(one, ast.Name)) == ["f", "x", "y"]
