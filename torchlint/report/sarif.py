"""SARIF 2.1.0, which GitHub's code scanning and many editors read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torchlint import __version__
from torchlint.catalog import rules
from torchlint.explanation import document, headline
from torchlint.report.lines import Lines
from torchlint.report.paths import uri

if TYPE_CHECKING:
    from torchlint.diagnostic import Diagnostic, Evidence, Repair
    from torchlint.rule import Rule
    from torchlint.run import Run

__all__ = ["render"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# Every path is relative to the folder the run was started in, which a server knows as the checkout's root.
_ROOT = "%SRCROOT%"


def render(run: Run) -> str:
    """One SARIF log with one run; ASCII only."""
    known = rules()
    index = {rule.code: number for number, rule in enumerate(known)}
    results = [_result(one, Lines(file.text), index) for file in run.in_order for one in file.diagnostics]
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "torchlint",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in known],
                    }
                },
                "invocations": [_invocation(run)],
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    """One rule with its documentation."""
    text = document(rule)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": headline(rule) or rule.name},
        "fullDescription": {"text": text or rule.name},
        "help": {"text": text or rule.name, "markdown": text or rule.name},
        "defaultConfiguration": {"level": rule.level.value, "enabled": not rule.preview},
        "properties": {"tags": ["memory", "pytorch"], "problem.severity": _severity(rule)},
    }


def _severity(rule: Rule) -> str:
    """GitHub's word for the rule's level."""
    return "recommendation" if rule.level.value == "note" else rule.level.value


def _invocation(run: Run) -> dict[str, Any]:
    """Whether every file could be checked and, if not, which could not."""
    said = [] if run.problem is None else [_notification(run.problem)]
    said += [
        _notification(file.failure) | {"locations": [_location(file.path, None)]}
        for file in run.in_order
        if file.failure is not None
    ]
    return {"executionSuccessful": not run.failed, "toolExecutionNotifications": said}


def _notification(text: str) -> dict[str, Any]:
    """Something that could not be done."""
    return {"level": "error", "message": {"text": text}}


def _result(diagnostic: Diagnostic, lines: Lines, index: dict[str, int]) -> dict[str, Any]:
    """One finding."""
    region = {
        "startLine": diagnostic.line,
        "startColumn": diagnostic.column,
        "endLine": diagnostic.end_line,
        "endColumn": diagnostic.end_column,
    }
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": diagnostic.level.value,
        "message": {"text": diagnostic.message},
        "locations": [_location(diagnostic.path, region)],
    }
    if diagnostic.code in index:
        result["ruleIndex"] = index[diagnostic.code]
    if diagnostic.evidence:
        result["relatedLocations"] = [
            _related(diagnostic.path, number, step) for number, step in enumerate(diagnostic.evidence)
        ]
    if diagnostic.repair is not None and diagnostic.repair.replacements:
        result["fixes"] = [_fix(diagnostic.path, diagnostic.repair, lines)]
    return result


def _related(path: str, number: int, step: Evidence) -> dict[str, Any]:
    """One step of the evidence; ``number`` is its id within the finding."""
    place = _location(step.file(path), {"startLine": step.line, "startColumn": step.column})
    return {"id": number, "message": {"text": step.text}, **place}


def _fix(path: str, repair: Repair, lines: Lines) -> dict[str, Any]:
    """A repair as one change of one file."""
    replacements = []
    for edit in repair.replacements:
        line, column = lines.position(edit.start)
        end_line, end_column = lines.position(edit.end)
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
        replacements.append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    return {
        "description": {"text": repair.title},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }


def _location(path: str, region: dict[str, int] | None) -> dict[str, Any]:
    """A stretch of a file, or the whole of it."""
    place: dict[str, Any] = {"artifactLocation": _artifact(path)}
    return {"physicalLocation": place if region is None else place | {"region": region}}


def _artifact(path: str) -> dict[str, str]:
    """A file's name; absolute ones take no base."""
    name = uri(path)
    return {"uri": name} if name.startswith("file:") else {"uri": name, "uriBaseId": _ROOT}
