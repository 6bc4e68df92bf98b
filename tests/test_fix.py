"""Repairs: several are applied together, what is not good is dropped, and the rest of a file stays."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.diagnostic import Diagnostic, Level, Memory, Repair, Replacement
from torchlint.fix.applying import apply_repairs, diff, drops_comment, fix_source
from torchlint.source import Source, Unreadable
from torchlint.syntax.positions import line_starts


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


def finder(
    *rules: tuple[str, str, str, bool], levels: Mapping[str, Level] = MappingProxyType({})
) -> Callable[[Source], Sequence[Diagnostic]]:
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
                        level=levels.get(code, Level.ERROR),
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
        outcome = fix_source(Source("a.py", "bad\nx\nbad\n"), finder(("T1", "bad", "good", True)), unsafe=False)
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

    @pytest.mark.parametrize(("unsafe", "text"), [(False, "one\n2\n"), (True, "w\n2\n")])
    def test_a_repair_that_brings_a_new_finding_is_dropped_unless_that_is_repaired(
        self, unsafe: bool, text: str
    ) -> None:
        check = finder(("T1", "one", "worse", True), ("T2", "two", "2", True), ("T3", "worse", "w", False))
        outcome = fix_source(Source("a.py", "one\ntwo\n"), check, unsafe=unsafe)
        assert outcome.text == text

    @pytest.mark.parametrize(("level", "text"), [(Level.WARNING, "two\n"), (Level.ERROR, "one\n")])
    def test_a_repair_may_lay_bare_what_is_milder(self, level: Level, text: str) -> None:
        check = finder(("T1", "one", "two", True), ("T2", "two", "3", False), levels={"T2": level})
        assert fix_source(Source("a.py", "one\n"), check, unsafe=False).text == text

    def test_findings_that_bring_each_other_without_end_are_left(self) -> None:
        check = finder(("T1", "one", "two", True), ("T2", "two", "three", True), ("T3", "three", "two", True))
        assert fix_source(Source("a.py", "one\n"), check, unsafe=False).text == "one\n"

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
            "--- x/a.py\n+++ x/a.py\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
        )
