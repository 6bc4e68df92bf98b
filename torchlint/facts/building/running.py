"""Functions that run the network they are given: ``sliding_window_inference(x, size, 4, net)`` is ``net(x)``."""

from __future__ import annotations

from torchlint.facts.values.frameworks import promises
from torchlint.facts.values.graph import Key, Op, Value
from torchlint.frameworks import Holds, Row


def run_by(inputs: list[Value], keys: list[Key]) -> tuple[list[Value], list[Key]]:
    """What a call is made of; of a function, or an object, that runs a network what a call of that network is.

    Args:
        inputs: what is called, and its arguments.
        keys: how each is given: by its position (from 0) or its name; None for what a star spreads, and for the first.

    Returns:
        The network and the other arguments, with their keys; for any other call what is given here.
    """
    row = _row_of(inputs[0])
    at = next((i for i, key in enumerate(keys) if i and key in row.argument), None) if row is not None else None
    if at is None or None in keys[1:]:
        return inputs, keys
    positions = (key - 1 if isinstance(key, int) and at < i else key for i, key in enumerate(keys) if i and i != at)
    return [inputs[at], *(given for i, given in enumerate(inputs) if i and i != at)], [None, *positions]


def _row_of(callee: Value) -> Row | None:
    """The row that says so of a function, or of the class of which an object was made in the same function."""
    is_object = callee.op is Op.CALL
    named = callee.callee if is_object else callee
    if named.op is not Op.EXTERNAL:
        return None
    return next((row for row in promises(named.name, Holds.RUNS) if bool(row.methods) is is_object), None)
