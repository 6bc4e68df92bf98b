"""Terms that are summed up or listed beside the objective which is trained on when the loop is over."""

from __future__ import annotations

import pytest

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.source import Source

STEP = """\
import torch
from torch import nn
from torch.nn import functional as F

def fit(words: nn.Module, tones: nn.Module, optimizer, songs, wanted, rounds):
    {outside}
    for _ in range(rounds):
        loss = 0
        {inside}
        for song in songs:
            tone = F.mse_loss(tones(song), wanted)
            {objective}
            {each}
        {behind}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {end}
"""

JOINED = "loss += F.mse_loss(words(song), wanted) + tone"
LAST = "loss = F.mse_loss(words(song), wanted) + tone"
STEPPED = JOINED + "; optimizer.zero_grad(); loss.backward(); optimizer.step(); loss = 0"


def found(
    outside: str, inside: str, objective: str, each: str, *, behind: str = "pass", end: str = "pass"
) -> list[str]:
    """The codes at the statement of each turn."""
    rules = [rule for code in ("TLK101", "TLK102") if (rule := rule_of(code)) is not None]
    text = STEP.format(outside=outside, inside=inside, objective=objective, each=each, behind=behind, end=end)
    return [diagnostic.code for diagnostic in check(Source("program.py", text), rules).diagnostics]


@pytest.mark.parametrize(
    ("made", "each", "shown", "code"),
    [
        ("heard = 0", "heard += tone", "print(heard.item())", "TLK101"),
        ("heard = []", "heard.append(tone)", "print(sum(heard).item())", "TLK102"),
    ],
)
def test_what_the_objective_holds_as_well(made: str, each: str, shown: str, code: str) -> None:
    assert found("pass", made, JOINED, each, behind=shown) == []
    assert found("pass", made, LAST, each, behind=shown) == [code]  # the objective holds one term of all
    assert found("pass", made, STEPPED, each, behind=shown) == [code]  # each turn has its backward
    assert found(made, "pass", JOINED, each, end=shown) == [code]  # it goes on into the next round


def test_another_term_than_that_of_the_objective() -> None:
    assert found(
        "pass", "heard = 0", JOINED, "heard += F.mse_loss(words(song), wanted)", behind="print(heard.item())"
    ) == ["TLK101"]


def test_a_list_that_is_given_back() -> None:
    assert found("heard = []", "heard = []", JOINED, "heard.append(tone)", end="return heard") == ["TLK102"]
