"""Texts: what is written there as a string, and what is joined with one, which is a text itself."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.values.graph import Op, Value

STRINGS = frozenset([cst.SimpleString, cst.FormattedString, cst.ConcatenatedString])


def is_written_text(value: Value) -> bool:
    """Whether a value is a string that is written there."""
    return value.syntax.__class__ in STRINGS


def is_joined_with_text(value: Value) -> bool:
    """Whether the program adds a string to a value, or it to one: ``print("answer: " + model(question))``."""
    return any(
        user.op is Op.OPERATION and user.name == "Add" and any(map(is_written_text, user.inputs))
        for user in value.users
    )
