"""From edits of the tree to text: the least replacements, and the import that they may need."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest

from torchlint.diagnostic import Repair, Replacement
from torchlint.fix.applying import apply_repairs
from torchlint.fix.rebuild import plan, plan_all
from torchlint.fix.torch_import import import_torch_replacement
from torchlint.rule import Edit, Fix
from torchlint.source import read_source
from torchlint.syntax.positions import spans
from torchlint.syntax.tree import walk

Build = Callable[[cst.CSTNode], "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel"]


def node_of(module: cst.Module, code: str, kind: type = cst.BaseExpression) -> cst.CSTNode:
    """The first node of this kind whose code, without the white space and comments around it, is ``code``."""
    nodes = [node for node in walk(module) if isinstance(node, kind)]
    for node, span in spans(module, nodes).items():
        if module.code[span.start : span.end] == code:
            return node
    raise LookupError(code)


def replaced(text: str, node: cst.CSTNode, module: cst.Module, build: Build) -> str:
    """``text`` after one edit."""
    replacements = plan(module, text, Fix("Fix", (Edit(node, build),), True))
    assert replacements is not None
    return apply_repairs(text, [Repair("Fix", True, replacements)])[0]


def repaired(text: str, *edits: tuple[str, Build], needs_torch: bool = False) -> str:
    """``text`` after one fix with these edits, each of the expression with this code."""
    module = cst.parse_module(text)
    fix = Fix("Fix", tuple(Edit(node_of(module, code), build) for code, build in edits), True, needs_torch)
    replacements = plan(module, text, fix)
    assert replacements is not None
    assert list(replacements) == sorted(replacements)
    after, applied = apply_repairs(text, [Repair("Fix", True, replacements)])
    assert applied
    return after


def detach(node: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(node, cst.BaseExpression)
    if isinstance(node, cst.BinaryOperation):
        node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(node, cst.Name("detach")))


def called(node: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(node, cst.BaseExpression)
    return cst.Call(node)


def to(code: str) -> Build:
    return lambda _: cst.parse_expression(code)


def lines(*codes: str) -> Build:
    return lambda _: cst.FlattenSentinel([cst.parse_statement(code) for code in codes])


def remove(_: cst.CSTNode) -> cst.RemovalSentinel:
    return cst.RemovalSentinel.REMOVE


def guard(node: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(node, cst.FunctionDef)
    added = cst.Decorator(cst.parse_expression("torch.no_grad()"))
    return node.with_changes(decorators=[*node.decorators, added])


class TestPlan:
    @pytest.mark.parametrize(
        ("text", "code", "build", "after"),
        [
            ("t += loss  # c\n", "loss", detach, "t += loss.detach()  # c\n"),
            ("t += a * b  # c\n", "a * b", detach, "t += (a * b).detach()  # c\n"),
            ("f(a, loss,)\n", "loss", detach, "f(a, loss.detach(),)\n"),
            ("f(\n    loss,  # c\n)\n", "loss", detach, "f(\n    loss.detach(),  # c\n)\n"),
            ("a = f'{loss:.2f}'\n", "loss", detach, "a = f'{loss.detach():.2f}'\n"),
            ("def f():\n    return(x)\n", "x", to("y"), "def f():\n    return y\n"),
            ("a = (x)if b else c\n", "x", to("y"), "a = y if b else c\n"),
            ("x = 1", "1", to("2"), "x = 2"),
            ("x = 1\r\ny = 2\r\n", "2", to("3"), "x = 1\r\ny = 3\r\n"),
            ("é = 'ß\u2028'; y = 2\n", "2", to("3"), "é = 'ß\u2028'; y = 3\n"),
        ],
    )
    def test_expressions(self, text: str, code: str, build: Build, after: str) -> None:
        assert repaired(text, (code, build)) == after

    @pytest.mark.parametrize(
        ("text", "code", "build", "after"),
        [
            ("a\nb  # c\nd\n", "b", lines("b1", "b2"), "a\nb1\nb2\nd\n"),
            ("if a:\n    # lead\n    b\n    c\n", "b", remove, "if a:\n    # lead\n    c\n"),
            ("if a:\n    b\nc\n", "b", remove, "if a:\n    pass\nc\n"),
            ("if a:\n    b\nc\n", "c", remove, "if a:\n    b\n"),
            ("if a:\r\n\tb\r\n", "b", lines("b1", "b2"), "if a:\r\n\tb1\r\n\tb2\r\n"),
            ("if a:\n  if b:\n    c\n", "c", lines("if d:\n    e"), "if a:\n  if b:\n    if d:\n      e\n"),
            ("x\n", "x", remove, ""),
            ("x\ny", "y", lines("a", "b"), "x\na\nb"),
            ("x\r\ny", "y", lines("a", "b"), "x\r\na\r\nb"),
        ],
    )
    def test_lines(self, text: str, code: str, build: Build, after: str) -> None:
        module = cst.parse_module(text)
        assert replaced(text, node_of(module, code, cst.SimpleStatementLine), module, build) == after

    @pytest.mark.parametrize(
        ("text", "code", "after"),
        [
            ("a; b; c\n", "c", "a; b\n"),
            ("a; b; c\n", "a", "b; c\n"),
            ("if a:\n    x\n    b\n", "b", "if a:\n    x\n"),
            ("if a:\n    b\n", "b", "if a:\n    pass\n"),
            ("if a: b\nc\n", "b", "if a: pass\nc\n"),
            ("def f():\n    if a: b; c\n", "c", "def f():\n    if a: b\n"),
        ],
    )
    def test_small_statements(self, text: str, code: str, after: str) -> None:
        module = cst.parse_module(text)
        assert replaced(text, node_of(module, code, cst.BaseSmallStatement), module, remove) == after

    @pytest.mark.parametrize(
        ("text", "code", "after"),
        [("f(a, b)\n", "b", "f(a)\n"), ("f(a, b)\n", "a", "f(b)\n"), ("f(a,)\n", "a", "f()\n")],
    )
    def test_arguments(self, text: str, code: str, after: str) -> None:
        module = cst.parse_module(text)
        assert replaced(text, node_of(module, code, cst.Arg), module, remove) == after

    @pytest.mark.parametrize(
        "text",
        [
            "class A:\n    # lead\n    @staticmethod  # c\n    def f(x):\n        return x\n",
            "class A:\n    # lead\n    def f(x):\n        return x\n",
            "class A:\r\n\r\n\tdef f(x): return x",
            "def f(x): return x",
            "@a\n# between\ndef f(x): return x\n",
        ],
    )
    def test_a_decorator_goes_directly_above_the_def(self, text: str) -> None:
        module = cst.parse_module(text)
        function = next(node for node in walk(module) if isinstance(node, cst.FunctionDef))
        start = text.rindex("\n", 0, text.index("def")) + 1 if "\n" in text[: text.index("def")] else 0
        indent, newline = text[start : text.index("def")], "\r\n" if "\r" in text else "\n"
        after = f"{text[:start]}{indent}@torch.no_grad(){newline}{text[start:]}"
        if "between" in text:
            # libcst keeps such a comment directly above the def.
            after = text.replace("# between", "@torch.no_grad()\n# between")
        assert replaced(text, function, module, guard) == after

    def test_a_removed_function_leaves_the_comment_above_it(self) -> None:
        text = "x\n# lead\n@a\ndef f(): pass\ny\n"
        module = cst.parse_module(text)
        assert replaced(text, module.body[1], module, remove) == "x\n# lead\ny\n"

    def test_an_appended_call_is_an_insertion(self) -> None:
        module = cst.parse_module("t += loss\n")
        fix = Fix("Fix", (Edit(node_of(module, "loss"), detach),), True)
        assert plan(module, "t += loss\n", fix) == (Replacement(9, 9, ".detach()"),)

    def test_inner_edits_are_built_first(self) -> None:
        text = "t = f(g(x), y)\n"
        after = repaired(text, ("f(g(x), y)", detach), ("x", detach), ("g(x)", detach))
        assert after == "t = f(g(x.detach()).detach(), y).detach()\n"

    def test_several_edits_of_one_node_are_built_in_their_order(self) -> None:
        module = cst.parse_module("a\n")
        name = node_of(module, "a")
        fix = Fix("Fix", (Edit(name, detach), Edit(name, called)), True)
        assert plan(module, "a\n", fix) == (Replacement(1, 1, ".detach()()"),)

    def test_neighbours_are_changed_apart(self) -> None:
        text = "a = 1; b = 2  # c\nd = 3\n"
        assert repaired(text, ("1", to("10")), ("2", to("20")), ("3", to("30"))) == "a = 10; b = 20  # c\nd = 30\n"

    def test_neighbouring_statements_that_meet_become_one_replacement(self) -> None:
        text = "a\nb\n"
        module = cst.parse_module(text)
        edits = (Edit(module.body[0], lines("a", "a2")), Edit(module.body[1], lines("c0", "b")))
        replacements = plan(module, text, Fix("Fix", edits, True))
        assert replacements == (Replacement(2, 2, "a2\nc0\n"),)

    def test_an_elif_stays_one(self) -> None:
        text = "if a:\n    x\nelif b:\n    y\n"
        module = cst.parse_module(text)
        outer = module.body[0]
        assert isinstance(outer, cst.If)
        assert outer.orelse is not None
        fix = Fix("Fix", (Edit(outer.orelse, lambda node: node.with_changes(test=cst.Name("c"))),), True)
        assert plan(module, text, fix) == (Replacement(17, 18, "c"),)

    @pytest.mark.parametrize("text", ["x = 1\ry = 2\r", "x = 1\ry = 2"])
    def test_files_with_lone_carriage_returns_are_left_alone(self, text: str) -> None:
        module = cst.parse_module(text)
        assert plan(module, text, Fix("Fix", (Edit(node_of(module, "2"), to("3")),), True)) is None

    def test_what_changes_nothing_is_no_repair(self) -> None:
        module = cst.parse_module("x = 1\n")
        assert plan(module, "x = 1\n", Fix("Fix", (Edit(node_of(module, "1"), lambda node: node),), True)) is None
        assert plan(module, "x = 1\n", Fix("Fix", (), True)) is None
        assert plan(module, "x = 1\n", Fix("Fix", (Edit(cst.Name("x"), detach),), True)) is None
        assert plan(module, "x = 2\n", Fix("Fix", (Edit(node_of(module, "1"), to("3")),), True)) is None

    def test_several_fixes_are_planned_as_each_alone(self) -> None:
        text = "a = f(b)\nc = d\n"
        module = cst.parse_module(text)
        fixes = [Fix(code, (Edit(node_of(module, code), detach),), True) for code in ("f(b)", "d", "b")]
        assert plan_all(module, text, fixes) == [plan(module, text, fix) for fix in fixes]

    def test_removing_what_is_needed_is_the_rule_s_error(self) -> None:
        module = cst.parse_module("a = f(b)\n")
        for code in ("f", "f(b)"):
            with pytest.raises(TypeError):
                plan(module, "a = f(b)\n", Fix("Fix", (Edit(node_of(module, code), remove),), True))


class TestImport:
    @pytest.mark.parametrize(
        ("text", "after"),
        [
            ("from torch import nn\nx\n", "import torch\nfrom torch import nn\nx\n"),
            (
                "import os\n# c\nimport torch.nn as nn\n",
                "import os\n# c\nimport torch\nimport torch.nn as nn\n",
            ),
            ('"""Doc."""\n\nimport os\nx\n', '"""Doc."""\n\nimport torch\nimport os\nx\n'),
            ('"""Doc."""\nx\n', '"""Doc."""\nimport torch\nx\n'),
            ('"""Doc."""', '"""Doc."""\nimport torch'),
            (
                '"""Doc."""\nfrom __future__ import annotations\n\nx\n',
                '"""Doc."""\nfrom __future__ import annotations\nimport torch\n\nx\n',
            ),
            ("#!/bin/python\n# c\n\nx = 1\n", "#!/bin/python\n# c\n\nimport torch\nx = 1\n"),
            ("#!/bin/python\nx = 1\n", "#!/bin/python\nimport torch\nx = 1\n"),
            ("@a\ndef f(): pass\n", "import torch\n@a\ndef f(): pass\n"),
            ("x = 1\r\n", "import torch\r\nx = 1\r\n"),
            (
                "try:\n    from torch import nn\nexcept ImportError:\n    nn = None\n",
                "try:\n    import torch\n    from torch import nn\nexcept ImportError:\n    nn = None\n",
            ),
            (
                "if TYPE_CHECKING:\n    import torch\nx\n",
                "import torch\nif TYPE_CHECKING:\n    import torch\nx\n",
            ),
            ("def f():\n    import torch\n", "import torch\ndef f():\n    import torch\n"),
            ("import torchvision\n", "import torch\nimport torchvision\n"),
            ("from .torch import x\n", "import torch\nfrom .torch import x\n"),
            ("import torch as t\n", "import torch\nimport torch as t\n"),
            ("import numpy as torch\n", "import torch\nimport numpy as torch\n"),
            ("", "import torch\n"),
        ],
    )
    def test_where_it_goes(self, text: str, after: str) -> None:
        replacement = import_torch_replacement(cst.parse_module(text))
        assert replacement is not None
        assert apply_repairs(text, [Repair("Import", True, (replacement,))])[0] == after

    @pytest.mark.parametrize(
        "text",
        [
            "import torch\n",
            "import os, torch\n",
            "import torch.nn\n",
            "import torch as torch\n",
            "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        ],
    )
    def test_a_file_that_has_it_needs_none(self, text: str) -> None:
        assert import_torch_replacement(cst.parse_module(text)) is None

    @pytest.mark.parametrize(
        ("index", "after"),
        [
            (1, "import torch\ndef f(): pass\n@torch.no_grad()\ndef g(): pass\n"),
            (0, "import torch\n@torch.no_grad()\ndef f(): pass\ndef g(): pass\n"),
        ],
    )
    def test_it_comes_with_the_edits_that_need_it(self, index: int, after: str) -> None:
        text = "def f(): pass\ndef g(): pass\n"
        module = cst.parse_module(text)
        replacements = plan(module, text, Fix("Fix", (Edit(module.body[index], guard),), True, needs_torch=True))
        assert replacements is not None
        assert apply_repairs(text, [Repair("Fix", True, replacements)])[0] == after


@pytest.mark.parametrize("name", ["contextlib.py", "test/test_coroutines.py"])
def test_any_expression_of_a_real_file_can_be_changed_alone(name: str) -> None:
    text = read_source(str(Path(ast.__file__).parent / name)).text
    module = cst.parse_module(text)
    nodes = [node for node in walk(module) if isinstance(node, cst.Call | cst.Subscript | cst.BinaryOperation)]
    places = spans(module, nodes)
    fixes = [Fix("Fix", (Edit(node, to("changed")),), True) for node in nodes]
    for node, replacements in list(zip(nodes, plan_all(module, text, fixes), strict=True))[::9]:
        assert replacements is not None
        after, _ = apply_repairs(text, [Repair("Fix", True, replacements)])
        assert after.startswith(text[: places[node].start].rstrip("( "))
        assert after.endswith(text[places[node].end :].lstrip(") "))
        assert len(after) - len(text) <= len("changed") + 2
        ast.parse(after)
