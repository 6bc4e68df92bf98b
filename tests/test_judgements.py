"""What was read in real code, and what the rules' pages say of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from invoking import ROOT

from torchlint.catalog import rules
from torchlint.rule import Rule

Place = tuple[str, str, str, int, str]


def read(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "tests" / "benchmarks" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def places(rows: list[dict[str, Any]]) -> list[Place]:
    return [(row["repository"], row["commit"], row["path"], row["line"], row["rule"]) for row in rows]


JUDGEMENTS = read("judgements.jsonl")
RETIRED = read("retired.jsonl")


def test_a_judgement_is_coordinates_a_verdict_and_a_word_why() -> None:
    keys = {"repository", "commit", "path", "line", "rule", "level", "verdict", "why"}
    assert all(set(judgement) == keys for judgement in JUDGEMENTS)
    assert {judgement["verdict"] for judgement in JUDGEMENTS} <= {"true", "false"}
    assert len(set(places(JUDGEMENTS))) == len(JUDGEMENTS)


def test_what_is_retired_is_not_among_what_is_judged() -> None:
    assert set(places(RETIRED)).isdisjoint(places(JUDGEMENTS))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_rule_says_whether_it_was_seen_true_in_real_code(rule: Rule) -> None:
    seen = any(j["rule"] == rule.code and j["verdict"] == "true" for j in JUDGEMENTS)
    assert rule.unseen is not seen


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_nine_in_ten_of_what_was_read_is_true_or_the_rule_is_in_preview(rule: Rule) -> None:
    loud = [j for j in JUDGEMENTS if j["rule"] == rule.code and j["level"] != "note"]
    true = sum(judgement["verdict"] == "true" for judgement in loud)
    assert rule.preview or true >= 0.9 * len(loud)
