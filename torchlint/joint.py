"""Files that are read as one: what is found in their joined text, as findings of the files where it stands."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from torchlint.diagnostic import Diagnostic, Evidence, Repair, Replacement
from torchlint.project.joining import Joined, without_numbers

__all__ = ["by_file", "line_seen_from", "what_is_new"]


KINDS = (
    ("TLK101", "TLK102", "TLK103", "TLK104", "TLK105", "TLK106", "TLK111"),
    ("TLK201", "TLK202", "TLK203"),
    ("TLK301", "TLK302", "TLK304", "TLK305"),
    ("TLK401", "TLK402", "TLK403", "TLK404", "TLK405"),
)
"""The rules that may tell one leak, each where it looks: what keeps graphs, what records them for nothing."""


def line_seen_from(joined: Joined, own: int, line: int) -> str:
    """How a finding in the line ``own`` of the joined text speaks of another one: ``24``, or ``24 of engine.py``."""
    here, there = joined.place(own, 1), joined.place(line, 1)
    name = "" if here[0] == there[0] else f" of {os.path.basename(joined.files[there[0]].path)}"
    return f"{there[1]}{name}"


def what_is_new(joined: Joined, found: Sequence[Diagnostic], known: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Of what is ``found`` in a joined text, that which is not ``known`` of its files one by one.

    One leak that takes several files may be told where something is handed over, or where it is kept; what is told of
    it then is of one kind, and has a line in common, or names the other's file.
    """
    told: dict[str, set[tuple[str, int]]] = defaultdict(set)
    named: dict[str, list[str]] = defaultdict(list)
    for one in known:
        told[_kind(one)].update((os.path.abspath(one.path), line) for line in _lines(one))
        named[_kind(one)] += [one.message, *(step.text for step in one.evidence)]
    new = []
    for one in found:
        file = os.path.basename(joined.files[joined.place(one.line, 1)[0]].path)
        is_named = any(file in text for text in named[_kind(one)])
        if not is_named and told[_kind(one)].isdisjoint(_places(joined, one)):
            new.append(one)
    return new


def _kind(one: Diagnostic) -> str:
    return next((kind[0] for kind in KINDS if one.code in kind), one.code)


def _lines(one: Diagnostic) -> set[int]:
    return {*range(one.line, one.end_line + 1), *(step.line for step in one.evidence)}


def _places(joined: Joined, one: Diagnostic) -> set[tuple[str, int]]:
    """The lines of a finding in a joined text, each with the file where it stands."""
    placed = (joined.place(line, 1) for line in _lines(one))
    return {(os.path.abspath(joined.files[number].path), line) for number, line, _ in placed}


def by_file(joined: Joined, found: Sequence[Diagnostic]) -> Mapping[str, Sequence[Diagnostic]]:
    """The findings in a joined text by the files where they stand, each with the places that it has there.

    A repair that changes anything else than its file, or what is written otherwise there, is none; a step of the
    evidence in another file is left out.
    """
    placed: dict[str, list[Diagnostic]] = defaultdict(list)
    for one in found:
        number, line, column = joined.place(one.line, one.column)
        _, end_line, end_column = joined.place(one.end_line, one.end_column)
        steps = ((step, joined.place(step.line, step.column)) for step in one.evidence)
        evidence = tuple(Evidence(at[1], at[2], step.text) for step, at in steps if at[0] == number)
        path = joined.files[number].path
        placed[path].append(
            replace(
                one, path=path, line=line, column=column, end_line=end_line, end_column=end_column,
                message=without_numbers(one.message), evidence=evidence,
                repair=None if one.repair is None else _repair(joined, number, one.repair),
            )
        )  # fmt: skip
    return placed


def _repair(joined: Joined, number: int, repair: Repair) -> Repair | None:
    spans = [joined.span(replacement.start, replacement.end) for replacement in repair.replacements]
    moved = []
    for replacement, span in zip(repair.replacements, spans, strict=True):
        if span is None or span[0] != number or without_numbers(replacement.text) != replacement.text:
            return None
        moved.append(Replacement(span[1], span[2], replacement.text))
    return Repair(without_numbers(repair.title), repair.safe, tuple(moved))
