"""Packed sequences, whose ``data`` is the tensor itself, with its graph: ``pack_padded_sequence(x, lengths).data``."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached

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
    return any(
        one.op is Op.CALL and one.callee.op is Op.EXTERNAL and one.callee.name in PACKERS
        for one in reached([value], _made_of)
    )


def _made_of(value: Value) -> tuple[Value, ...]:
    """What a join chooses from, and what the call is given that a value is the first result of."""
    if value.op is Op.PHI:
        return value.inputs
    call = value.inputs[0] if value.op in (Op.ELEMENT, Op.SUBSCRIPT) and value.keys[0] == 0 else None
    if call is None or call.op is not Op.CALL or call.callee.name in PACKERS:
        return ()
    return tuple(call.arguments[:1])
