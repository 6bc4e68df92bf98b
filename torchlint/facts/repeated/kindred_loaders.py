"""Loaders that are known by what else the same code gives: one that is trained on in every epoch is one beside it.

``self.source, self.target = domains(options)`` of a file that is not read says nothing of either. Where the training
goes through the first batch by batch, and through all of it again in the next epoch, that one is a loader; and where a
batch of tensors is taken of the second, too, it is of the same kind.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torchlint.facts.turns.data_passes import source_of_one
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.facts.values.homes import stored_at

if TYPE_CHECKING:
    from torchlint.facts import Facts

KNOWN = sys.stdlib_module_names | {"builtins", "torch", "numpy"}
"""Packages of which is known what their functions give."""

MOVES = frozenset(["to", "cuda"])
"""Methods by which a part of a batch goes to the device: text and labels as words have none of them."""

DEPTH = 4
"""So many steps back from a loader to what gives it: an item of an attribute that is an item of a result."""


def draws_from_kin(facts: Facts, call: Value) -> bool:
    """Whether ``next(iter(target))`` takes a batch of what is a loader as far as what was given beside it says.

    Args:
        facts: the facts of the file.
        call: a CALL of ``next``.
    """
    loader = source_of_one(call)
    giver = _giver(facts, loader) if loader is not None else None
    if giver is None or not _is_batch(call):
        return False
    trained_on = (loop.iterable for loop in facts.graph.loops if _is_trained_on_again(facts, loop))
    through = (gone for iterable in trained_on if iterable is not None for gone in facts.steps.gone_over(iterable))
    return any(_giver(facts, gone) == giver for gone in through)


def _is_batch(drawn: Value) -> bool:
    """Whether parts of what is taken are tensors that go to a device: ``x, _ = next(...)``, then ``x.to(device)``."""
    parts = (user for user in drawn.users if user.op in (Op.ELEMENT, Op.SUBSCRIPT))
    moved = (user for part in parts for user in part.users if user.op is Op.ATTRIBUTE and user.name in MOVES)
    return any(one.calls for one in moved)


def _is_trained_on_again(facts: Facts, loop: Loop) -> bool:
    """Whether each turn is a step of training, and the same is gone through anew in each epoch: no mere iterator."""
    if facts.repetitions.turn(loop) is not Turn.TRAINS:
        return False
    callers = facts.solution.callers.get(loop.function, ())
    return loop.parent is not None or any(caller.loop is not None for caller in callers)


def _giver(facts: Facts, value: Value) -> Value | str | None:
    """What gives a loader among others: the name of a function that is not seen, or what a value is an item of."""
    is_item = False
    for _ in range(DEPTH):
        stored = facts.solution.arguments_of(value) if value.op is Op.PARAMETER else stored_at(facts.solution, value)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            value, is_item = value.inputs[0], True
        elif len(stored) == 1:
            value = stored[0]
        else:
            break
    if value.op is Op.CALL and value.callee.op is Op.EXTERNAL:
        name = value.callee.name
        return None if name.partition(".")[0] in KNOWN or not facts.flows.is_unknown_call(value) else name
    return value if value.op is Op.PARAMETER and is_item and not facts.solution.callers.get(value.function) else None
