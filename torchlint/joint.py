"""Files that are read as one: what is found in their joined text, as findings of the files where it stands.

The whole knows more than each of its files, so it decides: what a file by itself would say, and the whole does not, is
not said. Two things a file by itself knows better. Where several of the files are programs, the whole runs one after
the other, which nobody does, and each of these is heard as well. And where a leak's line is in a file that is not
checked, the call in a checked one that leads there is told instead.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from torchlint.diagnostic import Diagnostic, Evidence, Repair, Replacement
from torchlint.project.joining import Joined, without_numbers

__all__ = ["by_file", "is_read_alone_too", "line_seen_from", "told"]

Findings = Mapping[str, Sequence[Diagnostic]]
"""What is found in a joined text, by the absolute paths of the files where it stands."""

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


def is_read_alone_too(joined: Joined, path: str, whole: Findings, given: Set[str]) -> bool:
    """Whether :func:`told` needs what the file ``path`` says by itself; ``given`` are the files that are checked."""
    return path in whole or _is_one_of_several(joined, path) or not whole.keys() <= given


def told(joined: Joined, path: str, whole: Findings, alone: Sequence[Diagnostic], given: Set[str]) -> list[Diagnostic]:
    """What is said of one of the files.

    Args:
        joined: the files.
        path: the file's absolute path.
        whole: what is found in the joined text.
        alone: what the file says by itself; nothing where that is not needed.
        given: the files that are checked, by their absolute paths.
    """
    same = {(one.line, one.code): one for one in alone}
    here = [_completed(one, same.get((one.line, one.code))) for one in whole.get(path, ())]
    seen = [one for file, found in whole.items() if file in given for one in found]
    unseen = [one for file, found in whole.items() if file not in given for one in found]
    is_heard = _is_one_of_several(joined, path)
    for one in alone:
        leads_there = any(_is_same(one, other) for other in unseen)
        if leads_there or (is_heard and not any(_is_same(one, other) for other in seen)):
            here.append(one)
    return list({(one.line, one.code): one for one in reversed(here)}.values())


def _is_one_of_several(joined: Joined, path: str) -> bool:
    return path in joined.programs and len(joined.programs) > 1


def _is_same(alone: Diagnostic, other: Diagnostic) -> bool:
    """Whether a finding of a file by itself and one of the whole may tell the same leak.

    It may be told where something is handed over, or where it is kept; what is told of it then is of one kind, and has
    a line in common, or names the other's file.
    """
    if _kind(alone) != _kind(other):
        return False
    texts = [alone.message, *(step.text for step in alone.evidence)]
    return any(os.path.basename(other.path) in text for text in texts) or not _places(alone).isdisjoint(_places(other))


def _kind(one: Diagnostic) -> str:
    return next((kind[0] for kind in KINDS if one.code in kind), one.code)


def _places(one: Diagnostic) -> set[tuple[str, int]]:
    """The lines of a finding and of its evidence, each with the absolute path of its file."""
    path = os.path.abspath(one.path)
    return {
        *((path, line) for line in range(one.line, one.end_line + 1)),
        *((step.file(path), step.line) for step in one.evidence),
    }


def _completed(one: Diagnostic, alone: Diagnostic | None) -> Diagnostic:
    """A finding of the whole; where its file makes it as well, in the file's words, which knows how to repair it."""
    written = one.repair is not None and bool(one.repair.replacements)
    if alone is None:
        return one if written else replace(one, repair=None)
    elsewhere = tuple(step for step in one.evidence if step.path is not None)
    repair = alone.repair
    if repair is not None and one.repair is not None and not one.repair.safe:
        repair = replace(repair, safe=False)
    elif repair is None and written:
        repair = one.repair
    message = alone.message if alone.memory is one.memory else one.message
    return replace(one, message=message, repair=repair, evidence=(*alone.evidence, *elsewhere))


def by_file(joined: Joined, found: Sequence[Diagnostic]) -> Findings:
    """The findings in a joined text by the files where they stand, each with the places that it has there.

    A repair that changes anything else than its file, or what is written otherwise there, has no replacements.
    """
    placed: dict[str, list[Diagnostic]] = defaultdict(list)
    for one in found:
        number, line, column = joined.place(one.line, one.column)
        _, end_line, end_column = joined.place(one.end_line, one.end_column)
        path = joined.files[number].path
        placed[path].append(
            replace(
                one, path=path, line=line, column=column, end_line=end_line, end_column=end_column,
                message=without_numbers(one.message),
                evidence=tuple(_step(joined, number, step) for step in one.evidence),
                repair=None if one.repair is None else _repair(joined, number, one.repair),
            )
        )  # fmt: skip
    return dict(placed)


def _step(joined: Joined, number: int, step: Evidence) -> Evidence:
    """A step of the evidence, as the file ``number`` sees it."""
    there, line, column = joined.place(step.line, step.column)
    own, other = joined.files[number].path, joined.files[there].path
    seen = None if there == number else os.path.relpath(other, os.path.dirname(own))
    return Evidence(line, column, without_numbers(step.text), seen)


def _repair(joined: Joined, number: int, repair: Repair) -> Repair:
    title, replacements = without_numbers(repair.title), []
    for replacement in repair.replacements:
        span = joined.span(replacement.start, replacement.end)
        if span is None or span[0] != number or without_numbers(replacement.text) != replacement.text:
            return Repair(title, repair.safe, ())
        replacements.append(Replacement(span[1], span[2], replacement.text))
    return Repair(title, repair.safe, tuple(replacements))
