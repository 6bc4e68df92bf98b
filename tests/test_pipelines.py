"""Pipelines and trainers that a program derives its own from: what they call for inference alone, whoever wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint import check_source
from torchlint.config import Settings

PIPELINE = """
import torch
from diffusers import {base}

class Own({base}):
    {guard}
    def __call__(self, latents, words, masks=()):
        {body}
        return latents
"""

TURNS = """for t in self.scheduler.timesteps:
            latents = self.scheduler.step({}, t, latents)[0]"""


def codes(source: str) -> list[str]:
    return [one.code for one in check_source(source, settings=Settings(notes=True))]


@pytest.mark.parametrize(
    ("base", "body"),
    [
        ("StableDiffusionPipeline", TURNS.format("self.unet(latents, t, words).sample")),
        ("FluxPipeline", TURNS.format("self.transformer(latents, timestep=t)[0]")),
        ("DiffusionPipeline", TURNS.format("self.unet(latents, t, encoder_hidden_states=words).sample")),
        ("StableDiffusionXLControlNetPipeline", TURNS.format("self.unet(latents, t, self.controlnet(words)).sample")),
        ("PixArtAlphaPipeline", "net = self.transformer\n        latents = net(latents, words)"),
        ("StableDiffusionImg2ImgPipeline", "words = self.text_encoder(words)[0]; latents = self.unet(latents, words)"),
    ],
)
def test_the_call_of_a_pipeline_of_ones_own_runs_its_networks_for_inference(base: str, body: str) -> None:
    assert codes(PIPELINE.format(base=base, guard="", body=body)) == ["TLK201"]
    assert codes(PIPELINE.format(base=base, guard="@torch.no_grad()", body=body)) == []
    assert codes(PIPELINE.format(base=base, guard="@torch.inference_mode()", body=body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "latents = super().__call__(words, latents=latents).images",
        "with torch.no_grad():\n            latents = self.unet(latents, 0, words).sample",
        "words = self.tokenizer(words); latents = self.scheduler.step(latents, 0, words)[0]",
        "latents = self.image_processor.postprocess(latents)",
    ],
)
def test_what_runs_no_network_with_gradients_in_its_call(body: str) -> None:
    assert codes(PIPELINE.format(base="StableDiffusionPipeline", guard="", body=body)) == []


def test_the_network_is_named_and_not_what_prepares_its_input() -> None:
    body = "latents = self.prepare_latents(words, latents)\n        " + TURNS.format("self.unet(latents, t).sample")
    source = PIPELINE.format(
        base="StableDiffusionXLPipeline", guard="", body=body + "\n        latents = latents.detach()"
    )
    (told,) = check_source(source)
    assert "runs `self.unet`" in told.message


DRAWING = """
    from {package} import FluxPipeline

    def draw(pipe, words):
        pipe = pipe.to("cuda")
        coded, pooled = pipe.encode_prompt(words)
        return pipe(coded, pooled=pooled).images[0]

    def main(words):
        return draw(FluxPipeline.from_pretrained("flux"), words)
"""

FRAMEWORK = """
    import torch
    from storage import restored

    class DiffusionPipeline:
        def to(self, device):
            self.device = device
            return self

        @classmethod
        def from_pretrained(cls, name):
            return restored(cls, name)

        @torch.no_grad()
        def __call__(self, coded, pooled):
            return self.denoise(coded, pooled)

    class FluxPipeline(DiffusionPipeline):
        def __init__(self, **parts):
            self.parts = parts

        {guard}
        def encode_prompt(self, words):
            return self.parts["encoder"](words), self.parts["pooler"](words)
"""


@pytest.mark.parametrize(
    ("package", "guard", "found"),
    [
        ("diffusers", "", ["use.py: TLK201 warning"]),
        ("diffusers", "@torch.no_grad()", []),
        ("painting", "", []),  # of which nobody says what the method is for
    ],
)
def test_a_framework_that_lies_in_the_project_is_known_as_well(
    tmp_path: Path, package: str, guard: str, found: list[str]
) -> None:
    files = {"use.py": DRAWING.format(package=package), f"{package}/__init__.py": FRAMEWORK.format(guard=guard)}
    assert Project(tmp_path, files).found("use.py") == found


PREDICTING = """
import torch
from torch import nn
from {package} import {base}

class Own({base}):
    def compute_loss(self, model, inputs):
        return nn.functional.mse_loss(model(inputs["x"]), inputs["y"])
    def {name}(self, model, inputs, prediction_loss_only=False, ignore_keys=None):
        {body}
"""


@pytest.mark.parametrize(
    ("filled", "found"),
    [
        ({}, ["TLK201"]),
        ({"body": "return self.compute_loss(model, inputs), None, None"}, ["TLK201"]),
        ({"base": "Seq2SeqTrainer"}, ["TLK201"]),
        ({"package": "trl", "base": "SFTTrainer"}, ["TLK201"]),
        ({"package": "skorch", "base": "NeuralNet", "name": "validation_step",
          "body": "self.module_.eval(); return {'loss': self.get_loss(self.module_(inputs['x']), inputs['y'])}"},
         ["TLK201"]),
        ({"package": "skorch", "base": "NeuralNet", "name": "evaluation_step",  # which may be asked for a training
          "body": "self.module_.eval(); return self.module_(inputs['x'])"}, []),
        ({"body": "with torch.no_grad(): return None, model(inputs['x']), None"}, []),
        ({"body": "return super().prediction_step(model, inputs, True)"}, []),
        ({"body": "return None, model.generate(inputs['x']), inputs['y']"}, []),
        ({"body": "e = model(inputs['x']); return None, torch.autograd.grad(e.sum(), inputs['x'])[0], None"}, []),
        ({"name": "training_step"}, []),
        ({"package": "helpers"}, []),
    ],
)  # fmt: skip
def test_a_step_of_an_evaluation_that_a_trainer_leaves_to_guard_itself(
    filled: dict[str, str], found: list[str]
) -> None:
    plain = {"package": "transformers", "base": "Trainer", "name": "prediction_step"}
    plain["body"] = "out = model(inputs['x']); return out.sum(), out, inputs['y']"
    assert codes(PREDICTING.format(**{**plain, **filled})) == found


def test_what_a_pipeline_trains_on_is_none() -> None:
    source = PIPELINE.format(
        base="StableDiffusionPipeline", guard="", body=TURNS.format("self.unet(latents, t, words)")
    )
    assert codes(source.replace("__call__", "sample_for_reward")) == []
    assert codes(source.replace("from diffusers", "from painting")) == []
