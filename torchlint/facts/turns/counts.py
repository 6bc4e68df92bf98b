"""What a loop counts to: a size, a number that is written there, and what is another one in each of its turns."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.syntax.tree import dotted, walk

SIZES = frozenset(["size", "shape", "len"])
"""What tells how large something is."""


def counts_to_size(loop: Loop) -> bool:
    """``for i in range(0, len(x), 2)``, ``while x.shape[1] > n``: whether a loop goes through the size of something."""
    if isinstance(loop.syntax, cst.While):
        return any(
            isinstance(node, cst.Name | cst.Attribute) and (dotted(node) or "").rpartition(".")[2] in SIZES
            for node in walk(loop.syntax.test)
        )
    parts = (part for bound in _counted_to(loop) for part in bound.computed_from())
    sized = (part.callee if part.op is Op.CALL else part for part in parts if part.op in (Op.CALL, Op.ATTRIBUTE))
    return any(one.name.rpartition(".")[2] in SIZES for one in sized)


def is_new_each_turn(value: Value, loop: Loop) -> bool:
    """Whether ``value`` is another one in each turn of ``loop`` itself: computed from its variable or its counter."""
    return any(
        part in loop.phis
        or (part.loop is loop and (part.op is Op.ELEMENT or (part.op is Op.CONSTANT and part.syntax is None)))
        for part in value.computed_from()
    )


def counts_few(loop: Loop) -> bool:
    """Whether a loop counts to a number that is written there, as over ten classes: bounded, whatever it keeps."""
    bounds = _counted_to(loop)
    return bool(bounds) and all(bound.op is Op.CONSTANT for bound in bounds)


def _counted_to(loop: Loop) -> tuple[Value, ...]:
    """What a loop gives ``range`` that goes over its numbers; nothing for any other loop."""
    iterable = loop.iterable
    is_range = iterable is not None and iterable.op is Op.CALL and iterable.callee.name == "builtins.range"
    return iterable.arguments if iterable is not None and is_range else ()
