"""Forwards that are run once to learn the kind of an output, and those whose output is read, or that run on."""

from __future__ import annotations

import pytest
from programs import HEAD

from torchlint import check_source

ASK = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
    def forward(self, x):
        return self.body(x)

def ask(net: Net, sample):
    if isinstance(sample, torch.Tensor):
        out = net(sample)
    else:
        out = net(*sample)
    {end}
"""


@pytest.mark.parametrize(
    ("end", "codes"),
    [
        ("return out.shape[-1]", []),
        ("return net if out.is_quantized else None", []),
        ("return out.size(1), out.dtype", []),
        ("return out.argmax()", ["TLK201"]),
        ("return out.shape[-1], out.detach()", ["TLK201"]),
        ("del out", ["TLK201"]),
    ],
)
def test_a_forward_of_which_the_kind_is_read_is_a_probe(end: str, codes: list[str]) -> None:
    assert [found.code for found in check_source(HEAD + ASK.format(end=end))] == codes


@pytest.mark.parametrize(("head", "codes"), [("if True:", []), ("for sample in samples:", ["TLK201"])])
def test_a_probe_is_no_loop_over_data(head: str, codes: list[str]) -> None:
    asks = f"def widths(samples, sample):\n    net = Net()\n    {head}\n        width = ask(net, sample)\n"
    source = HEAD + ASK.format(end="return out.shape[-1]") + asks
    assert [found.code for found in check_source(source)] == codes
