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
    if row is None or None in keys[1:]:
        return inputs, keys
    at = _at(keys, row.argument)
    handed = [_at(keys, one) for one in row.handed] or [i for i in range(1, len(keys)) if i != at]
    found = [i for i in handed if i is not None]
    if at is None or len(found) < len(handed):
        return inputs, keys
    moved = range(len(found)) if row.handed else (_without(keys[i], keys[at]) for i in found)
    return [inputs[at], *(inputs[i] for i in found)], [None, *moved]


def _at(keys: list[Key], argument: tuple[int, str]) -> int | None:
    """Which of the inputs of a call is an argument, by its position or its name."""
    return next((i for i, key in enumerate(keys) if i and key in argument), None)


def _without(key: Key, left: Key) -> Key:
    """A position where the argument at another one is not handed on."""
    return key - 1 if isinstance(key, int) and isinstance(left, int) and left < key else key


def _row_of(callee: Value) -> Row | None:
    """The row that says so of a function, or of the class of which an object was made in the same function."""
    is_object = callee.op is Op.CALL
    named = callee.callee if is_object else callee
    if named.op is not Op.EXTERNAL:
        return None
    return next((row for row in promises(named.name, Holds.RUNS) if bool(row.methods) is is_object), None)
