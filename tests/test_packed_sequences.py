"""``data`` of a packed sequence is the tensor itself, and no alias without its graph."""

from __future__ import annotations

import pytest
from programs import Program
from rule_programs import diagnose

from torchlint.facts.building.packing import PACKED_DATA
from torchlint.facts.values.graph import Op
from torchlint.source import Source

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


UNSEEN = """
import torch
from torch import nn
from torch.utils.data import DataLoader
from packing import flat

def train(rows):
    net, other = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    optimizer = torch.optim.Adam([*other.parameters(), *net.parameters()])
    for x, y in DataLoader(rows):
        answer = net(x)
        answer = {shaped}
        loss = (answer.data - other(x)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("shaped", "told"), [("flat(answer)", []), ("torch.relu(answer)", ["TLK203"])])
def test_what_the_data_of_an_object_is_that_nobody_knows_is_not_known(shaped: str, told: list[str]) -> None:
    assert [one.code for one in diagnose(Source("train.py", UNSEEN.format(shaped=shaped)))] == told


LAYERS = """
from torch.nn.utils.rnn import pack_padded_sequence

def run(layers, rows, lengths):
    rows = {begin}
    for layer in layers:
        if layer.is_recurrent:
            rows = layer(rows)[0]
    return rows.data
"""


@pytest.mark.parametrize(
    ("begin", "name"), [("pack_padded_sequence(rows, lengths)", PACKED_DATA), ("rows.float()", "data")]
)
def test_what_layers_in_a_loop_make_of_a_packed_sequence_is_one(begin: str, name: str) -> None:
    """What the variable is after the loop leads back to itself."""
    reads = Program(LAYERS.format(begin=begin)).facts.graph.of(Op.ATTRIBUTE)
    assert [one.name for one in reads if one.inputs[0].op is Op.PHI] == [name]
