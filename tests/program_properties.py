"""What holds for every program whatever, said once for the tests and for ``scripts/fuzz.py``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from traceback import extract_tb

from torchlint.catalog import rules
from torchlint.diagnostic import Diagnostic
from torchlint.engine import check
from torchlint.fix.applying import apply_repairs, fix_source
from torchlint.run import internal_error
from torchlint.source import Source, Unreadable
from torchlint.syntax.positions import line_starts

__all__ = ["diagnose", "place_of", "verdict"]


def verdict(source: Source) -> tuple[int, str | None, list[str]]:
    """How many findings a text has, why it cannot be checked if so, and what should hold for it and does not.

    No exception but Unreadable leaves the analysis. The screen changes no finding. A finding stands in the text, and
    so does what its repair replaces. Repairs leave what they do not replace, give valid Python, and leave nothing that
    a second run would repair.
    """
    found: tuple[Diagnostic, ...] = ()
    try:
        found = diagnose(source.text)
        return len(found), None, list(_broken(source, found))
    except Unreadable as error:
        return len(found), error.reason, []
    except Exception as error:
        return len(found), None, [f"{internal_error(error)[:200]} in {place_of(error)}"]


def place_of(error: BaseException) -> str:
    """The innermost of our own functions that an exception left."""
    frames = [
        one for one in extract_tb(error.__traceback__) if "/torchlint/" in one.filename or "/rules/" in one.filename
    ]
    return f"{frames[-1].filename.rpartition('/')[2]}, {frames[-1].name}" if frames else "the tests"


@lru_cache(maxsize=32)
def diagnose(text: str) -> tuple[Diagnostic, ...]:
    """All that is found in a text, notes too; raises Unreadable."""
    return check(Source("generated.py", text), rules(), use_screen=False).diagnostics


def _broken(source: Source, found: tuple[Diagnostic, ...]) -> Iterator[str]:
    if not found:
        return  # the screen can only leave rules out
    if check(source, rules()).diagnostics != tuple(replace(one, path=source.path) for one in found):
        yield "the screen changes what is found"
    for one in found:
        yield from _misplaced(source.text, one)
        if one.repair is not None:
            after, _ = apply_repairs(source.text, [one.repair])
            yield from (f"{one.code}: {problem}" for problem in _changed_elsewhere(source.text, after, one))
    if any(one.repair is not None for one in found):
        for unsafe in (False, True):
            yield from _unstable(source, unsafe)


def _misplaced(text: str, one: Diagnostic) -> Iterator[str]:
    starts = [*line_starts(text), len(text)]
    begin = starts[one.line - 1] + one.column - 1
    end = starts[one.end_line - 1] + one.end_column - 1
    if not 0 <= begin <= end <= len(text):
        yield f"{one.code} stands outside of the text"
    for step in one.evidence:
        if not (1 <= step.line < len(starts) and starts[step.line - 1] + step.column - 1 <= len(text)):
            yield f"{one.code} has evidence outside of the text"


def _changed_elsewhere(before: str, after: str, one: Diagnostic) -> Iterator[str]:
    """Whether a repair changes a top-level statement that nothing of it stands in."""
    assert one.repair is not None
    spans = [(piece.start, piece.end) for piece in one.repair.replacements]
    if not all(0 <= start <= end <= len(before) for start, end in spans):
        yield "replaces what is outside of the text"
        return
    old, new = _top_level(before), _top_level(after)
    if old is None:
        return
    if new is None:
        return  # refused when it is applied
    left = iter(dump for _, _, dump in new)
    for start, end, dump in old:
        if all(there < start or here > end for here, there in spans) and dump not in left:
            yield "changes a statement that it does not name"


def _top_level(text: str) -> Sequence[tuple[int, int, str]] | None:
    """Begin, end and tree of each statement of a module; None for a text of more than ASCII, or of no valid Python."""
    if not text.isascii():
        return None  # columns of ast count bytes
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    starts = [*line_starts(text), len(text)]
    return [
        (
            starts[min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) - 1],
            starts[node.end_lineno or 1],  # with its line end: what is put there is in its last block
            ast.dump(node),
        )
        for node in tree.body
    ]


def _unstable(source: Source, unsafe: bool) -> Iterator[str]:
    kind = "all" if unsafe else "safe"

    def find(there: Source) -> tuple[Diagnostic, ...]:
        return diagnose(there.text)

    outcome = fix_source(source, find, unsafe=unsafe)
    if not _parses(source.text):
        return
    if not _parses(outcome.text):
        yield f"{kind} repairs give no valid Python"
        return
    again = fix_source(replace(source, text=outcome.text), find, unsafe=unsafe)
    if again.text != outcome.text:
        yield f"a second run of {kind} repairs applies {sorted({one.code for one in again.applied})}"


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
