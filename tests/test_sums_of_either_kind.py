"""Sums of what a function returns, which may give a tuple where it is asked for one."""

from __future__ import annotations

import pytest

from torchlint import check_source

TRAINER = """
import torch
from torch import nn

class Trainer:
    def __init__(self, model: nn.Module, optimizer):
        self.model, self.optimizer = model, optimizer

    def compute_loss(self, inputs, return_outputs=False):
        outputs = self.model(**inputs)
        loss = outputs["loss"]
        return (loss, outputs) if return_outputs else loss

    def training_step(self, inputs):
        loss = self.compute_loss(inputs)
        loss.backward()
        return {given}

    def evaluate(self, inputs):
        with torch.no_grad():
            loss, outputs = self.compute_loss(inputs, return_outputs=True)
        return loss.item()

    def train(self, loader):
        total = {begun}
        for inputs in loader:
            total {added}
            self.optimizer.step()
            self.optimizer.zero_grad()
        return float(total)
"""


@pytest.mark.parametrize("begun", ["torch.tensor(0.0)", "0.0", "0"])
@pytest.mark.parametrize("added", ["+= self.training_step(inputs)", "= total + self.training_step(inputs)"])
def test_what_is_added_to_a_number_is_no_tuple(begun: str, added: str) -> None:
    found = check_source(TRAINER.format(given="loss", begun=begun, added=added))
    assert [finding.code for finding in found] == ["TLK101"]


@pytest.mark.parametrize("begun", ["torch.tensor(0.0)", "0.0"])
def test_a_loss_without_its_graph_is_none_either(begun: str) -> None:
    assert check_source(TRAINER.format(given="loss.detach()", begun=begun, added="+= self.training_step(inputs)")) == []
