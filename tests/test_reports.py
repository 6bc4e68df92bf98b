"""Each output format, on a run that is built by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from torchlint.catalog import rules
from torchlint.diagnostic import Diagnostic, Evidence, Level, Memory, Repair, Replacement
from torchlint.report import FORMATS, renderer, statistics
from torchlint.report.lines import Lines, printable, width
from torchlint.report.paths import relative, uri
from torchlint.run import Checked, Run

TEXT = 'total = "größe"\nfor x in y:\n    total += loss(x)\n'
INSERT = TEXT.index("loss(x)") + len("loss(x)")

FOUND = Diagnostic(
    path="src/train.py",
    line=3,
    column=5,
    end_line=3,
    end_column=21,
    code="TLK101",
    name="graph-accumulated",
    level=Level.WARNING,
    memory=Memory.HOST_GROWS,
    message="`total` keeps the graph, 100%: write `loss.detach()`",
    evidence=(Evidence(1, 1, "bound outside the loop"), Evidence(2, 1, "in each step")),
    repair=Repair("Detach `loss`", True, (Replacement(INSERT, INSERT, ".detach()"),)),
)
CHECKED = Checked("src/train.py", (FOUND,), uses_torch=True, text=TEXT)
UNREADABLE = Checked("src/bad file.py", failure="cannot be checked: contains null bytes")
RUN = Run((CHECKED, UNREADABLE))
EMPTY = Run(())


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Relative names are names in this folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found_with(**changes: Any) -> Run:
    """A run with one finding that differs in these attributes."""
    return Run((replace(CHECKED, diagnostics=(replace(FOUND, **changes),)),))


class TestEveryFormat:
    @pytest.mark.parametrize("name", FORMATS)
    def test_ends_its_last_line_and_takes_an_empty_run(self, name):
        assert renderer(name)(RUN).endswith("\n")
        assert renderer(name)(EMPTY) == "" or renderer(name)(EMPTY).endswith("\n")

    @pytest.mark.parametrize("name", FORMATS)
    def test_gives_the_same_for_the_same_run_in_any_order(self, name):
        assert renderer(name)(Run((UNREADABLE, CHECKED))) == renderer(name)(RUN)

    def test_is_found_by_its_name_only(self):
        with pytest.raises(KeyError):
            renderer("yaml")


class TestText:
    def test_is_path_line_column_code_and_message(self):
        assert renderer("text")(RUN).splitlines() == [
            "src/train.py:3:5: TLK101 `total` keeps the graph, 100%: write `loss.detach()`",
            "1 keep host memory every step (start with src/train.py:3); 1 fixable with --fix; 1 could not be checked",
        ]

    def test_keeps_a_finding_on_one_line(self):
        assert renderer("text")(found_with(message="a\n  b")).startswith("src/train.py:3:5: TLK101 a b\n")


class TestFull:
    def test_shows_the_source_the_evidence_and_the_way_out(self):
        assert renderer("full")(Run((CHECKED,))) == (
            "src/train.py:3:5: TLK101 `total` keeps the graph, 100%: write `loss.detach()`\n"
            "  |\n"
            "3 |     total += loss(x)\n"
            "  |     ^^^^^^^^^^^^^^^^\n"
            '1 | total = "größe"\n'
            "  | - bound outside the loop\n"
            "2 | for x in y:\n"
            "  | - in each step\n"
            "  |\n"
            "  = warning: graph-accumulated; why, and when not: torchlint rule TLK101\n"
            "  = help: Detach `loss` (--fix)\n"
            "\n"
            "1 keep host memory every step (start with src/train.py:3); 1 fixable with --fix\n"
        )

    def test_says_beside_the_finding_what_happens_on_its_own_line(self):
        shown = renderer("full")(found_with(evidence=(Evidence(3, 5, "kept here"),))).splitlines()
        assert shown[3] == "  |     ^^^^^^^^^^^^^^^^ kept here"
        assert shown[4] == "  |"

    def test_says_when_a_repair_is_unsafe_or_another_finding_has_the_same_cause(self):
        assert FOUND.repair is not None
        shown = renderer("full")(found_with(repair=replace(FOUND.repair, safe=False), explained_by="TLK201"))
        assert "  = help: Detach `loss` (--unsafe-fixes)\n" in shown
        assert "  = same cause as TLK201, not counted again\n" in shown

    def test_points_at_the_right_cell_behind_wide_characters_tabs_and_form_feeds(self):
        text = '\f\t"模型", total\n'
        column = text.index("total") + 1
        file = replace(CHECKED, text=text)
        one = replace(FOUND, line=1, column=column, end_line=1, end_column=column + 5, evidence=())
        shown = renderer("full")(Run((replace(file, diagnostics=(one,)),))).splitlines()
        assert shown[2] == '1 |   "模型", total'
        assert shown[3] == "  | " + " " * 10 + "^" * 5

    def test_underlines_the_first_line_only_of_a_longer_statement(self):
        shown = renderer("full")(found_with(line=2, column=1, end_line=3, end_column=9, evidence=())).splitlines()
        assert shown[3] == "  | " + "^" * len("for x in y:")

    def test_shows_no_control_character_of_a_file(self):
        assert printable("a\x1b[31m\x07é模") == "a\ufffd[31m\ufffdé模"
        assert width("é模a\u0301") == 4

    def test_survives_a_line_that_is_not_there(self):
        assert renderer("full")(found_with(line=99, end_line=99))


class TestJson:
    def test_has_ruffs_keys_and_the_severity(self):
        (found,) = json.loads(renderer("json")(RUN))
        assert found == {
            "cell": None,
            "code": "TLK101",
            "end_location": {"column": 21, "row": 3},
            "filename": str(Path("src/train.py").absolute()),
            "fix": {
                "applicability": "safe",
                "edits": [
                    {
                        "content": ".detach()",
                        "end_location": {"column": 21, "row": 3},
                        "location": {"column": 21, "row": 3},
                    }
                ],
                "message": "Detach `loss`",
            },
            "location": {"column": 5, "row": 3},
            "message": FOUND.message,
            "noqa_row": 3,
            "severity": "warning",
            "url": None,
        }

    def test_is_what_the_installed_ruff_writes(self, tmp_path):
        (tmp_path / "a.py").write_text("import os\n")
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--output-format", "json", "a.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        if not done.stdout:
            pytest.skip(f"ruff cannot be run: {done.stderr.decode().strip()}")
        (theirs,), (ours,) = json.loads(done.stdout), json.loads(renderer("json")(RUN))
        assert {*theirs, "severity"} >= set(ours)
        assert set(theirs) - set(ours) <= {"name"}
        assert _shape(ours["fix"]) == _shape(theirs["fix"])
        assert Path(theirs["filename"]).is_absolute() == Path(ours["filename"]).is_absolute()

    def test_has_no_fix_where_there_is_none_and_says_when_it_is_unsafe(self):
        assert FOUND.repair is not None
        assert json.loads(renderer("json")(found_with(repair=None)))[0]["fix"] is None
        unsafe = found_with(repair=replace(FOUND.repair, safe=False))
        assert json.loads(renderer("json")(unsafe))[0]["fix"]["applicability"] == "unsafe"

    def test_is_ascii(self):
        assert renderer("json")(found_with(path="größe.py", message="é")).isascii()

    def test_of_nothing_is_an_empty_list(self):
        assert renderer("json")(EMPTY) == "[]\n"


class TestGithub:
    def test_escapes_what_would_end_a_command_or_a_property(self):
        shown = renderer("github")(found_with(path="a,b:c%.py"))
        assert shown == (
            "::warning title=torchlint (TLK101),file=a%2Cb%3Ac%25.py,line=3,col=5,endLine=3,endColumn=21::"
            "a,b:c%25.py:3:5: TLK101 `total` keeps the graph, 100%25: write `loss.detach()`\n"
        )

    @pytest.mark.parametrize(
        ("level", "command"), [(Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.NOTE, "notice")]
    )
    def test_has_a_command_for_each_level(self, level, command):
        assert renderer("github")(found_with(level=level)).startswith(f"::{command} ")

    def test_names_files_from_the_working_directory(self, tmp_path):
        assert ",file=src/a.py," in renderer("github")(found_with(path=str(tmp_path / "src" / "a.py")))


@pytest.fixture(scope="module")
def sarif_schema() -> Draft7Validator:
    """The official schema, see tests/data/README.md."""
    file = Path(__file__).parent / "data" / "sarif-2.1.0.schema.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)


class TestSarif:
    @pytest.mark.parametrize(
        "run",
        [
            RUN,
            EMPTY,
            Run((), problem="gone.py: no such file or folder"),
            found_with(path="größe 模型/#?%.py"),
            found_with(path="/elsewhere/a.py"),
            found_with(repair=None, evidence=(), level=Level.NOTE),
        ],
    )
    def test_fits_its_official_schema(self, sarif_schema, run):
        errors = sarif_schema.iter_errors(json.loads(renderer("sarif")(run)))
        assert [error.message for error in errors] == []

    def test_the_schema_refuses_what_is_none(self, sarif_schema):
        assert not sarif_schema.is_valid({"version": "2.1.0", "runs": [{"results": []}]})

    def test_places_findings_evidence_and_repairs(self):
        (run,) = json.loads(renderer("sarif")(RUN))["runs"]
        (result,) = run["results"]
        place = {"uri": "src/train.py", "uriBaseId": "%SRCROOT%"}
        assert result["ruleId"] == "TLK101" and result["level"] == "warning"
        assert result["locations"][0]["physicalLocation"] == {
            "artifactLocation": place,
            "region": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 21},
        }
        steps = result["relatedLocations"]
        assert [step["message"]["text"] for step in steps] == ["bound outside the loop", "in each step"]
        assert [step["physicalLocation"]["region"]["startLine"] for step in steps] == [1, 2]
        (change,) = result["fixes"][0]["artifactChanges"]
        assert change["replacements"] == [
            {
                "deletedRegion": {"startLine": 3, "startColumn": 21, "endLine": 3, "endColumn": 21},
                "insertedContent": {"text": ".detach()"},
            }
        ]

    def test_brings_every_rule_with_its_documentation(self):
        (run,) = json.loads(renderer("sarif")(RUN))["runs"]
        listed = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in listed] == [rule.code for rule in rules()]
        for rule, known in zip(listed, rules(), strict=True):
            assert "What it does" in rule["help"]["markdown"]
            assert rule["defaultConfiguration"]["level"] == known.level.value
        result = run["results"][0]
        assert listed[result["ruleIndex"]]["id"] == result["ruleId"]

    def test_says_which_files_could_not_be_checked(self):
        (invocation,) = json.loads(renderer("sarif")(RUN))["runs"][0]["invocations"]
        (said,) = invocation["toolExecutionNotifications"]
        assert not invocation["executionSuccessful"]
        assert said["message"]["text"] == "cannot be checked: contains null bytes"
        assert said["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/bad%20file.py"

    def test_says_when_nothing_could_be_checked(self):
        (run,) = json.loads(renderer("sarif")(Run((), problem="why")))["runs"]
        assert not run["invocations"][0]["executionSuccessful"]
        assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "why"

    def test_writes_names_as_relative_percent_encoded_uris(self, tmp_path):
        assert uri("a b/größe#1.py") == "a%20b/gr%C3%B6%C3%9Fe%231.py"
        assert uri(str(tmp_path / "a.py")) == "a.py"
        assert uri("/elsewhere/a b.py") == "file:///elsewhere/a%20b.py"
        assert relative("./a/../b.py") == "b.py"


class TestStatistics:
    def test_of_nothing_is_the_summary_alone(self):
        assert statistics.render(EMPTY) == "No Python file to check.\n"
        assert statistics.render_json(EMPTY) == "[]\n"

    def test_count(self):
        assert statistics.render(RUN).splitlines()[0] == "1  TLK101  [*] graph-accumulated"


class TestLines:
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_are_those_of_the_tokenizer(self, end):
        text = end.join(["a\x0cb\x1c\u2028c", "", "é"])
        lines = Lines(text)
        assert [lines.line(number) for number in range(5)] == ["", "a\x0cb\x1c\u2028c", "", "é", ""]
        assert lines.position(text.index("é")) == (3, 1)
        assert lines.position(len(text)) == (3, 2)
        assert lines.position(0) == (1, 1)


def _shape(value: Any) -> Any:
    """A JSON value with its types in place of its values; lists by their first item."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shape(inner) for inner in value[:1]]
    return type(value)
