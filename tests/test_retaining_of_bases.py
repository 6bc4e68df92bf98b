"""A base that has a helper of another file keep the graph, of losses that only classes which derive from it compute."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

HELP = """
    def differentiate(cost, scaler=None, keep=False):
        {scaled}
        cost.backward(retain_graph=keep)
"""

BASE = """
    from help import differentiate

    class Task:
        def __init__(self, net, optimizer, scaler=None):
            self.net, self.optimizer, self.scaler = net, optimizer, scaler

        def terms(self, batch):
            raise NotImplementedError

        def after(self):
            pass

        def learn(self, batch):
            terms = self.terms(batch)
            self.optimizer.zero_grad()
            differentiate(sum(terms.values()), self.scaler, keep={keep})
            {rest}
            self.optimizer.step()
            return {given}

        def run(self, batches):
            for batch in batches:
                print(self.learn(batch))
"""

TASK = """
    from torch import nn
    from base import Task

    class Denoise(Task):
        def terms(self, batch):
            made = self.net(batch)
            self.size = made.abs().mean()
            return {"near": nn.functional.mse_loss(made, batch), "small": 0.1 * self.size}

        def after(self):
            self.size.backward()
"""

SCALED = "if scaler is not None:\n            cost = scaler.scale(cost)"
NUMBERS = "{name: term.item() for name, term in terms.items()}"


@pytest.mark.parametrize(
    ("changed", "is_vain"),
    [
        ({}, True),
        ({"scaled": "cost = scaler.scale(cost) if scaler else cost / 2"}, True),
        ({"scaled": "cost = cost.exp()"}, False),
        ({"keep": "False"}, False),
        ({"rest": "self.after()"}, False),
        ({"rest": "terms['small'].backward()"}, False),
    ],
)
def test_what_a_base_keeps_by_a_helper(tmp_path: Path, changed: dict[str, str], is_vain: bool) -> None:
    told = {"scaled": SCALED, "keep": "True", "rest": "pass", "given": NUMBERS} | changed
    files = {"help.py": HELP.format(**told), "base.py": BASE.format(**told), "task.py": TASK}
    found = [one for one in Project(tmp_path, files).found() if "TLK107" in one]
    assert found == (["base.py: TLK107 warning"] if is_vain else [])
