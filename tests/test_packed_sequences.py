"""``data`` of a packed sequence is the tensor itself, and no alias without its graph."""

from __future__ import annotations

import pytest
from programs import Program

SPEECH = """
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

net, rnn = nn.Linear(8, 8), nn.LSTM(8, 8)
out = net(torch.rand(4, 9, 8))
print({read})
"""


@pytest.mark.parametrize(
    ("read", "has_graph"),
    [
        ("pack_padded_sequence(out, [9, 8, 8, 2], batch_first=True).data", True),
        ("pack_sequence([out[0], out[1]]).data", True),
        ("rnn(pack_padded_sequence(out, [9, 8, 8, 2]))[0].data", True),
        ("pack_padded_sequence(out.detach(), [9, 8, 8, 2]).data", False),
        ("pack_padded_sequence(out, [9, 8, 8, 2]).data.data", False),
        ("out.data", False),
        ("rnn(out.data)[0].data", False),
    ],
)
def test_the_data_of_a_packed_sequence_has_its_graph(read: str, has_graph: bool) -> None:
    program = Program(SPEECH.format(read=read))
    (value,) = program.printed()
    assert (program.facts.flows.live(value) is not None) is has_graph
