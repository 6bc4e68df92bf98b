"""What a dictionary had under a key is gone once something else stands there, also where the dictionary is kept."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

LOOP = """
import torch

def step(net, x):
    return {"loss": net(x).mean(), "rows": len(x)}

def train(net, opt, loader, is_careful):
    history = []
    for x in loader:
        opt.zero_grad()
        out = MADE
        out["loss"].backward()
        opt.step()
        TURN
    return history
"""


def found(made: str, turn: str) -> list[str]:
    source = LOOP.replace("MADE", made).replace("TURN", turn.replace("\n", "\n        "))
    return [one.code for one in diagnose(Source("record.py", source))]


@pytest.mark.parametrize("made", ['{"loss": net(x).mean(), "rows": len(x)}', "step(net, x)"])
@pytest.mark.parametrize(
    "turn",
    [
        'out["loss"] = out["loss"].detach()\nhistory.append(out)',
        'out["loss"] = out["loss"].item()\nhistory.append(out)',
        'history.append(out)\nout["loss"] = float(out["loss"])',
    ],
)
def test_what_is_replaced_is_not_kept(made: str, turn: str) -> None:
    assert found(made, turn) == []


@pytest.mark.parametrize("made", ['{"loss": net(x).mean(), "rows": len(x)}', "step(net, x)"])
@pytest.mark.parametrize(
    "turn",
    [
        "history.append(out)",
        'out["rows"] = 3\nhistory.append(out)',
        'if is_careful:\n    out["loss"] = out["loss"].detach()\nhistory.append(out)',
        'out["loss"] = 0.0\nout["loss"] = net(x).mean()\nout["loss"].backward()\nhistory.append(out)',
    ],
)
def test_what_is_still_there_or_may_be_is(made: str, turn: str) -> None:
    assert found(made, turn) == ["TLK102"]
