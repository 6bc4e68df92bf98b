"""The catalogue finds every rule by looking into the folder, and nothing besides."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from types import ModuleType

import pytest
from invoking import ROOT, python

from torchlint import catalog
from torchlint.catalog import codes, fixture_folder, rule_of, rules
from torchlint.explanation import document, fix_availability, headline, section, symptom_table
from torchlint.rule import Finding, Harm, Level, Rule, Symptom


def test_every_file_in_rules_holds_the_rule_its_name_says():
    assert tuple(rule.code for rule in rules()) == codes()
    files = sorted(path.stem for path in (ROOT / "rules").glob("*.py") if path.stem != "__init__")
    assert files == [f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in rules()]


def test_codes_are_sorted_and_come_once():
    assert list(codes()) == sorted(set(codes()))


def test_codes_are_known_without_importing_a_rule(tmp_path):
    program = "import sys; from torchlint.catalog import codes; codes(); print(*sys.modules, sep='\\n')"
    loaded = python("-c", program, cwd=tmp_path).stdout.decode().split()
    assert "torchlint.rules" in loaded
    assert not [name for name in loaded if name.startswith("torchlint.rules.") or name == "libcst"]


def test_rules_are_found_under_one_name_only():
    assert {type(rule).__module__ for rule in rules()} == {
        f"torchlint.rules.{path.stem}" for path in (ROOT / "rules").glob("tlk*.py")
    }


def test_a_rule_that_a_module_imports_or_leaves_abstract_is_not_its_own():
    class Own(Rule):
        def check(self, facts: object) -> Iterator[Finding]:
            return iter(())

    class Abstract(Rule):
        @abstractmethod
        def more(self) -> None: ...

    module = ModuleType("some_rules")
    Own.__module__ = Abstract.__module__ = "some_rules"
    members = {"Own": Own, "Abstract": Abstract, "Rule": Rule, "Imported": type(rules()[0]), "number": 1}
    vars(module).update(members)
    assert [type(rule) for rule in catalog._rules_in(module)] == [Own]


def test_a_code_leads_to_its_rule_and_to_its_fixtures():
    for code in codes():
        rule, folder = rule_of(code), fixture_folder(code)
        assert rule is not None and rule.code == code
        assert folder is not None and folder.name == f"{code}-{rule.name}"
    assert rule_of("TLK000") is None
    assert fixture_folder("TLK000") is None
    assert fixture_folder("*") is None


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
class TestEveryRule:
    def test_declares_what_it_is(self, rule: Rule):
        assert re.fullmatch(r"TLK\d{3}", rule.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
        assert isinstance(rule.level, Level)
        assert rule.harms and all(isinstance(harm, Harm) for harm in rule.harms)
        assert rule.symptoms and all(isinstance(symptom, Symptom) for symptom in rule.symptoms)
        assert rule.triggers

    @pytest.mark.parametrize(
        "title",
        ["What it does", "Why is this bad?", "Example", "Use instead", "When it is not a leak", "Fix safety"],
    )
    def test_documents_itself_part_by_part(self, rule: Rule, title: str):
        assert section(rule, title)

    def test_says_in_its_first_line_what_it_finds(self, rule: Rule):
        assert headline(rule) and headline(rule) in document(rule)
        assert "\n" not in fix_availability(rule)


def test_the_table_names_every_rule_under_each_of_its_symptoms():
    rows = dict(line.strip("| ").split(" | ") for line in symptom_table(rules()).splitlines()[2:])
    for symptom in Symptom:
        named = re.findall(r"TLK\d{3}", rows.get(symptom.value, ""))
        assert named == [rule.code for rule in rules() if symptom in rule.symptoms]
