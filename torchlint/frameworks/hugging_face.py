"""What the libraries of Hugging Face promise: transformers, diffusers, accelerate."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_TRANSFORMERS_CALLBACK = "https://huggingface.co/docs/transformers/main_classes/callback"
_TRANSFORMERS_TRAINER = "https://huggingface.co/docs/transformers/main_classes/trainer"

TRAINERS = ("transformers.Trainer", "transformers.*Trainer", "trl.*Trainer", "sentence_transformers.*Trainer")
DIFFUSERS_MODELS = (
    "diffusers.ModelMixin", "diffusers.UNet2D*Model", "diffusers.AutoencoderKL*", "diffusers.ControlNetModel",
    "diffusers.*Transformer2DModel",
)  # fmt: skip
TRANSFORMERS_ENCODERS = (
    "transformers.CLIPTextModel*", "transformers.CLIPVisionModel*", "transformers.T5EncoderModel",
)  # fmt: skip
ENCODING_PIPELINES = tuple(
    f"diffusers.{family}*Pipeline*"
    for family in (
        "StableDiffusion",
        "Flux",
        "Sana",
        "PixArt",
        "CogVideoX",
        "HunyuanVideo",
        "Wan",
        "QwenImage",
        "Lumina",
    )
)

HUGGING_FACE = (
    Row("transformers", TRAINERS, Holds.TRAINED, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.compute_loss",
        ("compute_loss",)),
    Row("transformers", TRAINERS, Holds.GIVEN_MODEL, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.compute_loss",
        ("compute_loss", "training_step"), (-1, "model")),
    Row("transformers", TRAINERS, Holds.EACH_STEP, _TRANSFORMERS_TRAINER,
        ("compute_loss", "training_step", "prediction_step")),
    Row("transformers", TRAINERS, Holds.INFERS, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.prediction_step",
        ("prediction_step",)),
    Row("transformers", TRAINERS, Holds.GIVEN_MODEL, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.prediction_step",
        ("prediction_step",), (-1, "model")),
    Row("transformers", TRAINERS, Holds.TRAINS, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.train", ("train",)),
    Row("transformers", ("transformers.TrainerCallback",), Holds.ONCE, _TRANSFORMERS_CALLBACK,
        ("on_init_end", "on_train_begin")),
    Row("transformers", ("transformers.TrainerCallback",), Holds.EACH_EPOCH, _TRANSFORMERS_CALLBACK,
        ("on_epoch_begin", "on_epoch_end", "on_evaluate", "on_log", "on_save")),
    Row("transformers", ("transformers.TrainerCallback",), Holds.EACH_STEP, _TRANSFORMERS_CALLBACK,
        ("on_step_begin", "on_step_end", "on_substep_end", "on_prediction_step")),
    Row("transformers", ("transformers.TrainerCallback",), Holds.GIVEN_MODEL, _TRANSFORMERS_CALLBACK,
        ("on_epoch_begin", "on_epoch_end", "on_evaluate", "on_log", "on_save", "on_step_begin", "on_step_end",
         "on_substep_end"), (-1, "model")),
    Row("transformers", ("transformers.TrainerState",), Holds.COUNTS, _TRANSFORMERS_CALLBACK,
        ("global_step", "epoch")),
    Row("transformers", ("transformers.PreTrainedModel",), Holds.MODULE,
        "https://huggingface.co/docs/transformers/main_classes/model", distinctive=True),
    Row("transformers", ("transformers.PreTrainedModel",), Holds.OF_MODULES,
        "https://huggingface.co/docs/transformers/main_classes/model",
        ("resize_token_embeddings", "get_input_embeddings", "tie_weights", "gradient_checkpointing_enable",
         "gradient_checkpointing_disable", "enable_input_require_grads")),
    Row("transformers", ("transformers.GenerationMixin",), Holds.GUARDED,
        "https://github.com/huggingface/transformers/blob/v4.44.0/src/transformers/generation/utils.py",
        ("generate",)),
    Row("diffusers", ("diffusers.*Pipeline*",), Holds.GUARDED,
        "https://github.com/huggingface/diffusers/blob/v0.30.0/src/diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py",
        ("__call__",)),
    Row("diffusers", ENCODING_PIPELINES, Holds.ENCODES,
        "https://github.com/huggingface/diffusers/blob/v0.30.0/src/diffusers/pipelines/flux/pipeline_flux.py",
        ("encode_prompt",)),
    Row("diffusers", ("diffusers.DiffusionPipeline",), Holds.INFERS,
        "https://huggingface.co/docs/diffusers/api/pipelines/overview", ("__call__",), distinctive=True),
    Row("diffusers", ("diffusers.*Pipeline*",), Holds.INFERS,
        "https://huggingface.co/docs/diffusers/api/pipelines/overview", ("__call__",)),
    Row("diffusers", ("diffusers.DiffusionPipeline",), Holds.REGISTERS,
        "https://github.com/huggingface/diffusers/blob/v0.30.0/src/diffusers/pipelines/pipeline_utils.py",
        ("register_modules",), distinctive=True),
    Row("diffusers", DIFFUSERS_MODELS, Holds.MODULE, "https://huggingface.co/docs/diffusers/api/models/overview",
        distinctive=True),
    Row("transformers", TRANSFORMERS_ENCODERS, Holds.MODULE, "https://huggingface.co/docs/transformers/model_doc/clip",
        distinctive=True),
    Row("accelerate", ("accelerate.Accelerator",), Holds.BACKWARD,
        "https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.backward",
        ("backward",), (0, "loss")),
    Row("accelerate", ("accelerate.Accelerator",), Holds.RETURNS,
        "https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.prepare",
        ("prepare", "prepare_model")),
)  # fmt: skip
"""transformers, diffusers and accelerate."""
