"""What an objective leaves on itself of the loss that it returns, where another file trains on that."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

OBJECTIVE = """
    from torch import nn

    class Objective(nn.Module):
        def __init__(self, weight=1.0):
            super().__init__()
            self.weight, self.latest = weight, None

        def compute(self, out, target):
            {computed}

        def forward(self, out, target):
            value = self.compute(out, target)
            self.latest = value{cut}
            return self.weight * value

        def shown(self):
            return {shown}
"""

BELOW = """
    from objective import Objective

    class Absolute(Objective):
        def compute(self, out, target):
            return (out - target).abs().mean()
"""

FIT = """
    import torch
    from torch import nn
    from {where} import {cls}

    def fit(loader):
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {made}
        for epoch in range(9):
            for x, y in loader:
                out = net(x)
                loss = {loss}
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(epoch, {shown})
"""

SQUARES = "return (out - target).pow(2).mean()"
NUMBER = "float('nan') if self.latest is None else self.latest.item()"
TOLD = ["objective.py: TLK111 note"]


def left(
    folder: Path, computed: str = SQUARES, cut: str = "", shown: str = NUMBER, where: str = "objective", **fit: str
) -> list[str]:
    """What is found where ``cls`` of the file ``where`` is trained with."""
    told = {"cls": "Objective", "made": "objective = Objective(0.5)", "loss": "objective(out, y)"} | fit
    told = {"shown": "objective.shown()"} | told
    objective = OBJECTIVE.format(computed=computed, cut=cut, shown=shown)
    files = {"objective.py": objective, "fit.py": FIT.format(where=where, **told)}
    found = Project(folder, files | ({"below.py": BELOW} if where == "below" else {})).found()
    return [one for one in found if "TLK111" in one]


ONE_OF_MANY = {
    "made": "objectives = [Objective(0.5), Objective(2.0)]",
    "loss": "sum(one(out, y) for one in objectives)",
    "shown": "[one.shown() for one in objectives]",
}
CHOSEN = {**ONE_OF_MANY, "made": "every = [Objective(0.5), Objective(2.0)]; objectives = [one for one in every if one]"}
DERIVED = {"where": "below", "cls": "Absolute", "made": "objective = Absolute(0.5)"}
DERIVED_MANY = {name: text.replace("Objective(", "Absolute(") for name, text in ONE_OF_MANY.items()}


@pytest.mark.parametrize(
    "options",
    [{}, ONE_OF_MANY, CHOSEN, {**DERIVED, "computed": "raise NotImplementedError"},
     {**DERIVED, **DERIVED_MANY, "computed": "raise NotImplementedError"}],
    ids=["one", "a list", "some of a list", "computed below", "a list of what is computed below"],
)  # fmt: skip
def test_an_objective_keeps_the_graph_of_the_last_loss_for_a_number(tmp_path: Path, options: dict[str, str]) -> None:
    assert left(tmp_path, **options) == TOLD


@pytest.mark.parametrize(
    "options",
    [
        {"cut": ".detach()"},
        {"cut": ".item()"},
        {"shown": "self.latest"},  # who gets it may train on it
        {"shown": "0.0", "loss": "objective(out, y) + 0.1 * objective.latest"},
        {"loss": "(out - y).abs().mean() + objective(out.detach(), y).detach()"},
        {"made": "pass", "loss": "(objective := Objective(0.5))(out, y)"},  # a new one in each step
    ],
    ids=["cut", "a number", "given on", "a term", "not trained on", "made anew"],
)
def test_what_an_objective_leaves_is_no_loss_where_somebody_may_want_it(
    tmp_path: Path, options: dict[str, str]
) -> None:
    assert left(tmp_path, **options) == []
