"""``reduce(step, batches, start)``: a loop whose turns update what ``step`` returns."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project, loop

FOLD = """
from functools import reduce

def step(total, batch):
    x, y = batch
    loss = model(x).sub(y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {returned}

print({folded})
"""


@pytest.mark.parametrize(
    ("returned", "folded", "expected"),
    [
        ("total + loss", "reduce(step, loader, 0.0)", 1),
        ("total + loss.item()", "reduce(step, loader, 0.0)", 0),
        ("total + loss.detach()", "reduce(step, loader, 0.0)", 0),
        ("loss", "reduce(step, loader, 0.0)", 0),
        ("total + loss", "[step(0.0, batch).item() for batch in loader]", 0),
    ],
)
def test_a_reduction_over_batches_carries_its_sum(returned: str, folded: str, expected: int) -> None:
    assert len(Program(TRAINING + FOLD.format(returned=returned, folded=folded)).leaks()) == expected


LAYERS = """
from functools import reduce

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
    def forward(self, x):
        return reduce(lambda hidden, layer: torch.relu(layer(hidden)), self.layers, x)

net = Stack()
for x, y in loader:
    loss = net(x).sub(y).square().mean()
    loss.backward()
    optimizer.step()
"""


def test_a_reduction_over_layers_carries_nothing_from_step_to_step() -> None:
    assert Program(TRAINING + LAYERS).leaks() == []


CELLS = """
    from functools import reduce

    def mul(a, b):
        return a * b

    def cells(shape):
        return reduce(mul, shape)
"""


def test_a_reduction_in_another_file_is_summarised(tmp_path: Path) -> None:
    train = loop(imports="from sizes import cells", before="total = 0.0", each="total += loss * cells(x.shape)")
    project = Project(tmp_path, {"sizes.py": CELLS, "train.py": train})
    assert project.found("train.py") == ["train.py: TLK101 warning"]
