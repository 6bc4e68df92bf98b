"""Networks that their own file trains, and other files ask: what the callers there do is not what the forward does."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.text, self.image = nn.Linear(8, 3), nn.Linear(8, 3)
            self.optimizer = torch.optim.Adam(self.parameters())

        def numbers(self, rows):
            return torch.tensor(rows)

        def forward(self, texts, images):
            {inside}
            text = self.text(self.numbers(texts))
            return {returned}

        def fit_batch(self, texts, images):
            self.optimizer.zero_grad()
            text, image = self(texts, images)
            loss = (text - image).pow(2).mean()
            loss.backward()
            self.optimizer.step()
            return loss.item()
"""

ASKING = """
    import torch
    from net import Net

    class Ranker:
        def __init__(self):
            self.net = Net()

        def encode(self, candidates):
            self.net.eval()
            found = []
            for texts in candidates:
                found.append(self.net(texts, texts)[0].detach().cpu())
            return torch.cat(found)

        def fit(self, batches):
            return [self.net.fit_batch(texts, images) for texts, images in batches]
"""


@pytest.mark.parametrize(
    ("inside", "returned", "is_told"),
    [
        ("pass", "text, self.image(images)", True),
        ("pass", "(text, self.image(images))", True),
        ("pass", "[text, self.image(images)]", True),
        ("text = torch.autograd.grad(self.text(images).sum(), images)", "text, self.image(images)", False),
        ("self.image(images).sum().backward()", "text, self.image(images)", False),
    ],
)
def test_a_forward_whose_callers_train_is_asked_for_its_answer(
    tmp_path: Path, inside: str, returned: str, *, is_told: bool
) -> None:
    files = {"net.py": NET.format(inside=inside, returned=returned), "ranking.py": ASKING}
    found = [one for one in Project(tmp_path, files).found() if one.startswith("ranking.py: TLK201")]
    assert found == (["ranking.py: TLK201 warning"] if is_told else [])
