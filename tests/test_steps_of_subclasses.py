"""A base class in one file runs the loop and the backward, and the class of another file says what a step is."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
    from collections import defaultdict

    class Trainer:
        def __init__(self, net, optimizer, batches):
            self.net, self.optimizer, self.batches = net, optimizer, batches
            self.total, self.curve, self.sums = 0.0, [], defaultdict(float)

        def step(self, batch):
            raise NotImplementedError

        def note(self, value):
            self.total = self.total + value

        def plot(self, value):
            self.curve.append(value)

        def add(self, **values):
            for name, value in values.items():
                self.sums[name] += value

        def add_all(self, values):
            for name, value in values.items():
                self.sums[name] += value

        def note_number(self, value):
            self.total = self.total + value.item()

        def show(self):
            print(float(self.total), [float(one) for one in self.curve], {{k: float(v) for k, v in self.sums.items()}})

        def run(self, epochs):
            for epoch in range(epochs):
                {loop}
                self.show()
"""

RUN = """for batch in self.batches:
                    {begin}
                    loss = self.step(batch)
                    self.optimizer.zero_grad()
                    {train}
                    self.optimizer.step()"""

STEP = """
    import torch.nn.functional as F
    from base import Trainer

    class Denoiser(Trainer):
        def step(self, batch):
            noisy, clean = batch
            made = self.net(noisy)
            fit = F.mse_loss(made, clean)
            smooth = (made[1:] - made[:-1]).abs().mean()
            {note}
            return fit + 0.1 * smooth
        {more}
"""

MAIN = """
    import torch
    from torch import nn
    from denoise import Denoiser

    def main(batches):
        net = nn.Linear(16, 16)
        {made}(net, torch.optim.Adam(net.parameters()), batches).run(3)

    TRAINERS = {{"denoise": Denoiser}}
"""
MADE = ["Denoiser", 'TRAINERS["denoise"]']


def found(
    folder: Path,
    note: str,
    made: str,
    *,
    train: str = "loss.backward()",
    begin: str = "pass",
    more: str = "pass",
) -> list[str]:
    loop = RUN.format(train=train, begin=begin)
    files = {
        "base.py": BASE.format(loop=loop),
        "denoise.py": STEP.format(note=note, more=more),
        "main.py": MAIN.format(made=made),
    }
    return Project(folder, files).found()


NOTES = [
    "self.note(fit)",
    "super().note(fit)",
    "self.plot(fit)",
    "self.add(fit=fit, smooth=smooth)",
    "self.add_all({'fit': fit, 'smooth': smooth})",
]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("note", NOTES)
def test_what_a_step_hands_to_a_method_that_its_class_inherits_is_kept_with_its_graph(
    tmp_path: Path, note: str, made: str
) -> None:
    assert found(tmp_path, note, made) == ["denoise.py: TLK105 warning"]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "note",
    ["self.note(fit.detach())", "self.note(fit.item())", "self.note_number(fit)", "self.add(fit=fit.detach())", "pass"],
)
def test_numbers_are_not(tmp_path: Path, note: str, made: str) -> None:
    assert found(tmp_path, note, made) == []


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    ("note", "base"),
    [
        ("self.note(fit)", {"begin": "self.total = 0.0"}),
        ("self.plot(fit)", {"begin": "self.curve = []"}),
        ("self.plot(fit)", {"train": "(loss + sum(self.curve)).backward()"}),
        ("self.note(fit)", {"train": "(loss + self.total).backward()"}),
        ("self.note(fit)", {"train": "print(loss.item())"}),
    ],
)
def test_what_the_base_class_trains_on_or_gives_up_or_never_trains_on_is_not(
    tmp_path: Path, note: str, base: dict[str, str], made: str
) -> None:
    assert found(tmp_path, note, made, **base) == []


def test_a_class_with_a_loop_of_its_own_is_not_run_by_that_of_its_base(tmp_path: Path) -> None:
    own = "def run(self, epochs):\n            print(self.step(next(self.batches)))"
    assert found(tmp_path, "self.note(fit)", MADE[0], more=own) == []
