"""What a loop takes of a generator of the file: ``for number, rows in shards(table):``."""

from __future__ import annotations

from typing import NamedTuple

from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.known import Known

__all__ = ["YieldedItem", "yielded_item"]


class YieldedItem(NamedTuple):
    """What a generator yields, or an item of that, and the call of the generator."""

    item: Value
    call: Value


def yielded_item(solution: Known, value: Value) -> YieldedItem | None:
    """What an ELEMENT is in the generator that yields it, where that yields in one place; None for any other value."""
    is_part = value.op is Op.ELEMENT and value.keys[0] is not None and value.inputs[0].op is Op.ELEMENT
    turn = value.inputs[0] if is_part else value
    call = turn.inputs[0] if turn.op is Op.ELEMENT else turn
    functions = solution.functions_of(call) if call.op is Op.CALL else []
    if turn.op is not Op.ELEMENT or len(functions) != 1 or not functions[0].is_generator or functions[0].is_foreign:
        return None
    yielded = choices(functions[0].result)
    if len(yielded) != 1:
        return None
    (item,) = yielded
    if not is_part:
        return YieldedItem(item, call)
    if item.op is not Op.CONTAINER or value.keys[0] not in item.keys:
        return None
    return YieldedItem(item.inputs[item.keys.index(value.keys[0])], call)
