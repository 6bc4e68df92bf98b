"""A network that an accelerator prepares to rest, beside the one that the framework's trainer trains."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

TRAINER = """
from torch.nn import functional as F
from transformers import Trainer

class PreferenceTrainer(Trainer):
    def __init__(self, model, reference, args=None, **others):
        super().__init__(model=model, args=args, **others)
        {prepared}

    def scores(self, model, batch):
        logits = model(batch["ids"]).logits
        return logits.log_softmax(-1).gather(-1, batch["ids"][..., None]).sum((1, 2))

    def compute_loss(self, model, inputs, return_outputs=False):
        own = self.scores(model, inputs)
        given = self.scores(self.reference, inputs)
        loss = -F.logsigmoid(own - given).mean()
        return (loss, {{"loss": loss}}) if return_outputs else loss
"""
RESTING = "self.reference = self.accelerator.prepare_model(reference, evaluation_mode=True)"


@pytest.mark.parametrize(
    ("prepared", "told"),
    [
        (RESTING, ["TLK203"]),
        ("self.reference = reference\n        " + RESTING.replace("(reference", "(self.reference"), ["TLK203"]),
        (RESTING.replace("=True", "=False"), []),
        (RESTING.replace(", evaluation_mode=True", ""), []),
        (RESTING.replace("reference, ", "reference.requires_grad_(False), "), []),
        (f"for p in reference.parameters():\n            p.requires_grad = False\n        {RESTING}", []),
        (f"reference.requires_grad_(False)\n        {RESTING}", []),
    ],
)
def test_a_reference_that_is_prepared_to_rest_runs_with_gradients(prepared: str, told: list[str]) -> None:
    text = TRAINER.format(prepared=prepared)
    assert [one.code for one in diagnose(Source("preferences.py", text))] == told
