"""What comes back from a function of another file with more in it: a sum beside other things, a longer list."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

FOLD = """
    import torch

    {above}
    def fold({given}):
        {body}
"""

SUMMED = {"given": "total, count, loss", "body": "return total + loss, count + 1", "taken": "total, count"}
BOTH = {
    "given": "seen, loss",
    "body": "return {'loss': seen['loss'] + loss, 'steps': seen['steps'] + 1}",
    "taken": "seen",
}
LONGER = {"given": "rows, loss", "body": "return rows + [loss]", "taken": "rows"}


@pytest.mark.parametrize(
    ("changes", "leaks"),
    [
        (SUMMED, True),
        (SUMMED | {"body": "total += loss; return total, count + 1"}, True),
        (SUMMED | {"body": "return total + loss.item(), count + 1"}, False),
        (SUMMED | {"body": "return total + loss.detach(), count + 1"}, False),
        (SUMMED | {"above": "@torch.no_grad()"}, False),
        (SUMMED | {"body": "return total + 1, loss"}, False),
        (SUMMED | {"after": "total = 0.0"}, False),
        (SUMMED | {"before": "total, count = 0.0, 0"}, False),
        (BOTH, True),
        (BOTH | {"body": "return {'loss': seen['loss'] + float(loss), 'steps': seen['steps'] + 1}"}, False),
        (BOTH | {"body": "return {'steps': seen['steps'] + 1, 'loss': loss * 2}"}, False),
        (LONGER, True),
        (LONGER | {"body": "return [*rows, loss]"}, True),
        (LONGER | {"body": "return (*rows, loss)"}, True),
        (LONGER | {"body": "return rows + [loss.item()]"}, False),
        (LONGER | {"body": "return [*rows[-9:], loss]"}, False),
        (LONGER | {"body": "return rows[-9:] + [loss]"}, False),
        (LONGER | {"body": "return [loss, loss]"}, False),
        (LONGER | {"after": "if len(rows) == 9: rows = []"}, False),
        (LONGER | {"after": "rows = rows[-9:]"}, False),
        (
            LONGER | {"given": "rows, loss, count", "body": "return rows + [loss], count + 1", "taken": "rows, count"},
            True,
        ),
    ],
)
@pytest.mark.parametrize("is_split", [True, False])
def test_a_function_gives_back_what_it_is_given_with_more_in_it(
    tmp_path: Path, changes: dict[str, str], leaks: bool, is_split: bool
) -> None:
    pieces = {"above": "", "before": "pass", "after": "pass"} | changes
    drive = f"""
        import torch
        {"from fold import fold" if is_split else ""}

        def fit(net: torch.nn.Module, loader):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            total, count, rows, seen = 0.0, 0, [], {{"loss": 0.0, "steps": 0}}
            for x, y in loader:
                {pieces["before"]}
                loss = (net(x) - y).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                {pieces["taken"]} = fold({pieces["given"]})
                {pieces["after"]}
            return total, count, rows, seen
    """
    fold = FOLD.format(**pieces)
    files = {"fold.py": fold, "drive.py": drive} if is_split else {"drive.py": fold + drive.replace("\n    ", "\n")}
    assert any("TLK101" in one for one in Project(tmp_path, files).found()) == leaks
