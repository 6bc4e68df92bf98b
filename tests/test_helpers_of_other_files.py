"""What a helper of another file computes of what a network gave there, and gives back beside other things."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

CRITERION = """
    from torch import nn

    class Criterion(nn.Module):
        def forward(self, model, batch):
            scores = model(batch["input"])
            {computed}
            report = {{"loss": loss.item(), "plain": {reported}, "count": len(batch["target"])}}
            return loss, report

        def losses(self, scores, target):
            plain = -scores.log_softmax(-1).gather(1, target[:, None]).sum()
            return 0.9 * plain - 0.1 * scores.log_softmax(-1).sum(), plain

    def losses(scores, target):
        plain = -scores.log_softmax(-1).gather(1, target[:, None]).sum()
        return 0.9 * plain - 0.1 * scores.log_softmax(-1).sum(), plain
"""

TRAINER = """
    import torch
    from torch import nn
    from criterion import Criterion

    def train(loader):
        model, criterion, reports = nn.Linear(4, 3), Criterion(), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in loader:
            loss, report = criterion(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            reports.append(report)
        return [one["count"] for one in reports]
"""

TOLD = ["trainer.py: TLK102 warning"]


@pytest.mark.parametrize(
    ("computed", "reported", "told"),
    [
        ('loss, plain = self.losses(scores, batch["target"])', "plain", TOLD),
        ('loss, plain = self.losses(scores.float(), target=batch["target"])', "plain", TOLD),
        ('loss, plain = losses(scores.log_softmax(-1), batch["target"])', "plain", TOLD),
        ('loss, plain = self.losses(scores, batch["target"])', "plain.detach()", []),
        ('loss, plain = self.losses(scores, batch["target"])', "float(plain)", []),
        ('loss, plain = self.losses(scores, batch["target"]); _, plain = self.losses(scores.detach(), batch["target"])',
         'batch["target"]', []),
    ],
    ids=["method", "by name", "function", "cut", "number", "beside"],
)  # fmt: skip
def test_a_report_of_another_file_has_the_graph_of_what_a_helper_there_computes(
    tmp_path: Path, computed: str, reported: str, told: list[str]
) -> None:
    criterion = CRITERION.format(computed=computed, reported=reported)
    assert Project(tmp_path, {"criterion.py": criterion, "trainer.py": TRAINER}).found("trainer.py") == told
