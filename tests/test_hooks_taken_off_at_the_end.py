"""Hooks whose list is emptied only where they are taken off: a training in between fills it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

PROBE = """
    from collections import defaultdict
    from functools import partial

    class Probe:
        def __init__(self, model):
            self.seen = defaultdict(list)
            self.handles = [
                layer.register_forward_hook(partial(self.note, name)) for name, layer in model.named_modules()
            ]

        def note(self, name, layer, args, out):
            self.seen[name].append(out{cut})

        def clear(self):
            self.seen.clear()

        def close(self):
            for handle in self.handles:
                handle.remove()
            {ended}
"""

TRAIN = """
    import torch
    from torch import nn
    from probe import Probe

    def step(model, optimizer, x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def main(loader):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        {before}
        for x, y in loader:
            step(model, optimizer, x, y)
            {each}
        {after}

    if __name__ == "__main__":
        main([])
"""

MADE = {"before": "probe = Probe(model)", "after": "probe.close()"}
EXTRACTS = "with torch.no_grad():\n            model(torch.zeros(1, 4))\n        "


@pytest.mark.parametrize(
    ("probe", "train", "is_told"),
    [
        ({}, MADE, True),
        ({"ended": "self.seen = defaultdict(list)"}, MADE, True),
        ({"cut": ".detach()"}, MADE, False),
        ({}, {**MADE, "each": "probe.clear()"}, False),
        ({}, {"each": "probe = Probe(model); step(model, optimizer, x, y); probe.close()"}, False),
        ({}, {"after": f"probe = Probe(model)\n        {EXTRACTS}probe.close()"}, False),
        ({}, {"before": f"probe = Probe(model)\n        {EXTRACTS}probe.close()"}, False),
    ],
    ids=["cleared at the end", "made anew at the end", "cut", "each step", "made for each", "after", "before"],
)
def test_what_is_emptied_with_the_hooks_alone_grows_while_a_training_runs(
    tmp_path: Path, probe: dict[str, str], train: dict[str, str], is_told: bool
) -> None:
    files = {
        "probe.py": PROBE.format(**{"cut": "", "ended": "self.clear()"} | probe),
        "train.py": TRAIN.format(**{"before": "pass", "each": "pass", "after": "pass"} | train),
    }
    assert any("TLK106" in one for one in Project(tmp_path, files).found()) is is_told
