"""Objects that other files give to a network where they make it: its memory, into which it puts its activations."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

RESERVOIR = """
    import random
    import torch
    {imports}

    class Reservoir{base}:
        def __init__(self, room):
            {begin}
            self.room, self.rows = room, []

        def add_all(self, rows):
            for row in rows.unbind(0):
                self.rows.append(row{cut})

        def draw(self, number):
            return torch.stack(random.sample(self.rows, number)).detach()
"""

LEARNER = """
    import torch
    from torch import nn
    import torch.nn.functional as F

    class Learner(nn.Module):
        def __init__(self, reservoir, width=8):
            super().__init__()
            self.reservoir = reservoir
            self.stem, self.head = nn.Linear(4, width), nn.Linear(width, 3)

        def observe(self, x, y, optimizer):
            hidden = self.stem(x)
            loss = F.cross_entropy(self.head(hidden), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.reservoir.add_all(hidden)
            return loss.item()
"""

RUN = """
    import torch
    from learner import Learner
    from reservoir import Reservoir

    def run(loader):
        rows = {made}
        learner = Learner(rows)
        optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
        for x, y in loader:
            learner.observe(x, y, optimizer)
"""


def reservoir(base: str = "", imports: str = "", begin: str = "pass", cut: str = "") -> str:
    return RESERVOIR.format(base=base, imports=imports, begin=begin, cut=cut)


@pytest.mark.parametrize(
    ("text", "made", "told"),
    [
        (reservoir(), "Reservoir(100)", ["learner.py: TLK105 warning"]),
        (reservoir(cut=".detach()"), "Reservoir(100)", []),
        (reservoir(), "restored('rows.pt')", []),  # nobody knows what that is
    ],
    ids=["kept whole", "cut", "unknown"],
)
def test_a_network_gives_its_activations_to_an_object_that_another_file_makes_for_it(
    tmp_path: Path, text: str, made: str, told: list[str]
) -> None:
    files = {"reservoir.py": text, "learner.py": LEARNER, "run.py": RUN.format(made=made)}
    assert Project(tmp_path, files).found() == told


def test_a_network_that_is_given_to_another_one_is_known_by_its_use_alone(tmp_path: Path) -> None:
    text = reservoir("(nn.Module)", "from torch import nn", "super().__init__()")
    files = {"reservoir.py": text, "learner.py": LEARNER, "run.py": RUN.format(made="Reservoir(100)")}
    assert Project(tmp_path, files).found() == []
