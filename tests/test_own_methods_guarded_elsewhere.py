"""Methods of an object that one of its methods runs without gradients, and another one with them."""

from __future__ import annotations

import pytest

from torchlint import check_source
from torchlint.config import Settings

BRAIN = """
import torch

class Brain:
    def __init__(self, nets, optimizer):
        self.nets, self.optimizer = torch.nn.ModuleDict(nets), optimizer

    def answer(self, batch):
        raise NotImplementedError

    def fit(self, batches):
        for batch in batches:
            loss = self.answer(batch)
            loss.backward()
            self.optimizer.step()

    def judge(self, batch):
        loss = self.answer(batch)
        return loss.detach().cpu()

    def validate(self, batches):
        self.nets.eval()
        {guard}
            return sum(self.judge(batch) for batch in batches)

    def test(self, batches):
        {begin}
        total = 0.0
        for batch in batches:
            total += float({judged})
        return total
"""

USUAL = {"guard": "with torch.no_grad():", "begin": "self.nets.eval()", "judged": "self.judge(batch)"}


@pytest.mark.parametrize(
    ("parts", "is_told"),
    [
        ({}, True),
        ({"guard": "if batches:"}, False),
        ({"begin": "self.nets.train()"}, False),
        ({"judged": "len(batch)"}, False),
    ],
    ids=["unguarded", "guarded nowhere", "in training mode", "not run"],
)
def test_one_that_is_guarded_elsewhere_infers_here_as_well(parts: dict[str, str], is_told: bool) -> None:
    found = check_source(BRAIN.format(**{**USUAL, **parts}), settings=Settings(notes=True))
    told = [(one.code, one.level.value) for one in found if one.code == "TLK201"]
    assert told == ([("TLK201", "note")] if is_told else [])


MIXIN = """
import numpy as np
import torch

class Encoding:
    def encode(self, rows):
        self.module.eval()
        found = []
        for row in self.loader(rows):
            {guard}
                answer = self.module.infer(self.module.prepare(row))
            found.append(answer["mean"].detach().cpu().numpy())
        return np.concatenate(found)
"""


@pytest.mark.parametrize(("guard", "is_told"), [("if True:", True), ("with torch.inference_mode():", False)])
def test_the_module_of_a_mixin_is_what_the_class_has_that_uses_it(guard: str, is_told: bool) -> None:
    found = check_source(MIXIN.format(guard=guard))
    assert [one.code for one in found] == (["TLK201"] if is_told else [])
    assert all("`self.module.infer`" in one.message for one in found)
