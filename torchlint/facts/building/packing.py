"""Packed sequences, whose ``data`` is the tensor itself, with its graph: ``pack_padded_sequence(x, lengths).data``."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value

PACKERS = frozenset(
    [
        "torch.nn.utils.rnn.pack_padded_sequence",
        "torch.nn.utils.rnn.pack_sequence",
    ]
)
"""What makes one, https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html."""

PACKED_DATA = "packed data"
"""What the ``data`` of one is called here: that of a tensor is another thing, an alias without the graph."""


def name_of_attribute(base: Value, name: str) -> str:
    """What an attribute is called in the graph.

    Args:
        base: what it is read of.
        name: how it is written.

    Returns:
        ``name``, or :data:`PACKED_DATA`.
    """
    return PACKED_DATA if name == "data" and _is_packed(base) else name


def _is_packed(value: Value) -> bool:
    """Whether one is made there, or is what a recurrent layer gives for one: ``rnn(packed)[0]``."""
    if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
        call = value.inputs[0]
        is_first = value.keys[0] == 0 and call.op is Op.CALL and bool(call.arguments)
        return is_first and call.callee.name not in PACKERS and _is_packed(call.arguments[0])
    if value.op is Op.PHI:
        return any(map(_is_packed, value.inputs))
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in PACKERS
