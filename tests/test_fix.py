"""Repairs: edits become the least replacements, several are applied together, and what is not good is dropped."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.diagnostic import Diagnostic, Level, Memory, Repair, Replacement
from torchlint.fix import (
    apply_repairs,
    diff,
    drops_comment,
    fix_source,
    import_torch_replacement,
    plan,
    plan_all,
)
from torchlint.positions import line_starts, spans
from torchlint.rule import Edit, Fix
from torchlint.source import Source, Unreadable
from torchlint.tree import walk

Build = Callable[[cst.CSTNode], "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel"]


def node_of(module: cst.Module, code: str, kind: type[cst.CSTNode] = cst.BaseExpression) -> cst.CSTNode:
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
            ("def f():\n    return(x)\n", "(x)", to("y"), "def f():\n    return y\n"),
            ("a = (x)if b else c\n", "(x)", to("y"), "a = y if b else c\n"),
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
        assert (
            repaired(text, ("1", to("10")), ("2", to("20")), ("3", to("30")))
            == "a = 10; b = 20  # c\nd = 30\n"
        )

    def test_neighbouring_statements_that_meet_become_one_replacement(self) -> None:
        text = "a\nb\n"
        module = cst.parse_module(text)
        edits = (Edit(module.body[0], lines("a", "a2")), Edit(module.body[1], lines("b0", "b")))
        replacements = plan(module, text, Fix("Fix", edits, True))
        assert replacements == (Replacement(2, 2, "a2\nb0\n"),)

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
        assert (
            plan(module, "x = 1\n", Fix("Fix", (Edit(node_of(module, "1"), lambda node: node),), True))
            is None
        )
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
        replacements = plan(
            module, text, Fix("Fix", (Edit(module.body[index], guard),), True, needs_torch=True)
        )
        assert replacements is not None
        assert apply_repairs(text, [Repair("Fix", True, replacements)])[0] == after


def repair(*replacements: tuple[int, int, str], safe: bool = True, title: str = "Fix") -> Repair:
    return Repair(title, safe, tuple(Replacement(*one) for one in replacements))


class TestApply:
    @pytest.mark.parametrize(
        ("repairs", "text", "applied"),
        [
            ([], "abcdef", []),
            ([repair((0, 1, "X")), repair((5, 6, "Y"))], "XbcdeY", [0, 1]),
            ([repair((4, 4, "Y")), repair((1, 1, "X"))], "aXbcdYef", [0, 1]),
            ([repair((0, 2, "X")), repair((1, 3, "Y"))], "Xcdef", [0]),
            ([repair((0, 2, "X")), repair((2, 4, "Y"))], "XYef", [0, 1]),
            ([repair((0, 2, "X")), repair((2, 2, "Y"))], "Xcdef", [0]),
            ([repair((2, 2, "X")), repair((2, 2, "Y"))], "abXcdef", [0]),
            ([repair((2, 2, "X")), repair((2, 2, "X"))], "abXcdef", [0, 1]),
            ([repair((0, 0, "I"), (2, 3, "X")), repair((0, 0, "I"), (4, 5, "Y"))], "IabXdYf", [0, 1]),
            ([repair((0, 1, "X"), (3, 4, "X")), repair((3, 5, "Y"), (5, 6, "Y"))], "XbcXef", [0]),
            ([repair((0, 2, "X"), (1, 3, "Y"))], "abcdef", []),
        ],
    )
    def test_what_does_not_touch_is_applied_together(
        self, repairs: list[Repair], text: str, applied: list[int]
    ) -> None:
        assert apply_repairs("abcdef", repairs) == (text, tuple(repairs[index] for index in applied))

    @settings(derandomize=True, max_examples=200, deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.text("XY", max_size=2)), max_size=6))
    def test_what_is_outside_stays(self, places: list[tuple[int, int, str]]) -> None:
        text = "0123456789ab"
        repairs = [repair((start, start + length, new)) for start, length, new in places]
        after, applied = apply_repairs(text, repairs)
        gone = {index for one in applied for r in one.replacements for index in range(r.start, r.end)}
        assert [c for c in after if c not in "XY"] == [c for i, c in enumerate(text) if i not in gone]
        assert not repairs or applied


@pytest.mark.parametrize(
    ("before", "after", "dropped"),
    [
        ("a  # c\n", "b  # c\n", False),
        ("a  # c\n", "# c\nb\n", False),
        ("a  # c\nb  # c\n", "a  # c\nb\n", True),
        ("a = '# c'\n", "a = ''\n", False),
        ("a\n", "a  # new\n", False),
        ("a  # c\r\n", "b  # c\n", False),
        ("a = '''\n", "a = '''\n", True),
    ],
)
def test_drops_comment(before: str, after: str, dropped: bool) -> None:
    assert drops_comment(before, after) is dropped


def finder(*rules: tuple[str, str, str, bool]) -> Callable[[Source], Sequence[Diagnostic]]:
    """A check that finds ``old`` under a code and would write ``new`` for it, safely or not."""

    def check(source: Source) -> list[Diagnostic]:
        found = []
        for code, old, new, safe in rules:
            at = source.text.find(old)
            while at >= 0:
                starts = line_starts(source.text)
                line = sum(start <= at for start in starts)
                found.append(
                    Diagnostic(
                        path=source.path,
                        line=line,
                        column=at - starts[line - 1] + 1,
                        end_line=line,
                        end_column=at - starts[line - 1] + 1 + len(old),
                        code=code,
                        name="test",
                        level=Level.ERROR,
                        memory=Memory.DEVICE_GROWS,
                        message=old,
                        repair=repair((at, at + len(old), new), safe=safe, title=f"Write {new}"),
                    )
                )
                at = source.text.find(old, at + 1)
        return found

    return check


class TestFixSource:
    def test_repairs_all_and_says_what_it_did(self) -> None:
        outcome = fix_source(
            Source("a.py", "bad\nx\nbad\n"), finder(("T1", "bad", "good", True)), unsafe=False
        )
        assert outcome.text == "good\nx\ngood\n"
        assert [(one.code, one.line) for one in outcome.applied] == [("T1", 1), ("T1", 3)]
        assert outcome.remaining == ()

    @pytest.mark.parametrize(("unsafe", "text", "left"), [(False, "b\n", 1), (True, "c\n", 0)])
    def test_unsafe_repairs_only_when_asked_for(self, unsafe: bool, text: str, left: int) -> None:
        check = finder(("T1", "a", "b", True), ("T2", "b", "c", False))
        outcome = fix_source(Source("a.py", "a\nb\n".replace("a\n", "")), check, unsafe=unsafe)
        assert (outcome.text, len(outcome.remaining)) == (text, left)

    def test_what_overlaps_is_repaired_in_the_next_pass(self) -> None:
        check = finder(("T1", "a1", "b2", True), ("T2", "11", "22", True), ("T2", "21", "33", True))
        outcome = fix_source(Source("a.py", "a11\n"), check, unsafe=False)
        assert (outcome.text, len(outcome.applied)) == ("b33\n", 2)

    def test_a_result_that_does_not_parse_is_dropped_and_the_rest_kept(self) -> None:
        check = finder(("T1", "one", "(", True), ("T2", "two", "2", True))
        outcome = fix_source(Source("a.py", "one\ntwo\n"), check, unsafe=False)
        assert outcome.text == "one\n2\n"
        assert [one.code for one in outcome.applied] == ["T2"]
        assert [one.code for one in outcome.remaining] == ["T1"]

    def test_a_result_that_is_nested_too_deep_is_dropped(self) -> None:
        check = finder(("T1", "one", "a" + ".b()" * 600, True))
        assert fix_source(Source("a.py", "one\n"), check, unsafe=False).text == "one\n"

    @pytest.mark.parametrize(("safe", "text"), [(True, "a  # c\n2\n"), (False, "b\n2\n")])
    def test_a_repair_that_claims_to_be_safe_must_keep_comments(self, safe: bool, text: str) -> None:
        check = finder(("T1", "a  # c", "b", safe), ("T2", "two", "2", True))
        assert fix_source(Source("a.py", "a  # c\ntwo\n"), check, unsafe=True).text == text

    def test_a_repair_that_brings_a_new_finding_is_dropped(self) -> None:
        check = finder(("T1", "one", "worse", True), ("T2", "two", "2", True), ("T3", "worse", "w", True))
        outcome = fix_source(Source("a.py", "one\ntwo\n"), check, unsafe=False)
        assert outcome.text == "one\n2\n"

    def test_a_repair_that_makes_the_text_uncheckable_is_dropped(self) -> None:
        inner = finder(("T1", "one", "1", True))

        def check(source: Source) -> Sequence[Diagnostic]:
            if "1" in source.text:
                raise Unreadable("odd")
            return inner(source)

        outcome = fix_source(Source("a.py", "one\n"), check, unsafe=False)
        assert (outcome.text, outcome.applied, len(outcome.remaining)) == ("one\n", (), 1)

    @pytest.mark.parametrize("new", ["x_", "_x", "_x_", "x x", "x = x"])
    def test_a_repair_that_does_not_help_is_applied_once(self, new: str) -> None:
        check = finder(("T1", "x", new, True))
        outcome = fix_source(Source("a.py", "y = (x)\n"), check, unsafe=False)
        assert outcome.text in (f"y = ({new})\n", "y = (x)\n")
        assert outcome.remaining

    def test_no_repair_that_changes_nothing(self) -> None:
        outcome = fix_source(Source("a.py", "x\n"), finder(("T1", "x", "x", True)), unsafe=False)
        assert (outcome.text, outcome.applied, len(outcome.remaining)) == ("x\n", (), 1)

    def test_passes_are_counted(self) -> None:
        check = finder(*((f"T{n}", f"{n}_", f"{n + 1}_", True) for n in range(1, 9)))
        same = finder(*(("T1", f"{n}_", f"{n + 1}_", True) for n in range(1, 9)))
        assert fix_source(Source("a.py", "x = a1_\n"), check, unsafe=False).text == "x = a1_\n"
        assert fix_source(Source("a.py", "x = a1_\n"), same, unsafe=False, passes=3).text == "x = a4_\n"
        assert fix_source(Source("a.py", "x = a1_\n"), same, unsafe=False).text == "x = a9_\n"

    def test_lone_carriage_returns_are_not_touched(self) -> None:
        outcome = fix_source(Source("a.py", "bad\rx\r"), finder(("T1", "bad", "good", True)), unsafe=True)
        assert (outcome.text, len(outcome.remaining)) == ("bad\rx\r", 1)

    @settings(derandomize=True, max_examples=100, deadline=None)
    @given(
        st.lists(st.sampled_from(["bad", "# c", "é = '\x0c'", "if a: bad", "", "x\\"]), max_size=8),
        st.sampled_from(["\n", "\r\n"]),
    )
    def test_other_bytes_stay(self, rows: list[str], newline: str) -> None:
        text = newline.join([*rows, "x"])
        outcome = fix_source(Source("a.py", text), finder(("T1", "bad", "good", True)), unsafe=False)
        try:
            cst.parse_module(text.replace("bad", "good"))
        except cst.ParserSyntaxError:
            assert outcome.text == text
        else:
            assert outcome.text == text.replace("bad", "good")


DIFFS = [
    ("", ""),
    ("a\n", "a\n"),
    ("a\nb\nc\n", "a\nB\nc\n"),
    ("a\nb", "a\nB"),
    ("a\nb", "a\nb\n"),
    ("a\nb\n", "a\nb"),
    ("a\r\nb\r\n", "a\r\nB\r\n"),
    ("a\x0cb\u2028c\rd\n", "a\x0cB\u2028c\rd\n"),
    ("", "a\n"),
]


class TestDiff:
    @pytest.mark.parametrize(("before", "after"), DIFFS)
    def test_patch_applies_it(self, tmp_path: Path, before: str, after: str) -> None:
        (tmp_path / "a.py").write_bytes(before.encode())
        text = diff(before, after, "a.py")
        assert bool(text) == (before != after)
        if text:
            subprocess.run(
                ["git", "apply", "-p0", "--whitespace=nowarn", "-"],
                input=text.encode(),
                cwd=tmp_path,
                check=True,
                capture_output=True,
            )
        assert (tmp_path / "a.py").read_bytes() == after.encode()

    def test_a_missing_last_line_end_is_marked(self) -> None:
        assert diff("a", "b", "x/a.py") == (
            "--- x/a.py\n+++ x/a.py\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n"
            "+b\n\\ No newline at end of file\n"
        )
