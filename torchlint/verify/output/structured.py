"""The same for programs that read: JSON and JUnit's XML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from torchlint.verify.verification import Row, Verdict

__all__ = ["junit", "to_json"]


def to_json(rows: Sequence[Row]) -> str:
    """A list of objects, one for each program, with what was found of each harm."""
    return json.dumps([_object(row) for row in rows], indent=2) + "\n"


def _object(row: Row) -> dict[str, Any]:
    return {
        "rule": row.label,
        "program": row.program.path.name,
        "device": row.device,
        "verdict": row.verdict.value,
        "sentence": row.sentence,
        "results": row.results,
        "remarks": list(row.remarks),
        "harms": [
            {
                "harm": found.harm.name.lower(),
                "answer": found.answer.value,
                "unit": found.unit,
                "figure": found.figure,
                "fixed": row.fixed_figure(found),
                "sentence": found.sentence,
            }
            for found in row.judgements
        ],
    }


def junit(rows: Sequence[Row]) -> str:
    """JUnit's XML: one suite for each rule, one case for each program; no times, so that two runs give the same."""
    root = ElementTree.Element("testsuites", name="torchlint verify")
    for label, group in groupby(rows, key=lambda row: row.label):
        cases = list(group)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=label,
            tests=str(len(cases)),
            failures=str(sum(row.verdict is Verdict.FAILS for row in cases)),
            skipped=str(sum(row.verdict is Verdict.SKIPPED for row in cases)),
        )
        for row in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"{label}.{row.device}", name=row.program.path.stem
            )
            if row.verdict is Verdict.FAILS:
                ElementTree.SubElement(case, "failure", message=row.sentence)
            elif row.verdict is Verdict.SKIPPED:
                ElementTree.SubElement(case, "skipped", message=row.sentence)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
