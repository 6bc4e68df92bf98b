"""Tensors that are cut into pieces, all of which together are the whole."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.values.graph import Op, Value

PIECES = frozenset(["chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit"])
"""Methods that give views of all parts, one after the other."""


def pieces_of(value: Value) -> Value | None:
    """The tensor that ``chunk`` and the like cut, None for any other value."""
    if value.op is not Op.CALL or value.callee.name.rpartition(".")[2] not in PIECES:
        return None
    if value.callee.op is Op.ATTRIBUTE:
        return value.callee.inputs[0] if value.callee.name != "split" or not _is_text(value) else None
    return value.arguments[0] if value.callee.name.startswith("torch.") and value.arguments else None


def _is_text(call: Value) -> bool:
    """``text.split(",")`` and ``text.split()`` cut no tensor."""
    return not call.arguments or isinstance(call.arguments[0].syntax, cst.SimpleString)
