"""Indices: what the number, under which an item is put, is taken of."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.novelty import unpacked

NUMBERS = frozenset(["tolist", "item"])
"""Methods of a tensor that give its numbers."""

SAME_CONTENT = frozenset(["cpu", "detach", "numpy", "long", "int", "flatten", "squeeze", "view", "reshape"])
"""Methods of a tensor whose result holds the same numbers."""


def told_by(index: Value) -> Value:
    """The tensor of whose numbers an index is one: ``ids`` of ``for i, row in zip(ids.tolist(), rows)``."""
    value, is_number = index, False
    while True:
        value = unpacked(value)
        callee = value.callee if value.op is Op.CALL else None
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            value = value.inputs[0]
        elif callee is not None and callee.op is Op.ATTRIBUTE and callee.name in NUMBERS | SAME_CONTENT:
            value, is_number = callee.inputs[0], is_number or callee.name in NUMBERS
        elif callee is not None and callee.name == "builtins.int" and value.arguments:
            value, is_number = value.arguments[0], True
        else:
            return value if is_number else index


def is_of_last(item: Value) -> bool:
    """Whether an item is taken of the last row of a history."""
    row = item.inputs[0]
    return row.op is Op.SUBSCRIPT and row.keys[0] == -1 and row.inputs[0].name == "history"
