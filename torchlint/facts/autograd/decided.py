"""Forwards about whose graph the program has decided already, so that nobody needs to be told."""

from __future__ import annotations

from torchlint.facts.values.graph import Mode, Op, Value


def is_decided(call: Value) -> bool:
    """Whether the program decides itself whether a forward records a graph.

    A switch there hangs on a condition (``set_grad_enabled(flag)``); or what goes in was detached for it, as for a
    metric; or ``volatile=True``, the guard of torch before 0.4, stands at its input
    (https://pytorch.org/blog/pytorch-0_4_0-migration-guide/).
    """
    if call.mode is Mode.MAYBE:
        return True
    if call.arguments and _is_detached(call.arguments[0]):
        return True
    behind = (value for argument in call.arguments for value in argument.computed_from())
    return any(value.op is Op.CALL and "volatile" in value.keys for value in behind)


def _is_detached(value: Value) -> bool:
    """Whether a value is ``x.detach()`` or ``x.data``, moved or cut as may be."""
    while True:
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
            value = value.inputs[0]
        elif value.op is Op.ATTRIBUTE:
            return value.name == "data"
        elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
            if value.callee.name == "detach":
                return True
            value = value.callee.inputs[0]
        else:
            return False
