"""The repairs of every rule on its folder of programs: they give the repaired twin, once and for all."""

from __future__ import annotations

import tokenize
from io import StringIO
from pathlib import Path

import libcst as cst
import pytest
from rule_programs import diagnose, named, programs

from torchlint.fix.applying import fix_source
from torchlint.source import Source, read_source
from torchlint.verify.programs import read_settings


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_the_repair_gives_the_repaired_program(path: Path) -> None:
    kind = read_settings(path.read_text()).fix
    source = read_source(path)
    if kind == "manual":
        pytest.skip("this one is repaired by hand")
    outcome = fix_source(source, diagnose, unsafe=kind == "unsafe")
    twin = read_source(path.with_name(path.name.replace("leak_", "fixed_", 1)))
    assert outcome.text == twin.text


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_repairing_twice_changes_nothing_more(path: Path) -> None:
    source = read_source(path)
    once = fix_source(source, diagnose, unsafe=True).text
    again = fix_source(Source(source.path, once, source.encoding, source.has_bom), diagnose, unsafe=True).text
    assert again == once
    cst.parse_module(once)
    assert comments(once) == comments(source.text)


METER = """
import torch
from torch import nn

class Meter:
    def __init__(self):
        self.total, self.rows = 0.0, []
    def add(self, value, count):
        self.total += value * count
    def note(self, value):
        self.rows.append(value)

net = nn.Linear(3, 1)
meter = Meter()
for x in torch.rand(9, 4, 3):
    loss = net(x).square().mean()
    loss.backward()
    meter.add(loss, len(x))
    meter.note(loss)
    {also}
"""


@pytest.mark.parametrize(
    ("also", "count"), [("pass", 2), ("meter.add(loss.item(), 1)", 1), ("meter.note(float(loss))", 1)]
)
def test_what_is_a_number_for_some_callers_is_not_detached(also: str, count: int) -> None:
    source = Source("meter.py", METER.format(also=also), "utf-8", has_bom=False)
    assert fix_source(source, diagnose, unsafe=True).text.count(".detach()") == count


def comments(text: str) -> list[str]:
    return [
        token.string for token in tokenize.generate_tokens(StringIO(text).readline) if token.type == tokenize.COMMENT
    ]


DRAWS = """
import torch
from torch import nn
from torch.distributions import Independent, Normal

net, wide, kept = nn.Linear(3, 3), nn.Parameter(torch.ones(3)), []
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.utils.data.DataLoader(list(torch.ones(9, 3))):
    mean = net(x)
    drawn = Normal(mean, wide)
    loss = -drawn.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append({})
"""


@pytest.mark.parametrize(
    ("written", "repaired"),
    [
        ("Normal(mean, wide)", "Normal(mean.detach(), wide)"),
        (
            "Independent(Normal(mean * 2, wide.exp()), 1)",
            "Independent(Normal((mean * 2).detach(), wide.exp().detach()), 1)",
        ),
        ("drawn", "drawn"),  # made elsewhere: no distribution has a `detach`
    ],
)
def test_of_a_distribution_the_tensors_are_detached(written: str, repaired: str) -> None:
    source = Source("program.py", DRAWS.format(written))
    (told,) = (one for one in diagnose(source) if one.code == "TLK102")
    assert "detach(), " in told.message
    assert fix_source(source, diagnose, unsafe=True).text == DRAWS.format(repaired)
