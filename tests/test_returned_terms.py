"""Terms of an objective that its file hands to a third one to keep, while another file trains on their sum."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

SERIES = """
    _kept = {}
    _last = {}

    def note(name, value):
        _kept.setdefault(name, []).append(value)

    def show(name, value):
        _last[name] = value

    def means(last=50):
        return {name: sum(map(float, rows[-last:])) / len(rows[-last:]) for name, rows in _kept.items()}
"""

EMPTYING = """

    def flush():
        _kept.clear()
"""

OBJECTIVE = """
    import torch
    import torch.nn.functional as F
    from series import note, show

    def spread(codes):
        return (codes.std(0) - 1).pow(2).sum()

    {head}
        fit = F.mse_loss({out}, {aim})
        regular = spread({codes}).mean()
        {each}
        return {result}
"""

HEADS = {
    "objective": "def objective(out, aim, codes, weight=0.1):",
    "Objective": "class Objective:\n    def __init__(self, weight):\n        self.weight = weight\n"
    "    def __call__(self, out, aim, codes):",
    "Criterion": "class Criterion(torch.nn.Module):\n    def __init__(self, weight):\n        super().__init__()\n"
    "        self.weight = weight\n    def forward(self, out, aim, codes):",
}

TRAIN = """
    import torch
    from torch import nn
    from objective import {name}
    from series import means

    def main(loader, epochs):
        body, head = nn.Linear(9, 3), nn.Linear(3, 9)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
        judge = {made}
        for epoch in range(epochs):
            for x in loader:
                codes = body(x)
                loss = judge(head(codes), x, codes)
                optimizer.zero_grad()
                {train}
                optimizer.step()
            print(epoch, means())
"""

LEAK = ["objective.py: TLK105 warning"]


def found(
    folder: Path, name: str, each: str, result: str, *, train: str = "loss.backward()", more: str = ""
) -> list[str]:
    """What is found in the three files."""
    indent = "" if name == "objective" else "    "
    body = OBJECTIVE.replace("\n        ", f"\n        {indent}")
    weight = "weight" if name == "objective" else "self.weight"
    head = HEADS[name].replace("\n", "\n    ")
    parts = {"out": "out", "aim": "aim", "codes": "codes", "head": head}
    objective = body.format(each=each, result=result.replace("weight", weight), **parts)
    made = name if name == "objective" else f"{name}(0.1)"
    main = TRAIN.format(name=name, made=made, train=train)
    if name == "objective":
        main = main.replace("judge(", "objective(")
    return Project(folder, {"series.py": SERIES + more, "objective.py": objective, "train.py": main}).found()


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize(
    ("each", "result"),
    [
        ('note("regular", regular)', "fit + weight * regular"),
        ('note("fit", fit)', "fit + regular"),
        ('note("fit", fit)', "fit"),
        ('total = fit - regular / 2; note("total", total)', "total"),
    ],
)
def test_a_term_that_a_third_file_keeps_has_the_graph_that_another_trains_on(
    tmp_path: Path, name: str, each: str, result: str
) -> None:
    assert found(tmp_path, name, each, result) == LEAK


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize(
    ("each", "result"),
    [
        ('note("regular", regular.item())', "fit + weight * regular"),
        ('note("regular", regular.detach())', "fit + weight * regular"),
        ('note("scale", weight)', "fit + weight * regular"),
        ('note("width", aim.abs().mean())', "fit + weight * regular"),
        ('note("scale", aim.abs().mean())', "fit * aim.abs().mean()"),
        ('note("regular", regular)', "fit + regular.item()"),
        ('show("fit", fit)', "fit"),
    ],
)
def test_numbers_data_and_what_is_replaced_are_left_alone(tmp_path: Path, name: str, each: str, result: str) -> None:
    assert found(tmp_path, name, each.replace("weight", "0.5"), result) == []


def test_what_nobody_trains_on_or_its_file_empties_is_left_alone(tmp_path: Path) -> None:
    each, result = 'note("fit", fit)', "fit + regular"
    assert found(tmp_path / "told", "objective", each, result) == LEAK
    assert found(tmp_path / "read", "objective", each, result, train="print(loss.item())") == []
    assert found(tmp_path / "emptied", "objective", each, result, more=EMPTYING) == []


def test_a_test_that_trains_once_is_no_loop(tmp_path: Path) -> None:
    files = {
        "series.py": SERIES,
        "objective.py": "from series import note\n\ndef objective(out):\n    fit = out.pow(2).mean()\n"
        '    note("fit", fit)\n    return fit\n',
        "check.py": "import torch\nfrom objective import objective\n\ndef once():\n"
        "    loss = objective(torch.ones(3, requires_grad=True))\n    loss.backward()\n",
    }
    assert Project(tmp_path, files).found() == []
