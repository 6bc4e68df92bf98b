"""Texts: what is written there as a string, and what is joined with one, which is a text itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Kind, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.graph import ValueGraph

STRINGS = frozenset([cst.SimpleString, cst.FormattedString, cst.ConcatenatedString])

EMPTY = ("builtins.list", "builtins.dict")
"""What makes a list or a dictionary, with nothing in it where it is given nothing."""


def is_written_text(value: Value) -> bool:
    """Whether a value is a string that is written there."""
    return value.syntax.__class__ in STRINGS


def texts_of(graph: ValueGraph) -> frozenset[Value]:
    """All values that are texts, since they begin as one: ``line = ""``, then ``line += letters[k]`` in a loop.

    What a variable is on several ways is a text if it is one on all of them, and an item of a list or a dictionary if
    all that is seen to be put into that are texts: ``lines = [""] * n``, then ``lines[i] += letters[k]``.
    """
    joined = {value: _joined(value) for value in graph.of(Op.OPERATION) if value.name in ("Add", "AddAssign")}
    if not any(joined.values()):
        return frozenset()
    ways = {value: tuple(value.inputs) for value in graph.of(Op.PHI) if value.inputs} | _items(graph)
    uses: dict[Value, list[Value]] = defaultdict(list)
    for user, parts in (*ways.items(), *joined.items()):
        for part in parts:
            uses[part].append(user)
    texts = set(filter(is_written_text, uses))
    pending = list(texts)
    while pending:  # what may be one
        found = [user for user in uses.get(pending.pop(), ()) if user not in texts]
        texts.update(found)
        pending += found
    pending = [value for value in ways if value in texts and not texts.issuperset(ways[value])]
    while pending:  # what is none after all
        value = pending.pop()
        if value in texts:
            texts.remove(value)
            pending += [user for user in uses[value] if user in ways or texts.isdisjoint(joined[user])]
    return frozenset(texts)


def _joined(value: Value) -> Sequence[Value]:
    """Of what two values are joined, what makes the whole a text if it is one: a list takes a text's letters."""
    return value.inputs if value.name == "Add" else value.inputs[:1]


def _items(graph: ValueGraph) -> dict[Value, tuple[Value, ...]]:
    """For each item that is read of a list or a dictionary, made where it is read, all that was put into that."""
    put: dict[Value, list[Value]] = defaultdict(list)
    for store in graph.stores:
        if store.kind in (Kind.INSERT, Kind.UPDATE) and store.holder is not None:
            put[store.holder.unnarrowed()].append(store.value)
    items = {}
    for read in graph.of(Op.SUBSCRIPT):
        held = read.inputs[0].unnarrowed()
        made = held.inputs[0] if held.op is Op.OPERATION and held.name == "Multiply" else held
        is_empty = made.op is Op.CALL and made.callee.name in EMPTY and not made.arguments
        if held in put and (made.op is Op.CONTAINER or is_empty):
            items[read] = (*(() if is_empty else made.inputs), *put[held])
    return items


def is_joined_with_text(value: Value) -> bool:
    """Whether the program adds a string to a value, or it to one: ``print("answer: " + model(question))``."""
    return any(
        user.op is Op.OPERATION and user.name == "Add" and any(map(is_written_text, user.inputs))
        for user in value.users
    )
