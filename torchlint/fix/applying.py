"""Repairs applied: several at once, checked afterwards, again until nothing is left to repair."""

from __future__ import annotations

import difflib
import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from torchlint.diagnostic import Diagnostic, Repair, Replacement
from torchlint.source import Source, Unreadable
from torchlint.syntax.depth import check_nesting, parse_shallow
from torchlint.syntax.positions import line_starts

__all__ = [
    "FixOutcome",
    "apply_repairs",
    "diff",
    "drops_comment",
    "fix_source",
]

LAID_BARE = 3
"""How many repairs deep findings are repaired that hid behind others."""

_Check = Callable[[Source], Sequence[Diagnostic]]
_Key = tuple[str, str, int]
"""A finding with a repair: code, title of the repair, and the offset at which the finding stands."""


@dataclass(frozen=True)
class FixOutcome:
    """What repairing one file gave.

    Attributes:
        text: the text afterwards, the same as before when nothing was applied.
        applied: the findings that were repaired, each as it stood in the text of its pass.
        remaining: the findings in ``text``.
    """

    text: str
    applied: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]


def fix_source(source: Source, check: _Check, *, unsafe: bool, passes: int = 10) -> FixOutcome:
    """Apply the repairs of a file's findings until nothing is left to apply.

    In each pass all repairs that do not touch each other are applied together. A repair is dropped, and the
    others kept, when the result would not parse, would bring a finding with a code that the file did not
    have, no milder than what is repaired and that no repair takes away again, or would lose a comment
    though the repair claims to be safe. A repair that did not make its finding go away is not applied there
    a second time.

    Args:
        source: the file.
        check: finds what is to be repaired in a text; suppressed findings must not be among it.
        unsafe: True to apply repairs that do not claim to be safe as well.
        passes: how often at most the file is checked and repaired.

    Raises:
        Unreadable: from ``check``, for the file as it is.
    """
    settled: set[_Key] = set()
    applied: list[Diagnostic] = []
    found = tuple(check(source))
    for _ in range(0 if source.only_cr_newlines else passes):
        wanted = [
            diagnostic
            for diagnostic in found
            if diagnostic.repair is not None
            and (unsafe or diagnostic.repair.safe)
            and _key(source.text, diagnostic) not in settled
            and apply_repairs(source.text, [diagnostic.repair])[0] != source.text
        ]
        step = _step(source, found, wanted, check, unsafe)
        settled = {_moved(key, step.replacements) for key in settled | step.refused}
        settled |= _not_gone(source.text, found, step)
        applied.extend(step.applied)
        if not step.applied and not step.refused:
            break
        source, found = replace(source, text=step.text), step.found
    return FixOutcome(source.text, tuple(applied), found)


def apply_repairs(text: str, repairs: Sequence[Repair]) -> tuple[str, tuple[Repair, ...]]:
    """Apply those of ``repairs`` that do not touch each other, the earlier ones of the sequence first.

    Replacements touch when they overlap or when one is an insertion at the edge of the other. The same
    replacement in several repairs is applied once.

    Returns:
        the new text, and the repairs that were applied; the others may be tried on the new text, once their
        places are known anew.
    """
    taken: set[Replacement] = set()
    applied: list[Repair] = []
    for repair in repairs:
        own = set(repair.replacements)
        others = taken | own
        if not any(_touch(one, other) for one in own - taken for other in others if one != other):
            taken |= own
            applied.append(repair)
    return _replaced(text, taken), tuple(applied)


def drops_comment(before: str, after: str) -> bool:
    """Whether a comment of ``before`` is missing in ``after``; True when that cannot be said."""
    old, new = _comments(before), _comments(after)
    return old is None or new is None or bool(old - new)


def diff(before: str, after: str, path: str) -> str:
    """The difference of two texts as a unified diff that ``patch -p0`` applies; "" when there is none.

    Line ends are part of the lines, and a last line without one is marked as ``diff`` marks it.

    Args:
        before, after: the texts.
        path: the file's name for both headings.
    """
    name = path.replace("\n", "\\n").replace("\r", "\\r")
    lines = difflib.unified_diff(_lines(before), _lines(after), fromfile=name, tofile=name)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True)
class _Step:
    """One pass.

    Attributes:
        text: the text afterwards.
        found: the findings in it.
        applied: the findings whose repairs were applied.
        refused: those whose repairs were tried and dropped.
        replacements: what was replaced.
    """

    text: str
    found: tuple[Diagnostic, ...]
    applied: tuple[Diagnostic, ...] = ()
    refused: frozenset[_Key] = frozenset()
    replacements: frozenset[Replacement] = frozenset()


def _step(
    source: Source, found: tuple[Diagnostic, ...], wanted: Sequence[Diagnostic], check: _Check, unsafe: bool
) -> _Step:
    """Apply the repairs of ``wanted``, all at once where the result is good, else one after the other."""
    best = _Step(source.text, found)
    if not wanted:
        return best
    group = _compatible(source.text, wanted)
    together = _attempt(source, found, group, check, unsafe)
    if together is not None:
        return together
    refused: set[_Key] = set()
    for diagnostic in group:
        # Alone there is nothing new to try.
        attempt = _attempt(source, found, [*best.applied, diagnostic], check, unsafe) if len(group) > 1 else None
        if attempt is None:
            refused.add(_key(source.text, diagnostic))
        else:
            best = attempt
    return replace(best, refused=frozenset(refused))


def _compatible(text: str, wanted: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Those of ``wanted`` whose repairs can be applied together."""
    _, applied = apply_repairs(text, [one.repair for one in wanted if one.repair is not None])
    # Equal repairs of several findings are applied as one, and repair them all.
    return [one for one in wanted if one.repair in applied]


def _attempt(
    source: Source, found: Sequence[Diagnostic], group: Sequence[Diagnostic], check: _Check, unsafe: bool
) -> _Step | None:
    """The pass that applies exactly the repairs of ``group``, or None when its result is not good."""
    repairs = [one.repair for one in group if one.repair is not None]
    text, _ = apply_repairs(source.text, repairs)
    # What an unsafe repair drops is not held against the safe ones beside it.
    unsafe_only, _ = apply_repairs(source.text, [repair for repair in repairs if not repair.safe])
    if text != unsafe_only and drops_comment(unsafe_only, text):
        return None
    try:
        _require_syntax(source.text, text)
        after = tuple(check(replace(source, text=text)))
    except Unreadable:
        return None
    known, mildest = {one.code for one in found}, max(one.level for one in group)

    def is_new(one: Diagnostic) -> bool:
        return one.code not in known and not mildest < one.level

    if not _brings_nothing_new(replace(source, text=text), is_new, after, check, unsafe):
        return None
    replaced = frozenset(replacement for repair in repairs for replacement in repair.replacements)
    return _Step(text, after, applied=tuple(group), replacements=replaced)


def _brings_nothing_new(
    source: Source,
    is_new: Callable[[Diagnostic], bool],
    after: Sequence[Diagnostic],
    check: _Check,
    unsafe: bool,
) -> bool:
    """Whether a text has no new findings, or loses them by their own repairs.

    A repair may lay bare what hid behind its finding: a view, detached, keeps its base, and its copy does not.

    Args:
        source: the text.
        is_new: tells the findings that the text must not have.
        after: what is found in it.
        check, unsafe: see :func:`fix_source`.
    """
    for _ in range(LAID_BARE):
        new = list(filter(is_new, after))
        wanted = [one for one in new if one.repair is not None and (unsafe or one.repair.safe)]
        if not new or len(wanted) < len(new):
            return not new
        text, _ = apply_repairs(source.text, [one.repair for one in wanted if one.repair is not None])
        try:
            _require_syntax(source.text, text)
            source = replace(source, text=text)
            after = check(source)
        except Unreadable:
            return False
    return not any(map(is_new, after))


def _require_syntax(before: str, after: str) -> None:
    """Raise Unreadable unless libcst parses ``after``, and ``ast`` as well if it parses ``before``."""
    import libcst as cst

    try:
        parse_shallow(after)
    except SyntaxError as error:
        if _ast_parses(before):
            raise Unreadable("no longer valid Python") from error
        check_nesting(after, None)
    try:
        cst.parse_module(after)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise Unreadable("no longer valid Python") from error


def _ast_parses(text: str) -> bool:
    try:
        parse_shallow(text)
    except SyntaxError:
        return False
    return True


def _not_gone(text: str, found: Sequence[Diagnostic], step: _Step) -> set[_Key]:
    """The keys, in the new text, of repaired findings that are still there: no fewer than before."""
    before = [_key(text, one) for one in found if one.repair is not None]
    after = [_key(step.text, one) for one in step.found if one.repair is not None]
    settled: set[_Key] = set()
    for key in {_key(text, one) for one in step.applied}:
        place = _place(key, step.replacements)
        old = [one for one in before if one[:2] == key[:2] and place.old_start <= one[2] <= place.old_end]
        new = [one for one in after if one[:2] == key[:2] and place.new_start <= one[2] <= place.new_end]
        if len(new) >= len(old):
            settled.update(new)
    return settled


@dataclass(frozen=True)
class _Place:
    """Where a finding stood and where it may stand after a pass: offsets, both ends inclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def _place(key: _Key, replacements: Iterable[Replacement]) -> _Place:
    """The place of a finding: the replacement that it stands in or at, else the finding alone."""
    offset = key[2]
    around = next((one for one in replacements if one.start <= offset <= one.end), None)
    start, end = (offset, offset) if around is None else (around.start, around.end)
    length = 0 if around is None else len(around.text)
    shift = sum(len(one.text) - (one.end - one.start) for one in replacements if one.end < start)
    return _Place(start, end, start + shift, start + shift + length)


def _key(text: str, diagnostic: Diagnostic) -> _Key:
    """The key of a finding that has a repair."""
    starts = line_starts(text)
    title = diagnostic.repair.title if diagnostic.repair is not None else ""
    return (diagnostic.code, title, starts[diagnostic.line - 1] + diagnostic.column - 1)


def _moved(key: _Key, replacements: Iterable[Replacement]) -> _Key:
    """The key of the same finding after these replacements."""
    code, title, offset = key
    shift = sum(len(one.text) - (one.end - one.start) for one in replacements if one.end <= offset)
    return (code, title, offset + shift)


def _touch(one: Replacement, other: Replacement) -> bool:
    """Whether two replacements overlap, or stand at one place so that their order would matter."""
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return one.start < other.end and other.start < one.end


def _replaced(text: str, replacements: Iterable[Replacement]) -> str:
    """``text`` with all of ``replacements``, none of which touches another."""
    pieces: list[str] = []
    position = 0
    for one in sorted(replacements):
        pieces += [text[position : one.start], one.text]
        position = one.end
    return "".join([*pieces, text[position:]])


def _comments(text: str) -> Counter[str] | None:
    """How often each comment stands in ``text``, or None when this Python's tokenizer gives up."""
    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))
    try:
        return Counter(
            token.string.rstrip()
            for token in tokenize.generate_tokens(lines.readline)
            if token.type == tokenize.COMMENT
        )
    except (tokenize.TokenError, SyntaxError):
        return None


def _lines(text: str) -> list[str]:
    """The lines of ``text`` with their ends, as ``diff`` and ``patch`` count them."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
