"""Tensors that are made once and written in place, and what is computed with them."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.autograd.written_buffers import is_read_by_forward

CACHE = """
class Cache:
    def __init__(self, rows):
        self.keys, self.length = torch.zeros(1, rows, 8), 0

    def update(self, keys):
        end = self.length + keys.size(1)
        self.keys[:, self.length:end] = keys
        self.length = end
        return self.keys[:, :end]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys, self.query = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, cache=None):
        keys = self.keys(x)
        if cache is not None:
            {update}
        return x + (self.query(x) @ keys.transpose(1, 2)).softmax(-1) @ keys

def complete(net: Net, x, steps):
    cache = Cache(32)
    for _ in range(steps):
        x = net(x, cache)[:, -1:]
    return x
"""


@pytest.mark.parametrize(
    ("update", "is_read"),
    [
        ("keys = cache.update(keys)", True),
        ("cache.update(keys); keys = cache.keys[:, :cache.length]", True),
        ("keys = cache.update(keys).detach()", False),
        ("cache.update(keys)", False),
    ],
)
def test_a_network_reads_what_it_has_written_before(update: str, is_read: bool) -> None:
    facts = Program(CACHE.format(update=update)).facts
    (written,) = [store.holder for store in facts.graph.stores if store.is_item and store.holder is not None]
    assert is_read_by_forward(facts, written) is is_read
