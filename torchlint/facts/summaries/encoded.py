"""Summaries as JSON, and back: so they are kept from one run to the next."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.summaries.parts import Part, PartKind
from torchlint.facts.summaries.summary import (
    CallSummary,
    ClassSummary,
    FunctionSummary,
    HandingOver,
    HoldSummary,
    KeepSummary,
    LoopSummary,
    ParameterSummary,
    Summary,
    ViewSummary,
)
from torchlint.facts.summaries.write_summary import Step, WriteSummary
from torchlint.symbol import Symbol

__all__ = ["decode", "encode"]

_TYPES: tuple[type[Any], ...] = (
    Summary, FunctionSummary, ClassSummary, ParameterSummary, CallSummary, KeepSummary, LoopSummary, ViewSummary,
    HandingOver, HoldSummary, EffectSummary, WriteSummary, Step, Part,
)  # fmt: skip

_SYMBOLS: dict[type[Any], type[Symbol]] = {Part: PartKind, EffectSummary: EffectKind}
"""What the field ``kind`` is of those that have one."""

_DEFAULTS: dict[type[Any], tuple[tuple[str, Any], ...]] = {
    kind: tuple((one.name, one.default) for one in fields(kind)) for kind in _TYPES
}
"""The fields of each type, and what they are where nothing is given; one that has to be given equals no default."""

_TYPE = ""
"""The name under which a type's number stands: no field has it."""


def encode(summary: Summary | None) -> str:
    """A summary, or that there is none, in one line of JSON; fields that have their defaults are left out."""
    return json.dumps(_plain(summary), separators=(",", ":"), ensure_ascii=True)


def decode(line: str | bytes) -> Summary | None:
    """The inverse of :func:`encode`.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the line was not written by it.
    """
    summary = _whole(json.loads(line))
    if summary is not None and not isinstance(summary, Summary):
        raise ValueError("no summary")
    return summary


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Symbol):
        return value.value
    kind = type(value)
    if kind not in _TYPES:
        return value
    named = ((name, getattr(value, name), default) for name, default in _DEFAULTS[kind])
    return {_TYPE: _TYPES.index(kind), **{name: _plain(one) for name, one, default in named if one != default}}


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return tuple([_whole(item) for item in value])
    if not isinstance(value, dict):
        return value
    kind = _TYPES[value.pop(_TYPE)]
    given = {name: _whole(one) for name, one in value.items()}
    if kind in _SYMBOLS:
        given["kind"] = _SYMBOLS[kind](given["kind"])
    return kind(**given)
